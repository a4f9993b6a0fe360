"""GroupedBenchmark: related benchmarks written once, and the three ways to write one.

`GroupedStmts` takes statements, `GroupedModules` takes nn modules, `GroupedVariants` takes blocks with one case per
line. The result is checked and frozen; the plan makes the variants (language, runtime, autograd, threads, device,
sizes).
"""

from __future__ import annotations

import dataclasses

from photometer.definition import checks
from photometer.definition.asked_figures import NO_FIGURES, Amount, AskedFigures, asked_figures, check_figures
from photometer.definition.compile_variant import CompiledArgument, CompileVariant, compile_variants
from photometer.definition.paired_code import paired_cases, parse_block
from photometer.definition.place import caller_place, definition_error
from photometer.definition.signature import Signature, parse_signature
from photometer.definition.sweep import (
    SizePoint,
    SizesArgument,
    device_names,
    fail_words,
    rank_counts,
    size_points,
    tag_names,
    thread_counts,
)
from photometer.definition.timer_args import clean_code
from photometer.model.task import Language

Label = tuple[str, ...]
NO_SIZES: tuple[SizePoint, ...] = ((),)
# What the code of a rank sees besides torch.
RANK_NAMES = ("rank", "world_size")


@dataclasses.dataclass(frozen=True)
class GroupedSetup:
    """The code that runs before the statement in each language, and C++ at file scope (`#include`, functions)."""

    py_setup: str = ""
    cpp_setup: str = ""
    global_setup: str = ""

    def __post_init__(self) -> None:
        for field in dataclasses.fields(self):
            object.__setattr__(self, field.name, clean_code(getattr(self, field.name), field.name))


