"""A stand-in for the C++ compiler: writes a library of text, or g++-like errors for lines that say FAIL.

It leaves a temporary file behind, as a killed compiler does, and appends each command to a journal, so that tests see
how often and with what a compiler was started.
"""

from __future__ import annotations

import stat
import sys
from pathlib import Path

_SCRIPT = """#!{python}
import re, sys, tempfile, time
from pathlib import Path

arguments = sys.argv[1:]
journal = Path({journal!r})
if "--version" in arguments or "-dumpmachine" in arguments:
    with journal.open("a") as file:
        file.write("identity\\n")
    print({identity!r})
    raise SystemExit(0)
source = Path(next(word for word in arguments if word.endswith("snippets.cpp")))
library = Path(arguments[arguments.index("-o") + 1])
with journal.open("a") as file:
    file.write(f"compile {{source.read_text().count('PHOTOMETER_EXPORT void*')}}\\n")
# As g++ does when it is killed: leave a temporary file behind.
tempfile.mkstemp(prefix="cc", suffix=".s")
time.sleep({seconds})
place, line, errors = str(source), 0, []
for text in source.read_text().splitlines():
    moved = re.match(r'#line (\\d+) "(.*)"', text)
    if moved:
        place, line = moved.group(2), int(moved.group(1)) - 1
        continue
    line += 1
    if "FULL" in text:
        errors = ["snippets.cpp:1: fatal error: error writing to /tmp/x.s: No space left on device"]
        break
    if "FATAL" in text:
        errors = [f"{{place}}:{{line}}:1: fatal error: none.h: No such file or directory"]
        break
    if "FAIL" in text and not ("KEPT" in text and ".plain/" in place):
        errors.append(f"{{place}}:{{line}}:1: error: it says FAIL")
if errors:
    print("\\n".join(errors), file=sys.stderr)
    raise SystemExit(1)
library.write_text(source.read_text())
"""


class FakeCompiler:
    def __init__(self, folder: Path, *, identity: str = "fake 1.0", seconds: float = 0.0) -> None:
        self.path = folder / "fake-c++"
        self._journal = folder / "journal"
        self._journal.touch()
        self.write(identity, seconds)

    def write(self, identity: str, seconds: float = 0.0) -> None:
        """(Re)place the program: another identity is another version."""
        text = _SCRIPT.format(python=sys.executable, journal=str(self._journal), identity=identity, seconds=seconds)
        self.path.write_text(text)
        self.path.chmod(self.path.stat().st_mode | stat.S_IXUSR)

    @property
    def compiled(self) -> list[int]:
        """For each file compiled, how many snippets it had."""
        lines = self._journal.read_text().splitlines()
        return [int(line.split()[1]) for line in lines if line.startswith("compile")]

    @property
    def asked_for_identity(self) -> int:
        return self._journal.read_text().splitlines().count("identity") // 2
