"""A real Chromium, driven over its DevTools protocol: opens pages, runs script in them, listens to what they do."""

from __future__ import annotations

import base64
import contextlib
import itertools
import json
import os
import shutil
import subprocess
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

BROWSERS = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
# Generous: two cores are shared with other tests, and only a browser that hangs should fail.
PATIENCE_SECONDS = 60


def browser_program() -> str:
    for name in BROWSERS:
        found = shutil.which(name)
        if found:
            return found
    pytest.skip("no Chromium")


class Tab:
    """One page. `problems` are console errors, exceptions and broken policies; `requests` are addresses asked for."""

    def __init__(self, address: str) -> None:
        import websocket

        self._socket = websocket.create_connection(address, timeout=PATIENCE_SECONDS, suppress_origin=True)
        self._numbers = itertools.count(1)
        self.problems: list[str] = []
        self.requests: list[str] = []
        for domain in ("Page", "Runtime", "Network", "Log"):
            self.call(f"{domain}.enable")

    def call(self, method: str, **parameters: Any) -> dict[str, Any]:
        number = next(self._numbers)
        self._socket.send(json.dumps({"id": number, "method": method, "params": parameters}))
        while True:
            message = json.loads(self._socket.recv())
            if message.get("id") == number:
                assert "error" not in message, f"{method}: {message.get('error')}"
                return message["result"]
            self._note(message)

    def _note(self, message: dict[str, Any]) -> None:
        method, about = message.get("method"), message.get("params", {})
        if method == "Network.requestWillBeSent":
            self.requests.append(about["request"]["url"])
        elif method == "Runtime.exceptionThrown":
            self.problems.append(json.dumps(about["exceptionDetails"]))
        elif method == "Runtime.consoleAPICalled" and about["type"] in ("error", "warning", "assert"):
            self.problems.append(json.dumps(about["args"]))
        elif method == "Log.entryAdded" and about["entry"]["level"] in ("error", "warning"):
            self.problems.append(about["entry"]["text"])

    def look(self, width: int = 1180, height: int = 900, dark: bool = False, phone: bool = False) -> None:
        scale = 2 if phone else 1
        self.call(
            "Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=scale, mobile=phone
        )
        scheme = {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}
        self.call("Emulation.setEmulatedMedia", features=[scheme])

    def open(self, path: Path, fragment: str = "") -> None:
        # The blank page first: a change of the fragment alone would not load the page anew.
        self.call("Page.navigate", url="about:blank")
        self.call("Page.navigate", url=path.resolve().as_uri() + fragment)
        self.wait_for("document.readyState === 'complete' && document.documentElement.dataset.ready !== undefined")

    def wait_for(self, expression: str) -> None:
        until = time.monotonic() + PATIENCE_SECONDS
        while not self.run(expression):
            assert time.monotonic() < until, f"never came true: {expression}; problems: {self.problems}"
            time.sleep(0.05)

    def run(self, expression: str) -> Any:
        """The value of a JavaScript expression; a promise is waited for."""
        answer = self.call("Runtime.evaluate", expression=expression, awaitPromise=True, returnByValue=True)
        assert "exceptionDetails" not in answer, answer["exceptionDetails"]
        return answer["result"].get("value")

    def press(self, key: str, code: str | None = None, text: str | None = None) -> None:
        named = {"key": key, "code": code or key, **({"text": text} if text else {})}
        codes = {"Enter": 13, "ArrowDown": 40, "ArrowUp": 38, "Tab": 9, "Escape": 27}
        self.call("Input.dispatchKeyEvent", type="keyDown", windowsVirtualKeyCode=codes.get(key, 0), **named)
        self.call("Input.dispatchKeyEvent", type="keyUp", windowsVirtualKeyCode=codes.get(key, 0), **named)

    def settle(self) -> None:
        """Two frames: what was asked for is drawn."""
        self.run("new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done)))")

    def picture(self, path: Path, whole: bool = False, **clip: float) -> Path:
        self.settle()
        more: dict[str, Any] = {"captureBeyondViewport": whole}
        if clip:
            more["clip"] = {"scale": 1, **clip}
        answer = self.call("Page.captureScreenshot", format="png", **more)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(base64.b64decode(answer["data"]))
        return path

    def close(self) -> None:
        self._socket.close()


@contextlib.contextmanager
def chromium() -> Iterator[Tab]:
    """A browser of its own with an empty profile, ended at the end."""
    import urllib.request

    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as profile:
        command = [browser_program(), "--headless=new", "--no-sandbox", "--disable-gpu", "--no-first-run"]
        command += ["--disable-background-networking", "--hide-scrollbars", "--remote-debugging-port=0"]
        command += [f"--user-data-dir={profile}", "about:blank"]
        # Its own temporary folders, too, are to lie where they are taken away again.
        environment = {**os.environ, "TMPDIR": profile}
        process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, env=environment)
        try:
            port_file = Path(profile) / "DevToolsActivePort"
            until = time.monotonic() + PATIENCE_SECONDS
            while not (port_file.exists() and port_file.read_text().count("\n")):
                assert process.poll() is None, "Chromium ended by itself"
                assert time.monotonic() < until, "Chromium did not start"
                time.sleep(0.05)
            port = port_file.read_text().split("\n")[0]
            with urllib.request.urlopen(f"http://127.0.0.1:{port}/json/list", timeout=PATIENCE_SECONDS) as answer:
                pages = [each for each in json.load(answer) if each["type"] == "page"]
            tab = Tab(pages[0]["webSocketDebuggerUrl"])
            yield tab
            tab.close()
        finally:
            process.terminate()
            process.wait(PATIENCE_SECONDS)
