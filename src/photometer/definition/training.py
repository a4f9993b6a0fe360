"""TrainingStep: a whole step of training as one benchmark: clear, forward, loss, backward, update.

In: the texts that make the inputs, the model and the optimizer, the forward pass and the loss. Out: a GroupedBenchmark
whose statement is the step as users write it, and whose phases are timed separately.
"""

from __future__ import annotations

import dataclasses
import textwrap
from typing import Literal

from photometer.definition.asked_figures import Amount, AskedFigures, Phase, asked_figures
from photometer.definition.compile_variant import CompiledArgument, compile_variants
from photometer.definition.grouped import GroupedBenchmark, GroupedSetup
from photometer.definition.place import definition_error
from photometer.definition.python_names import ALWAYS_THERE, check_python_syntax, names_of
from photometer.definition.signature import Signature
from photometer.definition.sweep import (
    SizesArgument,
    device_names,
    fail_words,
    rank_counts,
    size_points,
    tag_names,
    thread_counts,
)
from photometer.definition.timer_args import clean_code

AutocastType = Literal["bfloat16", "float16"]
_AUTOCAST_TYPES = ("bfloat16", "float16")
DEFAULT_OPTIMIZER = "torch.optim.SGD(model.parameters(), lr=0.01)"
PHASES = ("clear", "forward", "loss", "backward", "update")


@dataclasses.dataclass(frozen=True)
class _Step:
    """The pieces of text of a step; `autocast` is the head of the block around forward and loss, or empty."""

    clear: str
    forward: str
    loss: str
    backward: str
    update: str
    autocast: str = ""

    def stmt(self) -> str:
        computed = self._cast("\n".join(part for part in (self.forward, self.loss) if part))
        return "\n".join((self.clear, computed, self.backward, self.update))

    def phases(self) -> tuple[Phase, ...]:
        texts = (self.clear, self._cast(self.forward), self._cast(self.loss), self.backward, self.update)
        return tuple(Phase(name, text) for name, text in zip(PHASES, texts, strict=True) if text)

    def _cast(self, code: str) -> str:
        return f"{self.autocast}\n{textwrap.indent(code, '    ')}" if self.autocast and code else code


def TrainingStep(  # noqa: N802, PLR0913 - written like GroupedStmts, beside it
    model: str,
    inputs: str,
    loss: str,
    *,
    forward: str = "",
    optimizer: str = DEFAULT_OPTIMIZER,
    autocast: AutocastType | None = None,
    grad_scaler: bool | None = None,
    channels_last: bool = False,
    set_to_none: bool = True,
    compiled: CompiledArgument = False,
    dynamic: bool | None = None,
    fullgraph: bool = False,
    num_threads: int | tuple[int, ...] = 1,
    ranks: int | tuple[int, ...] = (),
    devices: str | tuple[str, ...] | None = None,
    sizes: SizesArgument | None = None,
    tags: str | tuple[str, ...] = (),
    timeout_seconds: float | None = None,
    margin: float | None = None,
    fail_on: str | tuple[str, ...] | None = None,
    flops: Amount | None = None,
    bytes: Amount | None = None,
    metrics: str | tuple[str, ...] = ("loss",),
    instructions: bool = True,
) -> GroupedBenchmark:
    """Make a benchmark of one step of training.

    `model` assigns the model, `inputs` the data, `forward` (if any) the output and `loss` the variable loss. With
    `autocast`, forward and loss run under torch.autocast; float16 has a gradient scaler unless `grad_scaler` is False.
    `channels_last` puts the model and inputs of four dimensions into that format. With `devices`, the model is moved
    to `device`, and the inputs are made there by `inputs`.
    """
    texts = {"model": model, "inputs": inputs, "loss": loss, "forward": forward, "optimizer": optimizer}
    texts = {name: clean_code(text, name) for name, text in texts.items()}
    _check(texts, autocast)
    scales = autocast == "float16" if grad_scaler is None else grad_scaler
    step = _step(texts, autocast, scales, set_to_none, devices is not None)
    setup = _setup(texts, scales, channels_last, devices is not None)
    figures: AskedFigures = asked_figures(flops=flops, bytes=bytes, metrics=metrics, instructions=instructions)
    return GroupedBenchmark(
        py_fwd_stmt=step.stmt(),
        cpp_fwd_stmt=None,
        setup=GroupedSetup(py_setup=setup),
        signature=_signature(step.stmt(), setup),
        compiled=compile_variants(compiled, dynamic, fullgraph),
        num_threads=thread_counts(num_threads),
        devices=device_names(devices),
        sizes=size_points(sizes),
        ranks=rank_counts(ranks),
        figures=dataclasses.replace(figures, phases=step.phases()),
        tags=tag_names(tags),
        timeout_seconds=timeout_seconds,
        margin=margin,
        fail_on=fail_words(fail_on),
    )


