"""Random fuzzer specifications for property tests, each as data from which ours and torch's fuzzer are built."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from hypothesis import strategies as st


@dataclass(frozen=True)
class Spec:
    """Arguments of parameters and tensors; an alias is the tuple ("alias", name)."""

    parameters: tuple[dict[str, Any], ...]
    tensors: tuple[dict[str, Any], ...]

    def build(self, module: Any, seed: int) -> Any:
        """The fuzzer in photometer.fuzzing's or torch.utils.benchmark's classes."""

        def choices(given: Any) -> Any:
            if not isinstance(given, dict):
                return given
            return {
                module.ParameterAlias(value[1]) if isinstance(value, tuple) else value: chance
                for value, chance in given.items()
            }

        return module.Fuzzer(
            parameters=[
                module.FuzzedParameter(**{**each, "distribution": choices(each["distribution"])})
                for each in self.parameters
            ],
            tensors=[module.FuzzedTensor(**each) for each in self.tensors],
            seed=seed,
        )


def _parameter(name: str, earlier: list[str]) -> st.SearchStrategy[dict[str, Any]]:
    bounds = st.tuples(st.integers(1, 12), st.integers(1, 12)).map(sorted)
    ranges = st.builds(
        lambda pair, distribution, strict: {
            "name": name,
            "minval": pair[0],
            "maxval": pair[1],
            "distribution": distribution,
            "strict": strict,
        },
        bounds,
        st.sampled_from(["loguniform", "uniform"]),
        st.booleans(),
    )
    values: st.SearchStrategy[Any] = st.integers(1, 12)
    if earlier:
        values = st.one_of(values, st.sampled_from(earlier).map(lambda target: ("alias", target)))
    dicts = st.builds(
        lambda keys, strict: {"name": name, "distribution": {key: 1 / len(keys) for key in keys}, "strict": strict},
        st.lists(values, min_size=1, max_size=4, unique=True),
        st.booleans(),
    )
    return st.one_of(ranges, dicts)


@st.composite
def specs(draw: Any) -> Spec:
    names = ["a", "b", "c", "d"][: draw(st.integers(1, 4))]
    parameters = [draw(_parameter(name, names[:place])) for place, name in enumerate(names)]
    parameters.append({"name": "rank", "distribution": {1: 0.25, 2: 0.25, 3: 0.5}, "strict": draw(st.booleans())})
    tensors = []
    for name in ("x", "y")[: draw(st.integers(1, 2))]:
        entry = st.one_of(st.sampled_from(names), st.integers(1, 5))
        tensors.append(
            {
                "name": name,
                "size": tuple(draw(st.lists(entry, min_size=1, max_size=4))),
                "steps": draw(st.one_of(st.none(), st.lists(st.integers(1, 3), max_size=4).map(tuple))),
                "probability_contiguous": draw(st.sampled_from([0.0, 0.5, 1.0])),
                "dim_parameter": draw(st.sampled_from([None, "rank"])),
                # Loose enough that a set is found: every spec has draws of at most 12 ** 4 elements.
                "max_elements": draw(st.sampled_from([None, 12**4, 12**3])),
                "max_allocation_bytes": draw(st.sampled_from([None, 4 * 36**4])),
            }
        )
    return Spec(tuple(parameters), tuple(tensors))
