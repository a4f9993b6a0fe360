"""What torch has for each kind of accelerator, on a private backend with each part taken away."""

from __future__ import annotations

import ast
import types
from pathlib import Path
from typing import Any

import pytest
import torch

import photometer
from photometer.worker import accelerators
from photometer.worker.accelerators import (
    BACKENDS,
    Backend,
    NoDevice,
    TorchDevice,
    all_of,
    default_kind,
    device_in_use,
    device_models,
    device_names,
    find_backend,
    is_built,
    known_backends,
    names_accelerator,
    open_device,
    see_only,
    was_started,
)
from photometer.worker.child import synchronized_clock, waiting_for
from photometer.worker.device_blocks import DeviceBlocks, GraphBlocks
from photometer.worker.memory import opened_device, take_memory

from .fake_backend import NAME, PARTS, Abacus, install

SOURCE = Path(photometer.__file__).parent
BARE: Any = types.SimpleNamespace(__version__="0", version=types.SimpleNamespace())


def test_a_process_sees_only_the_devices_that_it_is_given() -> None:
    variables = {"PATH": "/bin"}
    see_only("cuda", (1, 2), variables)
    assert variables == {"PATH": "/bin", "CUDA_VISIBLE_DEVICES": "1,2"}
    # Torch numbers those that are left, by whatever variable the user has hidden others.
    variables = {"HIP_VISIBLE_DEVICES": "4, GPU-abc,6"}
    see_only("cuda", (1,), variables)
    assert variables == {"HIP_VISIBLE_DEVICES": "GPU-abc"}
    with pytest.raises(NoDevice, match="nothing hides mps"):
        see_only("mps", (0,), variables)


def test_models_are_asked_only_where_there_are_several_devices(monkeypatch: pytest.MonkeyPatch) -> None:
    module = install(monkeypatch, Abacus())
    assert device_models(torch) == {"abacus:0": "Abacus 0", "abacus:1": "Abacus 1"}
    monkeypatch.setattr(module, "device_count", lambda: 1, raising=False)
    assert device_models(torch) == {}


def test_each_kind_is_in_the_table_once_and_so_are_its_files_and_variables() -> None:
    for values in ((each.kind for each in BACKENDS), all_of(lambda b: b.files), all_of(lambda b: b.variables)):
        listed = list(values)
        assert len(listed) == len(set(listed))
    # What is not passed on to a worker hides nothing there.
    assert all(set(backend.hiding) <= set(backend.variables) for backend in BACKENDS)


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("x = x.cuda()", True),
        ("torch.ones(8, device='xpu:1')", True),
        ("torch.accelerator.synchronize()", True),
        ("y.to('mps')", True),
        ("cudagraphs = mpsx", False),
        ("x = torch.ones(8)", False),
    ],
)
def test_code_that_names_an_accelerator(text: str, names: bool) -> None:
    assert names_accelerator(text) is names


def test_a_torch_without_any_has_nothing_and_says_so() -> None:
    assert not is_built(BARE)
    assert not was_started(BARE)
    assert device_in_use(BARE) is None
    assert (default_kind(BARE), device_names(BARE)) == (None, [])
    with pytest.raises(NoDevice, match="no accelerator that this torch"):
        open_device(BARE)
    with pytest.raises(NoDevice, match="no abacus device"):
        open_device(BARE, "abacus:1")


def test_the_cpu_is_none_though_torch_has_a_module_of_that_name() -> None:
    with pytest.raises(NoDevice, match="no cpu device"):
        open_device(torch, "cpu")


@pytest.mark.parametrize(("name", "value"), [("cuda", "13.0"), ("hip", "7.0"), ("xpu", "2025.3")])
def test_a_build_for_an_accelerator_is_told_without_asking_a_device(name: str, value: str) -> None:
    assert is_built(types.SimpleNamespace(version=types.SimpleNamespace(**{name: value})))


def test_a_build_is_also_told_by_the_settings_of_the_backend() -> None:
    built = types.SimpleNamespace(is_built=lambda: True, is_available=lambda: True)
    apple = types.SimpleNamespace(backends=types.SimpleNamespace(mps=built), mps=types.SimpleNamespace())
    assert is_built(apple)
    # torch.mps told nothing of the kind before 2.6.
    assert device_names(apple) == ["mps", "mps:0"]
    assert default_kind(apple) == "mps"
    assert open_device(apple, "mps:0").index == 0
    with pytest.raises(NoDevice, match="one device"):
        open_device(apple, "mps:1")


def test_a_private_backend_needs_no_entry(monkeypatch: pytest.MonkeyPatch) -> None:
    module = install(monkeypatch, Abacus())
    backend = find_backend(NAME, torch)
    assert backend in known_backends(torch)
    assert (backend.activity, backend.device_type) == ("PrivateUse1", "privateuseone")
    assert is_built(torch)
    assert device_names(torch)[-3:] == ["abacus", "abacus:0", "abacus:1"]
    device = open_device(torch, "abacus:1")
    assert (module.current, device.name) == (1, "Abacus 1")


def test_torch_itself_says_which_accelerator_there_is(monkeypatch: pytest.MonkeyPatch) -> None:
    current = types.SimpleNamespace(
        is_available=lambda: True, current_accelerator=lambda: types.SimpleNamespace(type=NAME)
    )
    monkeypatch.setattr(torch, "accelerator", current, raising=False)
    install(monkeypatch, Abacus())
    assert default_kind(torch) == NAME
    assert open_device(torch).kind == NAME


