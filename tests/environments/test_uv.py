"""pip's settings reach uv, and uv's own come first."""

from __future__ import annotations

from pathlib import Path

import pytest

from photometer.environments.uv import (
    UV_INDEX_VARIABLES,
    from_pip_settings,
    has_own_index_settings,
    pip_settings,
    uv_variables,
)


@pytest.fixture(autouse=True)
def _no_settings_of_this_machine(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    for name in (*UV_INDEX_VARIABLES, "UV_CONFIG_FILE", "PIP_INDEX_URL", "PIP_EXTRA_INDEX_URL", "PIP_FIND_LINKS"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    monkeypatch.chdir(tmp_path)


@pytest.mark.lengthy
def test_settings_as_pip_puts_them_together(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / "pip.conf"
    file.write_text("[global]\nindex-url = https://one/simple\nfind-links = /a\n    /b\n[install]\nno-index = true\n")
    monkeypatch.setenv("PIP_CONFIG_FILE", str(file))
    monkeypatch.setenv("PIP_INDEX_URL", "https://variable/simple")
    settings = pip_settings()
    assert settings["index-url"] == "https://variable/simple"
    assert settings["find-links"].split() == ["/a", "/b"]
    assert uv_variables()["UV_FIND_LINKS"] == "/a,/b"
    assert uv_variables()["UV_DEFAULT_INDEX"] == "https://variable/simple"
    assert uv_variables()["UV_NO_INDEX"] == "1"


def test_every_setting_has_its_counterpart() -> None:
    told = from_pip_settings(
        {
            "extra-index-url": "https://a/simple https://b/simple",
            "trusted-host": "a b",
            "cert": "/ca.pem",
            "no-index": "false",
            "timeout": "60",
        }
    )
    assert told == {
        "UV_INDEX": "https://a/simple https://b/simple",
        "UV_INSECURE_HOST": "a b",
        "SSL_CERT_FILE": "/ca.pem",
        "UV_INDEX_STRATEGY": "unsafe-best-match",
    }
    assert from_pip_settings({}) == {}


def test_uvs_own_variable_stands_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PIP_FIND_LINKS", "/a")
    monkeypatch.setenv("UV_INDEX_URL", "https://own/simple")
    assert "UV_FIND_LINKS" not in uv_variables()


@pytest.mark.parametrize(
    ("name", "text", "own"),
    [
        ("config/uv/uv.toml", '[[index]]\nurl = "https://x"\n', True),
        ("config/uv/uv.toml", "offline = true\n", False),
        ("uv.toml", 'find-links = ["x"]\n', True),
        ("pyproject.toml", '[tool.uv]\nindex-url = "https://x"\n', True),
        ("pyproject.toml", '[[tool.uv.index]]\nurl = "https://x"\n', True),
        ("pyproject.toml", '[tool.other]\nindex-url = "https://x"\n', False),
    ],
)
def test_uvs_own_files(name: str, text: str, own: bool, tmp_path: Path) -> None:
    file = tmp_path / name
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(text)
    assert has_own_index_settings({"XDG_CONFIG_HOME": str(tmp_path / "config")}) is own
