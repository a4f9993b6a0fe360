"""`%photometer` and `%%photometer` for IPython and notebooks, loaded by `%load_ext photometer`.

    %photometer torch.add(x, y)                     time one statement, with the notebook's own variables
    %%photometer -s "x = torch.ones(64)"            time a whole cell
    %%photometer --ab                               compare the parts of a cell, separated by lines `# ---`

The result is the cell's value: a Measurement, a Verdict (two parts), a Ranking (more), counts or a device measurement.
"""

from __future__ import annotations

import argparse
import ast
import re
import shlex
import textwrap
import traceback
from typing import TYPE_CHECKING, Any, NoReturn

from photometer.errors import DefinitionError, PhotometerError
from photometer.worker.user_error import hiding_our_frames, is_in_a_text

if TYPE_CHECKING:
    from IPython.core.interactiveshell import InteractiveShell

# A line of a cell that separates what is compared.
SEPARATOR = re.compile(r"^[ \t]*#[ \t]*-{3,}[ \t]*$", re.MULTILINE)
# A word as a shell has it: letters and quoted texts side by side.
_WORD = r"""(?:[^\s"'\\]|\\.|"(?:[^"\\]|\\.)*"|'(?:[^'\\]|\\.)*')+"""


class _Parser(argparse.ArgumentParser):
    def error(self, message: str) -> NoReturn:
        raise DefinitionError(f"%photometer: {message}", remedy="See %photometer --help.")


def parser() -> argparse.ArgumentParser:
    """Return the options of both magics."""
    made = _Parser(prog="%photometer", add_help=False, allow_abbrev=False)
    made.add_argument("-s", "--setup", default="pass", metavar="CODE", help="Code that runs before, untimed.")
    made.add_argument(
        "-t", "--threads", dest="num_threads", type=int, default=1, metavar="N", help="Size of torch's thread pool."
    )
    made.add_argument("--min-run-time", type=float, default=0.2, metavar="S", help="Seconds to measure (default: 0.2).")
    made.add_argument("--precision", type=float, metavar="SHARE", help="Measure until ± this share of the median.")
    made.add_argument("--ab", action="store_true", help="Compare the parts of the cell, separated by lines '# ---'.")
    made.add_argument("--budget", type=float, metavar="S", help="With --ab: maximum seconds to measure.")
    made.add_argument("--margin", type=float, metavar="SHARE", help="With --ab: a change that does not matter.")
    made.add_argument("--device", nargs="?", const="", metavar="NAME", help="Time on the accelerator.")
    made.add_argument("--instructions", action="store_true", help="Count instructions under Valgrind.")
    made.add_argument("--memory", action="store_true", help="Measure what one run allocates.")
    made.add_argument("--label", help="The result's label in a table.")
    made.add_argument("--cpp", action="store_true", help="The code is C++; it cannot use the notebook's variables.")
    made.add_argument("-h", "--help", action="store_true", help="Show this text.")
    return made


def split_line(line: str) -> tuple[list[str], str]:
    """Return the options at the beginning of a line, and the unchanged code after them."""
    takes_value = {
        name: action.nargs != "?" for action in parser()._actions if action.nargs != 0 for name in action.option_strings
    }
    flags = {name for action in parser()._actions if action.nargs == 0 for name in action.option_strings}
    words: list[str] = []
    rest = line.strip()
    while found := re.match(_WORD, rest):
        name, equals, _ = found[0].partition("=")
        if found[0] == "--":
            rest = rest[2:].lstrip()
            break
        if name not in flags and name not in takes_value:
            break
        words += shlex.split(found[0])
        rest = rest[found.end() :].lstrip()
        if takes_value.get(name) and not equals and (value := re.match(_WORD, rest)):
            words += shlex.split(value[0])
            rest = rest[value.end() :].lstrip()
    return words, rest