@pytest.mark.parametrize(
    ("lacking", "part", "words"),
    [
        ("synchronize", "synchronize", "cannot wait"),
        ("Event", "events", "no events"),
        ("Stream", "streams", "no streams"),
        ("current_stream", "streams", "no streams"),
        ("_sleep", "spin", "launches cannot be hidden"),
        ("ABACUSGraph", "graphs", "no graphs"),
        ("graph", "graphs", "no graphs"),
        ("memory_stats", "memory", "does not report memory"),
    ],
)
def test_what_is_missing_is_said(lacking: str, part: str, words: str) -> None:
    assert Abacus().device.why_missing(part) is None
    device = Abacus(lacking).device
    assert words in str(device.why_missing(part))
    with pytest.raises(NoDevice, match=words):
        device.need(part)


@pytest.mark.parametrize("lacking", PARTS)
def test_whatever_is_missing_looking_at_a_device_does_not_fail(lacking: str, monkeypatch: pytest.MonkeyPatch) -> None:
    module = install(monkeypatch, Abacus(lacking))
    device = module.device
    assert device.index == 0
    assert device.name in ("Abacus 0", NAME)
    assert (device.properties is None) == (lacking == "get_device_properties")
    assert (NAME in device_names(torch)) == (lacking != "is_available")
    assert not was_started(torch)


@pytest.mark.parametrize(
    ("lacking", "opened", "in_use"),
    [
        ((), False, False),
        ((), True, True),
        (("is_initialized",), False, True),
        (("is_initialized", "is_available"), False, False),
    ],
)
def test_a_backend_that_does_not_tell_may_be_in_use(
    lacking: tuple[str, ...], opened: bool, in_use: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    install(monkeypatch, Abacus(*lacking)).opened = opened
    assert (device_in_use(torch) is not None) is in_use


def test_clocks_wait_for_a_device_as_soon_as_it_is_opened(monkeypatch: pytest.MonkeyPatch) -> None:
    module = install(monkeypatch, Abacus())
    waited: list[None] = []
    module.synchronize = lambda device=None: waited.append(None)
    wait, clock = waiting_for(torch), synchronized_clock(torch)
    wait()
    clock()
    assert waited == []
    module.opened = True
    wait()
    assert clock() > 0
    assert len(waited) == 2


def test_a_device_that_cannot_spin_times_blocks_without_hiding_the_launch() -> None:
    module = Abacus("_sleep")
    numbers = module.numbers
    blocks = DeviceBlocks(numbers.run_block, module.device, numbers.clock)
    assert not blocks.hides_launch
    # Queueing takes the host longer than the kernel takes the device.
    assert blocks(100) == pytest.approx(100 * numbers.host_seconds, rel=0.05)
    assert numbers.spins == []
    spinning = Abacus()
    held = DeviceBlocks(spinning.numbers.run_block, spinning.device, spinning.numbers.clock)
    assert held(100) == pytest.approx(100 * numbers.kernel_seconds)


@pytest.mark.parametrize(("lacking", "words"), [("Event", "no events"), ("synchronize", "cannot wait")])
def test_a_device_that_cannot_mark_or_wait_is_not_timed(lacking: str, words: str) -> None:
    module = Abacus(lacking)
    with pytest.raises(NoDevice, match=words):
        DeviceBlocks(module.numbers.run_block, module.device, module.numbers.clock)


def test_a_device_without_graphs_is_not_captured() -> None:
    module = Abacus("ABACUSGraph")
    with pytest.raises(NoDevice, match="no graphs"):
        GraphBlocks(module.numbers.run_block, module.device, module.numbers.clock)
    with pytest.raises(NoDevice, match="no streams"):
        Abacus("Stream").device.own_stream()


def test_memory_of_a_device_that_does_not_report_it_is_named_without_figures(monkeypatch: pytest.MonkeyPatch) -> None:
    install(monkeypatch, Abacus("memory_stats")).opened = True
    assert opened_device() == "abacus:0"
    found = take_memory(lambda number: 0.0, 1, opened_device)
    assert (found.device, found.device_repeats, found.device_reserved_bytes) == ("abacus:0", [], None)
    install(monkeypatch, Abacus()).opened = True
    assert take_memory(lambda number: 0.0, 2, opened_device).device_repeats == [[0, 0, 0, 0]] * 2


def test_an_entry_of_a_backend_that_nobody_knows_has_nothing() -> None:
    device = TorchDevice(Backend("nothing"), None)
    assert device.why_missing("events") == "torch.nothing has no events to time with"


def test_no_other_module_lists_kinds_of_accelerators() -> None:
    kinds = {backend.kind for backend in BACKENDS}

    def names_two(node: ast.AST) -> bool:
        inside = node.elts if isinstance(node, ast.Tuple | ast.List | ast.Set) else []
        return len(kinds & {str(each.value) for each in inside if isinstance(each, ast.Constant)}) > 1

    def calls_one(node: ast.AST) -> bool:
        # torch.cuda.synchronize: one backend's own module, where the table would give that of any.
        return (
            isinstance(node, ast.Attribute)
            and isinstance(node.value, ast.Name)
            and node.value.id == "torch"
            and node.attr in kinds
        )

    parts = ("worker", "instruments", "comparing", "execution", "session", "doctor", "pytest_plugin")
    files = [path for part in parts for path in (SOURCE / part).rglob("*.py") if path.name != "accelerators.py"]
    found = [
        f"{path.relative_to(SOURCE)}:{node.lineno}"  # type: ignore[attr-defined]
        for path in files
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if names_two(node) or calls_one(node)
    ]
    assert found == []
    assert accelerators.__file__ is not None