@dataclasses.dataclass(frozen=True)
class GroupedBenchmark:
    """One group. A statement is None if the author gave none in that language."""

    py_fwd_stmt: str | None
    cpp_fwd_stmt: str | None
    setup: GroupedSetup = GroupedSetup()
    signature: Signature | None = None
    # Text that makes `model`: only GroupedModules has it.
    py_model_setup: str | None = None
    cpp_model_setup: str | None = None
    torchscript: bool = False
    autograd: bool = False
    # Whether gradients are cleared before each backward pass, as in a training step, or add up.
    grad_to_none: bool = True
    compiled: tuple[CompileVariant, ...] = ()
    num_threads: tuple[int, ...] = (1,)
    devices: tuple[str, ...] = ()
    sizes: tuple[SizePoint, ...] = NO_SIZES
    # The sizes of the groups of processes that run it, if it needs one.
    ranks: tuple[int, ...] = ()
    # These do not change what is measured: what else is asked of it, how it is selected, its time limit, the change
    # that does not matter in a comparison, what fails there (None: as for the others), its place.
    figures: AskedFigures = dataclasses.field(default=NO_FIGURES, compare=False)
    tags: tuple[str, ...] = dataclasses.field(default=(), compare=False)
    timeout_seconds: float | None = dataclasses.field(default=None, compare=False)
    margin: float | None = dataclasses.field(default=None, compare=False)
    fail_on: tuple[str, ...] | None = dataclasses.field(default=None, compare=False)
    defined_at: str = dataclasses.field(default="", compare=False)

    @property
    def signature_args(self) -> tuple[str, ...] | None:
        """Return the names that the signature takes."""
        return None if self.signature is None else self.signature.args

    @property
    def signature_output(self) -> str | None:
        """Return the name that the signature gives back, or None."""
        return None if self.signature is None else self.signature.output

    @property
    def is_module(self) -> bool:
        """Return whether it is an nn.Module that is called."""
        return self.py_model_setup is not None or self.cpp_model_setup is not None

    @property
    def swept_names(self) -> tuple[str, ...]:
        """The variables that the sweep makes in every set-up."""
        return (*(name for name, _ in self.sizes[0]), *(("device",) if self.devices else ()))

    @property
    def has_cpp_torchscript(self) -> bool:
        """Whether C++ can call the scripted model: it needs the inputs in C++, but no C++ statement."""
        return self.torchscript and (self.cpp_fwd_stmt is not None or bool(self.setup.cpp_setup))

    def __post_init__(self) -> None:
        if not self.defined_at:
            object.__setattr__(self, "defined_at", caller_place())
        setup, signature = self.setup, self.signature
        if not isinstance(setup, GroupedSetup):
            raise definition_error(f"setup is {setup!r}", remedy="Give GroupedSetup(py_setup=…, cpp_setup=…).")
        if self.py_fwd_stmt is None and self.cpp_fwd_stmt is None:
            raise definition_error("there is nothing to run", remedy="Give a Python statement, a C++ one, or both.")
        if self.timeout_seconds is not None and not self.timeout_seconds > 0:
            raise definition_error(f"timeout_seconds is {self.timeout_seconds!r}", remedy="Give a time above 0.")
        if self.margin is not None and not self.margin >= 0:
            raise definition_error(f"margin is {self.margin!r}", remedy="Give a share such as 0.01 for one per cent.")
        checks.check_needs_signature(
            signature, torchscript=self.torchscript, compiled=bool(self.compiled), autograd=self.autograd
        )
        if self.py_fwd_stmt is None and (self.torchscript or self.compiled):
            raise definition_error(
                "torchscript=True and compiled=True need Python", remedy="Give the Python statement or model too."
            )
        self._check_names()
        self._check_languages()
        checks.check_ranks(
            self.ranks,
            self.figures,
            only_python=self.cpp_fwd_stmt is None and not self.torchscript,
            devices=self.devices,
        )
        check_figures(self.figures, self.py_fwd_stmt, self.sizes)

    def _check_names(self) -> None:
        """Raise if a variable of the sweep is an argument too: it would be passed twice."""
        for name in self.swept_names:
            if self.signature is not None and name in (*self.signature.args, self.signature.output):
                raise definition_error(
                    f"{name} is defined by the sweep and named in the signature {self.signature.text!r}",
                    remedy="Leave it out of the signature: sizes and device are visible everywhere.",
                )

    def _check_languages(self) -> None:
        setup, signature = self.setup, self.signature
        if self.is_module:
            checks.check_model(self.py_model_setup, self.cpp_model_setup)
        # A module's statement is made from the signature; only its set-up comes from the author.
        if self.py_fwd_stmt is not None:
            own_names = (
                *self.swept_names,
                *(RANK_NAMES if self.ranks else ()),
                *(("model",) if self.is_module else ()),
            )
            checks.check_python_statement(self.py_fwd_stmt, setup.py_setup, signature, own_names)
        if self.cpp_fwd_stmt is not None:
            checks.check_cpp_statement(self.cpp_fwd_stmt, setup.cpp_setup, setup.global_setup, signature)
        elif self.has_cpp_torchscript and signature is not None:
            checks.check_cpp_setup(setup.cpp_setup, setup.global_setup, signature)
        checks.check_device_used(
            self.devices,
            {
                "the Python set-up": None if self.py_fwd_stmt is None else f"{setup.py_setup}\n{self.py_fwd_stmt}",
                "the C++ set-up": None if self.cpp_fwd_stmt is None else f"{setup.cpp_setup}\n{self.cpp_fwd_stmt}",
            },
        )

    @classmethod
    def init_from_stmts(
        cls,
        py_stmt: str | None = None,
        cpp_stmt: str | None = None,
        setup: GroupedSetup = GroupedSetup(),
        signature: str | None = None,
        torchscript: bool = False,
        autograd: bool = False,
        num_threads: int | tuple[int, ...] = 1,
        *,
        compiled: CompiledArgument = False,
        dynamic: bool | None = None,
        fullgraph: bool = False,
        grad_to_none: bool = True,
        devices: str | tuple[str, ...] | None = None,
        sizes: SizesArgument | None = None,
        ranks: int | tuple[int, ...] = (),
        tags: str | tuple[str, ...] = (),
        timeout_seconds: float | None = None,
        margin: float | None = None,
        fail_on: str | tuple[str, ...] | None = None,
        flops: Amount | None = None,
        bytes: Amount | None = None,
        metrics: str | tuple[str, ...] = (),
        instructions: bool = True,
        collective: str | None = None,
    ) -> GroupedBenchmark:
        """Make a group of statements: each runs as it is written."""
        return cls(
            py_fwd_stmt=_statement(py_stmt, "py_stmt"),
            cpp_fwd_stmt=_statement(cpp_stmt, "cpp_stmt"),
            setup=setup,
            signature=parse_signature(signature),
            torchscript=torchscript,
            autograd=autograd,
            grad_to_none=grad_to_none,
            compiled=compile_variants(compiled, dynamic, fullgraph),
            num_threads=thread_counts(num_threads),
            devices=device_names(devices),
            sizes=size_points(sizes),
            ranks=rank_counts(ranks),
            tags=tag_names(tags),
            timeout_seconds=timeout_seconds,
            margin=margin,
            fail_on=fail_words(fail_on),
            figures=asked_figures(
                flops=flops, bytes=bytes, metrics=metrics, instructions=instructions, collective=collective
            ),
        )

    @classmethod
    def init_from_model(
        cls,
        py_model_setup: str | None = None,
        cpp_model_setup: str | None = None,
        setup: GroupedSetup = GroupedSetup(),
        signature: str | None = None,
        torchscript: bool = False,
        autograd: bool = False,
        num_threads: int | tuple[int, ...] = 1,
        *,
        compiled: CompiledArgument = False,
        dynamic: bool | None = None,
        fullgraph: bool = False,
        grad_to_none: bool = True,
        devices: str | tuple[str, ...] | None = None,
        sizes: SizesArgument | None = None,
        ranks: int | tuple[int, ...] = (),
        tags: str | tuple[str, ...] = (),
        timeout_seconds: float | None = None,
        margin: float | None = None,
        fail_on: str | tuple[str, ...] | None = None,
        flops: Amount | None = None,
        bytes: Amount | None = None,
        metrics: str | tuple[str, ...] = (),
        instructions: bool = True,
        collective: str | None = None,
    ) -> GroupedBenchmark:
        """Make a group around a model: the set-up defines `model`, the signature says how it is called."""
        parsed = parse_signature(signature)
        if parsed is None:
            raise definition_error(
                "a module without a signature", remedy='Add signature="f(x) -> y": how the model is called.'
            )
        arguments = ", ".join(parsed.args)
        assigned = "" if parsed.output is None else f"{parsed.output} = "
        declared = "" if parsed.output is None else f"auto {parsed.output} = "
        py_model = _statement(py_model_setup, "py_model_setup")
        cpp_model = _statement(cpp_model_setup, "cpp_model_setup")
        return cls(
            py_fwd_stmt=None if py_model is None else f"{assigned}model({arguments})",
            cpp_fwd_stmt=None if cpp_model is None else f"{declared}model->forward({arguments});",
            py_model_setup=py_model,
            cpp_model_setup=cpp_model,
            setup=setup,
            signature=parsed,
            torchscript=torchscript,
            autograd=autograd,
            grad_to_none=grad_to_none,
            compiled=compile_variants(compiled, dynamic, fullgraph),
            num_threads=thread_counts(num_threads),
            devices=device_names(devices),
            sizes=size_points(sizes),
            ranks=rank_counts(ranks),
            tags=tag_names(tags),
            timeout_seconds=timeout_seconds,
            margin=margin,
            fail_on=fail_words(fail_on),
            figures=asked_figures(
                flops=flops, bytes=bytes, metrics=metrics, instructions=instructions, collective=collective
            ),
        )

    @classmethod
    def init_from_variants(
        cls,
        py_block: str = "",
        cpp_block: str = "",
        num_threads: int | tuple[int, ...] = 1,
        *,
        devices: str | tuple[str, ...] | None = None,
        sizes: SizesArgument | None = None,
        ranks: int | tuple[int, ...] = (),
        tags: str | tuple[str, ...] = (),
        timeout_seconds: float | None = None,
        margin: float | None = None,
        fail_on: str | tuple[str, ...] | None = None,
    ) -> dict[Label, GroupedBenchmark]:
        """Make a group for every line of the blocks, under the label above the line: a dict, to be put into a suite."""
        python = parse_block(clean_code(py_block, "py_block"), Language.PYTHON)
        cpp = parse_block(clean_code(cpp_block, "cpp_block"), Language.CPP)
        setup = GroupedSetup(python.setup, cpp.setup, cpp.global_setup)
        return {
            case.label: cls.init_from_stmts(
                case.py_stmt,
                case.cpp_stmt,
                setup,
                num_threads=num_threads,
                devices=devices,
                sizes=sizes,
                ranks=ranks,
                tags=tags,
                timeout_seconds=timeout_seconds,
                margin=margin,
                fail_on=fail_on,
            )
            for case in paired_cases(python, cpp)
        }


def _statement(code: str | None, name: str) -> str | None:
    """Return the cleaned text, or None if there is none. An empty text is a mistake."""
    if code is None:
        return None
    cleaned = clean_code(code, name)
    if not cleaned.strip():
        raise definition_error(f"{name} is empty", remedy="Leave it out (None) if the language has no statement.")
    return cleaned


GroupedStmts = GroupedBenchmark.init_from_stmts
GroupedModules = GroupedBenchmark.init_from_model
GroupedVariants = GroupedBenchmark.init_from_variants