def run_magic(line: str, cell: str | None, names: dict[str, Any]) -> Any:
    """Run the line and the cell, with `names` as the variables of the code, and return the result."""
    words, code = split_line(line)
    options = parser().parse_args(words)
    if options.help:
        return _Shown(parser().format_help())
    if cell is not None and code:
        raise DefinitionError(
            f"%%photometer: {code!r} is not an option", remedy="The code is the cell; give a set-up with -s."
        )
    stmt = code if cell is None else cell.strip("\n")
    if not stmt.strip():
        raise DefinitionError("%photometer: there is no code to time", remedy="Write %photometer torch.ones(8).")
    return _compare(stmt, options, names) if options.ab else _time(stmt, options, names)


def _time(stmt: str, options: argparse.Namespace, names: dict[str, Any]) -> Any:
    from photometer.timing import Timer

    timer = Timer(
        stmt,
        options.setup,
        globals=_variables(stmt, options, names),
        label=options.label,
        num_threads=options.num_threads,
        language="cpp" if options.cpp else "python",
    )
    if options.instructions:
        return timer.count_instructions()
    if options.memory:
        return timer.measure_memory()
    if options.device is not None:
        return timer.measure_device(options.device or None)
    return timer.blocked_autorange(min_run_time=options.min_run_time, precision=options.precision)


def _variables(code: str, options: argparse.Namespace, names: dict[str, Any]) -> dict[str, Any] | None:
    """Return the notebook's variables that the code names, marked to be copied if instructions are counted elsewhere.

    Only those: `ab` of text that needs no variables is measured in fresh processes, which is more precise.
    """
    if options.cpp:
        return None
    try:
        nodes = [node for text in (options.setup, code) for node in _names(text)]
    except SyntaxError:
        # The Timer says what is wrong with it.
        return dict(names)
    made = {node.id for node in _names(options.setup) if isinstance(node.ctx, ast.Store)} | {"torch"}
    used = {node.id for node in nodes} - made
    found = {name: names[name] for name in sorted(used & names.keys())}
    if not options.instructions:
        return found
    from photometer.model.copy_if_callgrind import CopyIfCallgrind

    return {name: CopyIfCallgrind(value) for name, value in found.items()}


def _names(code: str) -> list[ast.Name]:
    return [node for node in ast.walk(ast.parse(textwrap.dedent(code))) if isinstance(node, ast.Name)]


def _compare(cell: str, options: argparse.Namespace, names: dict[str, Any]) -> Any:
    from photometer.comparing.statements import ab

    parts = [part.strip("\n") for part in SEPARATOR.split(cell)]
    if len(parts) < 2 or not all(part.strip() for part in parts):
        raise DefinitionError(
            "%%photometer --ab: the cell does not have two parts", remedy="Separate what is compared by a line '# ---'."
        )
    for name in ("instructions", "memory"):
        if getattr(options, name):
            raise DefinitionError(f"--ab and --{name} do not go together", remedy="Use one of them.")
    used = _variables(cell, options, names)
    return ab(
        *parts,
        setup=options.setup,
        globals=used or None,
        language="cpp" if options.cpp else "python",
        num_threads=options.num_threads,
        budget=options.budget,
        margin=options.margin,
        device="any" if options.device == "" else options.device,
    )


class _Shown(str):
    """Text that a notebook shows as it is, without quotes."""

    __slots__ = ()

    def __repr__(self) -> str:
        return str(self)


def load_ipython_extension(shell: InteractiveShell) -> None:
    """Make the magics known to this shell; `%load_ext photometer` calls it."""

    @hiding_our_frames
    def photometer(line: str, cell: str | None = None) -> Any:
        from IPython.core.error import UsageError

        try:
            return run_magic(line, cell, shell.user_ns)
        except PhotometerError as error:
            # Shown without a traceback: it says what to do.
            raise UsageError(str(error)) from None
        except SyntaxError as error:
            if not is_in_a_text(error):
                raise
            raise UsageError("".join(traceback.format_exception_only(error)).rstrip()) from None

    photometer.__doc__ = "Time a statement or a cell, or compare the parts of a cell.\n\n" + parser().format_help()
    shell.register_magic_function(photometer, magic_kind="line_cell", magic_name="photometer")