def _check(texts: dict[str, str], autocast: object) -> None:
    for name, text in texts.items():
        check_python_syntax(text, name)
    for name, wanted in (("model", "model"), ("loss", "loss")):
        found = names_of(texts[name])
        if wanted not in found.bound and not found.opaque:
            raise definition_error(f"{name} does not assign `{wanted}`", remedy=f"Write {name}='{wanted} = …'.")
    if not texts["optimizer"]:
        raise definition_error("the optimizer is empty", remedy=f"Write optimizer={DEFAULT_OPTIMIZER!r}.")
    if autocast is not None and autocast not in _AUTOCAST_TYPES:
        raise definition_error(
            f"autocast is {autocast!r}", remedy='Write autocast="bfloat16" or autocast="float16", or leave it out.'
        )


def _step(texts: dict[str, str], autocast: str | None, scales: bool, set_to_none: bool, on_device: bool) -> _Step:
    kept = "" if set_to_none else "set_to_none=False"
    kind = "device.type" if on_device else '"cpu"'
    return _Step(
        clear=f"optimizer.zero_grad({kept})",
        forward=texts["forward"],
        loss=texts["loss"],
        backward="scaler.scale(loss).backward()" if scales else "loss.backward()",
        update="scaler.step(optimizer)\nscaler.update()" if scales else "optimizer.step()",
        autocast="" if autocast is None else f"with torch.autocast({kind}, dtype=torch.{autocast}):",
    )


def _setup(texts: dict[str, str], scales: bool, channels_last: bool, on_device: bool) -> str:
    """Return the lines that make everything the step reads, in the order in which users write them."""
    kind = "device.type" if on_device else '"cpu"'
    lines = [texts["inputs"], texts["model"]]
    lines += ["model = model.to(device)"] if on_device else []
    if channels_last:
        lines.append("model = model.to(memory_format=torch.channels_last)")
        read = names_of(f"{texts['forward']}\n{texts['loss']}").free
        for name in sorted(names_of(texts["inputs"]).bound & set(read)):
            moved = f"{name}.contiguous(memory_format=torch.channels_last)"
            lines.append(f'{name} = {moved} if getattr({name}, "ndim", 0) == 4 else {name}')
    assigns = "optimizer" in names_of(texts["optimizer"]).bound
    lines.append(texts["optimizer"] if assigns else f"optimizer = {texts['optimizer']}")
    lines += [f"scaler = torch.amp.GradScaler({kind})"] if scales else []
    return "\n".join(lines)


def _signature(stmt: str, setup: str) -> Signature:
    """Return the signature of a compiled step: the names that it reads of its set-up, and the loss that it returns."""
    made = names_of(setup)
    args = [
        name
        for name in names_of(stmt).free
        if name in made.bound and name not in made.definitions and name not in ALWAYS_THERE
    ]
    return Signature(tuple(args), "loss", f"f({', '.join(args)}) -> loss")
