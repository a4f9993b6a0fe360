"""Random data of tests on the sides of a comparison: made by the test, its fixtures and its module, the same on all."""

from __future__ import annotations

import json
import random
import textwrap
from pathlib import Path

import pytest

from photometer.model.machine import Environment
from photometer.pytest_plugin.stop_messages import SideSettings
from photometer.pytest_plugin.stopping_session import StoppingSession
from photometer.worker.messages import Prepare, Time

pytestmark = pytest.mark.lengthy

FILE = "test_data.py"
TESTS = """
    import random

    import numpy
    import pytest
    import torch

    AT_IMPORT = torch.rand(1).item()

    @pytest.fixture
    def made():
        return [AT_IMPORT, torch.rand(1).item(), random.random()]

    def test_first(photometer, made):
        photometer(lambda data: data, [*made, torch.rand(1).item(), float(numpy.random.rand())])

    def test_second(photometer, made):
        photometer(lambda data: data, [*made, torch.rand(1).item(), float(numpy.random.rand())])
"""
NAMES = ("test_first", "test_second")
IN_CHILD = "import json, random\ndrawn = [*photometer_arg_0, torch.rand(1).item(), random.random()]"


def data_of_a_side(folder: Path, seed: int | None = None) -> list[list[float]]:
    """Return what each test has made on a side, and what a child has drawn there."""
    folder.mkdir()
    (folder / FILE).write_text(textwrap.dedent(TESTS))
    tests = [f"{FILE}::{name}" for name in NAMES]
    arguments = ["-q", f"--rootdir={folder}", str(folder / FILE)]
    settings = SideSettings(tests, str(folder), arguments, seed=seed)
    found: list[list[float]] = []
    session = StoppingSession(Environment.current(importable=()), settings)
    with session:
        for test in tests:
            session.move_to(test)
            session.stopped()
            file = folder / "drawn"
            with session.child() as child:
                child.ask(Prepare(f"open({str(file)!r}, 'w').write(json.dumps(drawn))", IN_CHILD, seed=seed))
                child.ask(Time(1))
            found.append(json.loads(file.read_text()))
    return found


@pytest.mark.parametrize("seed", [None, 7])
def test_two_sides_make_the_same_data(tmp_path: Path, seed: int | None) -> None:
    base, branch = (data_of_a_side(tmp_path / side, seed) for side in ("base", "branch"))
    assert base == branch
    first, second = base
    # Each test starts from the seed, whatever those before it have drawn; its data differ from each other.
    assert first == second
    assert first[2] == random.Random(0 if seed is None else seed).random()
    assert first[1] != first[3]
