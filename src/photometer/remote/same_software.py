"""What a node must have in common with the driver: the same torch and the same photometer. A difference is an error.

Counts of nodes must also be equal; a difference is reported with its cause.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from photometer.errors import WorkerStartError
from photometer.model.machine import Node, why_counts_differ
from photometer.remote.node_worker import NodeFacts
from photometer.worker.messages import TorchFacts


def check_software(driver: TorchFacts, driver_code: str, there: NodeFacts) -> None:
    """Raise if this node's results would not be comparable with the driver's."""
    name = there.node.name
    ours, theirs = _torch_of(driver), _torch_of(there.facts)
    differing = [key for key in ours if ours[key] != theirs[key]]
    if differing:
        words = ", ".join(f"{key} {theirs[key]} instead of {ours[key]}" for key in differing)
        raise WorkerStartError(
            f"{name} has a different torch than this machine: {words}",
            remedy="Start all nodes from one image, or use --python PATH with an interpreter that all nodes have.",
        )
    if there.code != driver_code:
        raise WorkerStartError(
            f"{name} has a different photometer than this machine",
            remedy="Install the same version on all nodes, for example from one image.",
        )


def _torch_of(facts: TorchFacts) -> dict[str, str]:
    # Which processor instructions torch uses depends on the node, and is a fact of the machine.
    build = "\n".join(line for line in facts.build.splitlines() if "CPU capability usage" not in line)
    return {
        "version": facts.torch,
        "commit": str(facts.git_version),
        "CUDA": str(facts.cuda),
        "debug": str(facts.debug),
        "Python": ".".join(re.findall(r"\d+", facts.python)[:2]),
        "build": build,
    }


def differing_counts(controls: Mapping[str, int], nodes: Mapping[str, Node]) -> list[str]:
    """Return one sentence per node whose count of the control statement differs from the most common one."""
    if len(set(controls.values())) < 2:
        return []
    values = list(controls.values())
    usual = max(dict.fromkeys(values), key=values.count)
    reference = next(name for name, count in controls.items() if count == usual)
    sentences = []
    for name, count in controls.items():
        if count == usual:
            continue
        causes = why_counts_differ(nodes[reference], nodes[name])
        cause = "; ".join(causes) if causes else "no known difference explains it"
        sentences.append(f"{name} counts {count - usual:+,} instructions relative to {usual:,} on {reference}: {cause}")
    return sentences
