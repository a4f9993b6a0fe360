"""The checks of a grouped benchmark when it is defined: its statements, set-ups and signature must fit together.

In come the texts and the signature of a group; a mistake raises a DefinitionError that shows the place.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

from photometer.definition.asked_figures import AskedFigures
from photometer.definition.cpp_text import blanked, has_open_comment, runs_on, without_directives
from photometer.definition.place import definition_error, excerpt, excerpt_of
from photometer.definition.python_names import ALWAYS_THERE, check_python_syntax, names_of
from photometer.definition.signature import Signature
from photometer.model.run_figures import BUS_FACTORS

# Every C++ statement ends in one of these; otherwise it is Python, or its end was lost.
_CPP_STATEMENT_ENDS = (";", "}")
_BRACKETS = {")": "(", "]": "[", "}": "{"}


def check_python_statement(stmt: str, setup: str, signature: Signature | None, swept: Iterable[str]) -> None:
    """Check that the statement reads exactly the signature's arguments and assigns its output; then the set-up."""
    check_python_syntax(setup, "py_setup")
    check_python_syntax(stmt, "py_stmt")
    if signature is None:
        return
    names = names_of(stmt)
    for name in signature.args:
        if name not in names.free:
            raise _mismatch(signature, name, "the Python statement does not read it", stmt)
    if signature.output is not None and signature.output not in names.bound:
        raise _mismatch(signature, signature.output, "the Python statement does not assign it", stmt)
    visible = ALWAYS_THERE | set(signature.args) | set(swept) | names_of(setup).definitions
    for name, (line, column) in names.free.items():
        if name not in visible:
            raise definition_error(
                f"the statement reads {name}, which the signature {signature.text!r} does not name",
                shown=excerpt(stmt, line, column, len(name)),
                remedy=f"Add {name} to the signature's arguments.",
            )
    check_python_setup(setup, signature)


def check_python_setup(setup: str, signature: Signature) -> None:
    """Check that the set-up assigns every argument of the signature."""
    made = names_of(setup)
    missing = [name for name in signature.args if name not in made.bound]
    if missing and not made.opaque:
        raise definition_error(
            f"the signature names {missing[0]}, which py_setup does not assign",
            shown=excerpt_of(signature.text, missing[0]),
            remedy=f"Assign {missing[0]} in GroupedSetup(py_setup=…).",
        )


def check_cpp_statement(stmt: str, setup: str, global_setup: str, signature: Signature | None) -> None:
    """Check the same as for Python, as far as that is possible without a parser."""
    check_cpp_text(setup, "cpp_setup")
    check_cpp_text(stmt, "cpp_stmt")
    bare = blanked(stmt)
    _check_cpp_end(stmt, without_directives(bare).rstrip())
    if signature is None:
        return
    for name in signature.args:
        if not has_word(bare, name):
            raise _mismatch(signature, name, "the C++ statement does not read it", stmt)
    if signature.output is not None and not has_word(bare, signature.output):
        raise _mismatch(signature, signature.output, "the C++ statement does not assign it", stmt)
    check_cpp_setup(setup, global_setup, signature)


def _check_cpp_end(stmt: str, code: str) -> None:
    """Check that the statement's last line of code ends a statement; comments and directives may follow it."""
    if not code:
        raise definition_error(
            "the C++ statement has no code, only comments or directives",
            shown=excerpt(stmt, 0),
            remedy="Give the statement to measure, or None if there is none in C++.",
        )
    if not code.endswith(_CPP_STATEMENT_ENDS):
        line = code.count("\n")
        raise definition_error(
            "the C++ statement does not end in a semicolon",
            shown=excerpt(stmt, line, len(code.split("\n")[line])),
            remedy="End it with ; (or with } if it is a block).",
        )


def check_cpp_setup(setup: str, global_setup: str, signature: Signature) -> None:
    for name in signature.args:
        if not has_word(blanked(setup), name) and not has_word(blanked(global_setup), name):
            raise definition_error(
                f"the signature names {name}, which cpp_setup does not declare",
                shown=excerpt_of(signature.text, name),
                remedy=f"Declare {name} in GroupedSetup(cpp_setup=…).",
            )


def check_cpp_text(code: str, name: str) -> None:
    """Check that brackets pair up and nothing swallows later text; the compiler finds all other mistakes."""
    bare = blanked(code)
    if has_open_comment(bare):
        line, column = _position(bare, bare.index("/*"))
        raise definition_error(
            f"{name}: the comment has no end", shown=excerpt(code, line, column, 2), remedy="Close it with */."
        )
    if runs_on(code):
        line, column = _position(code, len(code.rstrip()) - 1)
        raise definition_error(
            f"{name}: its last line ends in a backslash, so the next one would belong to it",
            shown=excerpt(code, line, column),
            remedy="Remove the backslash.",
        )
    open_brackets: list[tuple[str, int, int]] = []
    for number, line_of_code in enumerate(bare.split("\n")):
        for column, character in enumerate(line_of_code):
            if character in "([{":
                open_brackets.append((character, number, column))
            elif character in _BRACKETS:
                if not open_brackets or open_brackets[-1][0] != _BRACKETS[character]:
                    raise _unpaired(code, name, character, number, column)
                open_brackets.pop()
    if open_brackets:
        raise _unpaired(code, name, *open_brackets[-1])


