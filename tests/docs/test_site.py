"""The documentation site builds offline with strict links, needs nothing from elsewhere; search works from disk.

Nightly: a build takes a quarter of a minute.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.nightly

ROOT = Path(__file__).parents[2]
# What a browser fetches by itself; links that a reader clicks may lead anywhere.
FETCHED = re.compile(r"<(?:script|img|link|iframe)\b[^>]*?(?:src|href)=\"?(https?:)?//")


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    pytest.importorskip("mkdocs", reason="pip install photometer[docs]")
    folder = tmp_path_factory.mktemp("site")
    done = subprocess.run(
        [sys.executable, "-m", "mkdocs", "build", "--strict", "--site-dir", str(folder)],
        cwd=ROOT,
        # No proxy leads out: a build that wants something from elsewhere fails.
        env={**os.environ, "https_proxy": "http://127.0.0.1:9", "http_proxy": "http://127.0.0.1:9"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-4000:]
    return folder


def test_pages_fetch_nothing_from_elsewhere(site: Path) -> None:
    pages = list(site.rglob("*.html"))
    assert len(pages) > 30
    for page in pages:
        found = FETCHED.search(page.read_text())
        assert found is None, f"{page.name}: {found and found[0]}"
    for sheet in site.rglob("*.css"):
        assert not re.search(r"(@import|url\()\s*[\"']?https?:", sheet.read_text()), sheet


def test_the_navigation_names_each_page_once() -> None:
    pages = re.findall(r"^ +- .+: (\S+\.md)$", (ROOT / "mkdocs.yml").read_text(), re.MULTILINE)
    assert sorted(pages) == sorted(set(pages))


def test_every_command_and_public_name_is_there(site: Path) -> None:
    import photometer

    commands = (site / "reference" / "commands.html").read_text()
    for command in ("photometer time", "photometer compare", "photometer history changes"):
        assert f">{command}" in commands
    api = (site / "reference" / "api.html").read_text()
    missing = [name for name in photometer._HOME if f'.{name}"' not in api and f'id="{name.lower()}"' not in api]
    assert not missing


@pytest.mark.browser
def test_search_works_from_disk(site: Path) -> None:
    from tests.report.browser.tab import PATIENCE_MILLISECONDS, chromium

    with chromium() as browser:
        page = browser.new_page()
        page.set_default_timeout(PATIENCE_MILLISECONDS)
        outside: list[str] = []
        page.on("request", lambda request: outside.append(request.url) if request.url.startswith("http") else None)
        page.goto((site / "index.html").as_uri())
        page.click("input.md-search__input")
        # The page listens to keys, not to the value.
        page.keyboard.type("affinity", delay=20)
        page.wait_for_selector(".md-search-result__link")
        links = page.eval_on_selector_all(".md-search-result__link", "all => all.map(each => each.href)")
        assert any("platforms" in link for link in links), links
        assert not outside
