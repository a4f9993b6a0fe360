"""PyTorch's operator benchmarks as suites of ours."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from photometer.definition import GroupedBenchmark, load_suite
from photometer.errors import DefinitionError
from photometer.plan import materialize, select
from tests.definition.loaders.projects import operator_file


@pytest.fixture
def file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("PHOTOMETER_CACHE", str(tmp_path / "cache"))
    return operator_file(tmp_path)


def test_configurations_are_sizes_devices_and_tags(file: Path) -> None:
    suite = load_suite(f"operator_benchmark:{file}")
    assert suite.name == "add_test"
    assert [entry.label for entry in suite.entries] == [
        ("add",),
        ("add", "dtype=torch.float32"),
        ("add", "dtype=torch.float64"),
        ("add", "backward"),
        ("abs",),
        ("neg",),
    ]
    first = suite.entries[0].benchmark
    assert isinstance(first, GroupedBenchmark)
    assert first.devices == ("cpu", "cuda")
    assert first.sizes == ((("M", 2), ("N", 3)), (("M", 4), ("N", 5)))
    assert first.tags == ("short",)
    assert first.defined_at == "add_test.py:13"
    plan = materialize(suite)
    assert len(plan) == 2 * 2 + 1 + 1 + 2 * 2 + 1 + 1
    assert len(select(plan, "M=4 and cpu and not backward", ["short"])) == 1
    assert len(select(plan, None, ["long"])) == 2


def test_an_operator_without_a_name(file: Path) -> None:
    assert '"op_name"' in file.read_text()
    file.write_text(file.read_text().replace('"op_name"', '"name"'))
    with pytest.raises(DefinitionError, match="needs op_name and op_func, not name, op_func"):
        load_suite(f"operator_benchmark:{file}")


def test_a_folder_is_all_its_files(file: Path) -> None:
    (file.parent / "broken_test.py").write_text("import operator_benchmark\n1 / 0\n")
    suite = load_suite(f"operator_benchmark:{file.parent}")
    assert suite.entries[0].label == ("add", "add")
    assert suite.notes == (
        "broken_test.py is left out: broken_test.py:2: raised while the suite was loaded: "
        "ZeroDivisionError: division by zero",
    )


def test_files_share_what_their_package_has(file: Path) -> None:
    (file.parent / "configs.py").write_text(
        "import operator_benchmark as op_bench\n"
        "ONE = op_bench.config_list(attr_names=['M'], attrs=[[1]], tags=['short'])\n"
    )
    other = file.parent / "other_test.py"
    other.write_text(
        "from pt import configs\nimport operator_benchmark as op_bench\n"
        "class Other(op_bench.TorchBenchmarkBase):\n"
        "    def init(self, M):\n        self.inputs = {}\n"
        "op_bench.generate_pt_test(configs.ONE, Other)\n"
    )
    assert load_suite(f"operator_benchmark:{other}").entries[0].label == ("Other",)


def test_the_same_samples_are_drawn_in_every_process(file: Path) -> None:
    file.write_text(
        "import operator_benchmark as op_bench\n"
        "class One(op_bench.TorchBenchmarkBase):\n    def init(self, M): pass\n"
        "op_bench.generate_pt_test(op_bench.random_sample_configs(M=[1, 2, 3, 4, 5, 6, 7, 8], total_samples=3,\n"
        "    probs=op_bench.attr_probs(M=[1] * 8), tags=['short']), One)\n"
    )
    first, second = (load_suite(f"operator_benchmark:{file}") for _ in range(2))
    assert first.fingerprint == second.fingerprint


def test_a_configuration_that_is_registered_twice_is_one_benchmark(file: Path) -> None:
    text = file.read_text().replace(
        "op_bench.generate_pt_test(short + long", "op_bench.generate_pt_test(short * 2 + long"
    )
    before = load_suite(f"operator_benchmark:{file}").fingerprint
    file.write_text(text)
    assert load_suite(f"operator_benchmark:{file}").fingerprint == before


def test_mistakes_are_shown_with_the_users_line(file: Path) -> None:
    file.write_text("import operator_benchmark as op_bench\nop_bench.generate_pt_test([[{'M': 1}]], object)\n")
    with pytest.raises(DefinitionError, match=r"a configuration has no tags") as caught:
        load_suite(f"operator_benchmark:{file}")
    assert "add_test.py" in str(caught.value.log)
    file.write_text("x = 1\n")
    with pytest.raises(DefinitionError, match="has no benchmarks"):
        load_suite(f"operator_benchmark:{file}")


def test_the_stand_in_is_gone_afterwards(file: Path) -> None:
    load_suite(f"operator_benchmark:{file}")
    assert "operator_benchmark" not in sys.modules
