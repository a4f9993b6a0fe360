"""What set-ups import: found in their text, imported once by a zygote, and the same measured with and without."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from photometer.definition.loading import load_suite
from photometer.errors import DefinitionError, SnippetError
from photometer.instruments.callgrind.count_task import CountTask
from photometer.instruments.callgrind.counter import InstructionCounter
from photometer.model.machine import Environment
from photometer.model.task import TaskSpec
from photometer.plan.expand import materialize
from photometer.session.policy import Policy
from photometer.session.remarks import remarks_to
from photometer.session.session import ServerKind, Session
from photometer.worker.messages import MeasureMemory, Prepare
from photometer.worker.preload import COMPILER, COMPILER_FOR_DEVICES, DYNAMO, imports_of, modules_of

pytestmark = pytest.mark.lengthy


@pytest.mark.parametrize(
    ("setup", "found"),
    [
        ("x = 1", ()),
        ("import torch", ()),
        ("import json, math\nimport numpy as np\nfrom torch import nn", ()),
        ("from tensordict import TensorDict", ("from tensordict import TensorDict",)),
        ("import a.b as c; from d import *", ("import a.b as c", "from d import *")),
        ("from . import a\nfrom .. import b", ()),
        ("x = torch.rand(3)\nimport a", ("import a",)),
        ("torch.manual_seed(0)\nimport a", ("import a",)),
        ("def f():\n    import b\nimport a", ("import a",)),
        ("import sys\nsys.path.insert(0, 'x')\nimport a", ()),
        ("import os, b\nos.environ['A'] = '1'\nimport a", ("import os, b",)),
        ("import a\na.configure()\nimport a.b", ("import a",)),
        ("import a\na.option = 1\nimport b", ("import a",)),
        ("try:\n    import a\nexcept ImportError:\n    a = None", ()),
        ("class A:\n    import sys\n    sys.path.clear()\nimport a", ()),
        ("torch.set_default_dtype(torch.float64)\nimport a", ()),
        ("not python (", ()),
    ],
)
def test_imports_are_found_in_their_order(setup: str, found: tuple[str, ...]) -> None:
    assert imports_of(setup) == found


def test_names_of_one_module_are_one_import(tmp_path: Path) -> None:
    (tmp_path / "a" / "part").mkdir(parents=True)
    (tmp_path / "a" / "other.py").touch()
    folders = (str(tmp_path),)
    assert modules_of(("from a import f", "from a import g as h", "import a as b"), folders) == ("import a",)
    assert modules_of(("from a import part, other, f",), folders) == ("import a", "import a.part", "import a.other")
    assert modules_of(("from a.part import *", "import x.y as z, w"), folders) == (
        "from a.part import *",
        "import x.y",
        "import w",
    )


def test_the_compiler_comes_with_torch_compile() -> None:
    assert imports_of("f = torch.compile(g)") == COMPILER
    assert imports_of("pass", "torch.compile(f, backend='eager')(x)") == DYNAMO
    assert imports_of("@torch.compile\ndef f(x): return x") == COMPILER
    assert imports_of("x = torch.ones(3, device='cuda')", "torch.compile(f)(x)") == COMPILER_FOR_DEVICES
    assert imports_of("compile('1', 'x', 'eval')") == ()


def test_modules_of_a_suite_come_first(tmp_path: Path) -> None:
    assert imports_of("import b", modules=("a.c",)) == ("import a.c", "import b")
    suite = tmp_path / "suite.py"
    suite.write_text(
        'from photometer import TimerArgs\nPRELOAD = ["colorsys"]\nBENCHMARKS = {"a": TimerArgs("pass")}\n'
    )
    (order,) = materialize(load_suite(str(suite)))
    assert order.preload == ("colorsys",)
    suite.write_text(suite.read_text().replace('"colorsys"', '"not a module"'))
    with pytest.raises(DefinitionError, match="PRELOAD"):
        load_suite(str(suite))


MODULES = {
    "plain_one": "import threading\nVALUE = 1\nprint('imported')\n",
    "starts_threads": "import threading, time\nthreading.Thread(target=time.sleep, args=(60,), daemon=True).start()\n",
    "fails": "raise ValueError('broken')\n",
    "exits": "raise SystemExit(3)\n",
    "opens_file": "FILE = open(__file__)\n",
    "starts_process": "import subprocess, sys\nP = subprocess.Popen([sys.executable, '-c', 'input()'], stdin=-1)\n",
    "runs_process": "import subprocess, sys\nsubprocess.run([sys.executable, '-c', 'pass'], check=True)\n",
    "forks": "import os\nPID = os.fork()\nif PID: os.waitpid(PID, 0)\n",
    "draws": "import random\nVALUE = random.random()\n",
    "sets_threads": "import torch\ntorch.set_num_threads(2)\n",
    "moves": "import os\nos.chdir('/tmp')\n",
    "collects": "import gc\ngc.enable()\n",
}


@pytest.fixture(scope="module")
def environment(tmp_path_factory: pytest.TempPathFactory) -> Environment:
    folder = tmp_path_factory.mktemp("modules")
    for name, text in MODULES.items():
        (folder / f"{name}.py").write_text(text)
    return Environment(sys.executable, (str(folder),))


@pytest.mark.warm
@pytest.mark.parametrize(
    ("module", "reason"),
    [
        ("plain_one", None),
        ("runs_process", None),
        ("forks", None),
        ("starts_threads", "starts threads"),
        ("fails", "it fails (ValueError: broken)"),
        ("exits", "it fails (SystemExit: 3)"),
        ("opens_file", "leaves a file"),
        ("starts_process", "connection open"),
        ("draws", None),
        ("sets_threads", "number of threads"),
        ("moves", "working folder"),
        ("collects", "collector"),
    ],
)
def test_an_import_that_cannot_be_shared_is_left_to_the_forks(
    environment: Environment, module: str, reason: str | None
) -> None:
    prepare = Prepare(setup=f"import plain_one\nimport {module}")
    said: list[str] = []
    with remarks_to(said.append), Session(environment) as session:
        with session.child(ServerKind().importing(prepare)) as child:
            look = "import sys\nassert 'plain_one' in sys.modules"
            look += f"\nassert {module!r} {'in' if reason is None else 'not in'} sys.modules"
            child.ask(Prepare(setup=look))
            if module in ("fails", "exits"):
                with pytest.raises(SnippetError):
                    child.ask(prepare)
            else:
                child.ask(prepare)
        if reason is None:
            assert not session.not_shared
        else:
            (found,) = session.not_shared.values()
            assert reason in found
    # That servers stay warm is said here, too.
    about = [text for text in said if module in text]
    assert len(about) == (reason is not None)
    assert all(text in about or "servers stay warm" in text for text in said)


def test_a_module_that_is_not_there_is_the_set_ups_own_error(environment: Environment) -> None:
    prepare = Prepare(setup="import no_such_module\nimport plain_one")
    with Session(environment) as session, session.child(ServerKind().importing(prepare)) as child:
        child.ask(Prepare(setup="import sys\nassert 'plain_one' in sys.modules"))
        with pytest.raises(SnippetError, match="no_such_module"):
            child.ask(prepare)
    assert not session.not_shared


def test_a_path_that_hides_a_loaded_module_is_there_when_torch_is_imported(tmp_path: Path) -> None:
    original = Path(sys.modules["typing_extensions"].__file__ or "").read_text()
    (tmp_path / "typing_extensions.py").write_text(original + "\nHERE = True\n")
    (tmp_path / "other.py").write_text("")
    environment = Environment(sys.executable, (str(tmp_path),))
    with Session(environment) as session, session.child(ServerKind().importing(Prepare(setup="import other"))) as child:
        child.ask(Prepare(setup="import typing_extensions\nassert typing_extensions.HERE"))


def test_data_do_not_depend_on_imports_that_draw_random_numbers(environment: Environment) -> None:
    """A child seeds after its imports, whether its zygote has done them or not."""
    prepare = Prepare("assert 0", "import draws, random\nseen = random.random()\nraise Exception(seen)")
    seen = []
    for preloads in (True, False):
        with Session(environment, Policy(preloads=preloads)) as session:
            with session.child(ServerKind().importing(prepare)) as child, pytest.raises(SnippetError) as caught:
                child.ask(prepare)
            seen.append(caught.value.message)
    assert seen[0] == seen[1]


SETUPS = (
    "x = torch.ones(4)",
    "import plain_one\nx = torch.ones(4)",
    "import runs_process\nx = torch.ones(4)",
    "import draws\nx = torch.ones(4)",
    "import starts_threads\nx = torch.ones(4)",
    "import opens_file, plain_one\nx = torch.ones(4)",
    "from plain_one import VALUE\nx = torch.ones(VALUE)",
    "import sets_threads\nx = torch.ones(4)",
    "import moves\nx = torch.ones(4)",
    "import typing_extensions, packaging.version\nx = torch.ones(4)",
    "import rich.text\nx = torch.ones(4)\ny = rich.text.Text('a')",
    "import jinja2\nx = torch.ones(4)\nt = jinja2.Template('{{ a }}')",
)


@pytest.mark.warm
@pytest.mark.valgrind
@pytest.mark.slow
def test_nothing_that_is_measured_depends_on_preloading(environment: Environment) -> None:
    """Counts and memory of a dozen set-ups, imports with side effects among them, are equal with and without."""

    def measured(preloads: bool) -> list[tuple[float, object]]:
        found: list[tuple[float, object]] = []
        with remarks_to(lambda text: None), Session(environment, Policy(preloads=preloads)) as session:
            counter = InstructionCounter(session)
            for setup in SETUPS:
                spec = TaskSpec("y = x + 1\nz = len([y])", setup)
                counts = counter.count(CountTask(spec)).instruction_counts()
                prepare = Prepare(spec.stmt, setup, warmup_runs=2)
                with session.child(ServerKind().importing(prepare)) as child:
                    child.ask(prepare)
                    memory = child.ask(MeasureMemory(3))
                found.append((counts.outside_allocator_per_run, memory.repeats))
        return found

    assert measured(preloads=True) == measured(preloads=False)