def check_model(py_model_setup: str | None, cpp_model_setup: str | None) -> None:
    """Check that a module's set-up defines `model`."""
    if py_model_setup is not None:
        check_python_syntax(py_model_setup, "py_model_setup")
        made = names_of(py_model_setup)
        if "model" not in made.bound and not made.opaque:
            raise definition_error(
                "py_model_setup does not define `model`",
                shown=excerpt(py_model_setup, 0),
                remedy="Write `model = torch.nn.…` (or `def model(…):`).",
            )
    if cpp_model_setup is not None:
        check_cpp_text(cpp_model_setup, "cpp_model_setup")
        if not re.search(r"\bmodel\b\s*[=({;]", cpp_model_setup):
            raise definition_error(
                "cpp_model_setup does not define `model`",
                shown=excerpt(cpp_model_setup, 0),
                remedy="Write `auto model = torch::nn::…;`.",
            )


def check_needs_signature(signature: Signature | None, *, torchscript: bool, compiled: bool, autograd: bool) -> None:
    """Check that there is a signature if one is needed: TorchScript and compile need inputs, autograd an output."""
    wanting = [
        name
        for name, wanted in (("torchscript", torchscript), ("compiled", compiled), ("autograd", autograd))
        if wanted
    ]
    if not wanting:
        return
    if signature is None:
        raise definition_error(
            f"{wanting[0]}=True without a signature",
            remedy='Add signature="f(x, w) -> y": what the statement reads, and what it assigns.',
        )
    if autograd and signature.output is None:
        raise definition_error(
            "autograd=True without an output to call backward() on",
            shown=excerpt_of(signature.text, "None"),
            remedy="Name the output in the signature: f(…) -> y.",
        )


def check_device_used(devices: tuple[str, ...], texts: dict[str, str | None]) -> None:
    """Check that with `devices` every set-up uses the variable `device`; otherwise the CPU would be measured twice."""
    for name, text in texts.items():
        if devices and text is not None and not has_word(text, "device"):
            raise definition_error(
                f"devices={devices!r}, but {name} does not use `device`",
                shown=excerpt(text, 0),
                remedy="Make the tensors with device=device (Python) or .to(device) / torch::device(device) (C++).",
            )


def check_ranks(ranks: tuple[int, ...], figures: AskedFigures, *, only_python: bool, devices: tuple[str, ...]) -> None:
    """Check that code for a group of processes is Python, on no chosen device, and that a collective has bytes."""
    if ranks and not only_python:
        raise definition_error("ranks= is for Python", remedy="Leave C++ and torchscript=True out.")
    if ranks and any(":" in device for device in devices):
        raise definition_error(
            f"devices={devices!r} with ranks=: each rank has a device of its own",
            remedy='Name the kind of device alone: devices="cuda".',
        )
    if figures.collective is None:
        return
    if figures.collective not in BUS_FACTORS:
        raise definition_error(
            f"collective is {figures.collective!r}", remedy=f"It is one of {', '.join(sorted(BUS_FACTORS))}."
        )
    if not ranks or figures.bytes is None:
        raise definition_error(
            "collective= without ranks= and bytes=",
            remedy="Give both: bandwidth on the bus follows from the bytes of the message and the number of ranks.",
        )


def has_word(text: str, word: str) -> bool:
    return re.search(rf"\b{re.escape(word)}\b", text) is not None


def _mismatch(signature: Signature, name: str, reason: str, stmt: str) -> Exception:
    # The output is the last word of the signature; an argument may be a part of an earlier word (x in x_float).
    is_output = name == signature.output
    found = list(re.finditer(rf"\b{re.escape(name)}\b", signature.text))[-1 if is_output else 0]
    return definition_error(
        f"the signature names {name}, but {reason}",
        shown=f"{excerpt(signature.text, 0, found.start(), len(name))}\nthe statement:\n{_indented(stmt)}",
        remedy="Make the signature and the statement agree.",
    )


def _indented(text: str) -> str:
    return "\n".join("    " + line for line in text.splitlines())


def _unpaired(code: str, name: str, character: str, line: int, column: int) -> Exception:
    return definition_error(
        f"{name}: {character!r} has no matching bracket", shown=excerpt(code, line, column), remedy="Pair the brackets."
    )


def _position(text: str, offset: int) -> tuple[int, int]:
    """Return the line and the column of an offset, both from 0."""
    return text.count("\n", 0, offset), offset - (text.rfind("\n", 0, offset) + 1)
