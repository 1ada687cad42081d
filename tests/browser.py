"""A Chromium that tests can talk to: open a page, run a script in it, look at it, print it."""

from __future__ import annotations

import base64
import json
import os
import select
import shutil
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

CHROMIUM = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
#: The browser reads what is asked at number 3 and answers at 4; both may be taken at first.
HAND_OVER = """
import fcntl, os, sys
there = [fcntl.fcntl(int(number), fcntl.F_DUPFD, 10) for number in sys.argv[1:3]]
for own, number in zip(there, (3, 4)):
    os.dup2(own, number)
    os.close(own)
os.execv(sys.argv[3], sys.argv[3:])
"""


class Browser:
    """One headless Chromium with one page, spoken to through a pipe (DevTools protocol)."""

    def __init__(self, profile: Path, *, patience: float = 90.0) -> None:
        self.console: list[str] = []
        self._profile = str(profile).encode()
        self._patience, self._last, self._rest = patience, 0, b""
        theirs_in, self._to = os.pipe()
        self._from, theirs_out = os.pipe()
        self._process = subprocess.Popen(
            [
                sys.executable,
                "-ISc",
                HAND_OVER,
                str(theirs_in),
                str(theirs_out),
                CHROMIUM,
                "--headless=new",
                "--no-sandbox",
                "--disable-gpu",
                "--hide-scrollbars",
                "--no-first-run",
                "--disable-background-networking",
                "--disable-component-update",
                "--disable-sync",
                "--remote-debugging-pipe",
                f"--user-data-dir={profile}",
            ],
            pass_fds=(theirs_in, theirs_out),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        os.close(theirs_in)
        os.close(theirs_out)
        target = self._call("Target.createTarget", {"url": "about:blank"})["targetId"]
        attached = self._call("Target.attachToTarget", {"targetId": target, "flatten": True})
        self._session = attached["sessionId"]
        for domain in ("Page", "Runtime", "Log"):
            self.call(f"{domain}.enable")

    def __enter__(self) -> Browser:
        return self

    def __exit__(self, *error: object) -> None:
        self._process.terminate()
        self._process.wait(30)
        os.close(self._to)
        os.close(self._from)

    def open(
        self,
        page: Path,
        *,
        width: int = 1400,
        height: int = 1000,
        dark: bool = False,
        fragment: str = "",
        admit_all: bool = False,
    ) -> None:
        """Load a file; `admit_all` lets tests run scripts that its policy does not admit."""
        size = {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": width < 600}
        self.call("Emulation.setDeviceMetricsOverride", size)
        scheme = [{"name": "prefers-color-scheme", "value": "dark" if dark else "light"}]
        self.call("Emulation.setEmulatedMedia", {"features": scheme})
        self.call("Page.setBypassCSP", {"enabled": admit_all})
        self.console.clear()
        self.call("Page.navigate", {"url": "about:blank"})
        self.call("Page.navigate", {"url": page.resolve().as_uri() + fragment})
        self.run(
            "new Promise((done) => document.readyState === 'complete' ? done() : "
            "addEventListener('load', () => done()))"
        )

    def run(self, script: str) -> Any:
        """The value of an expression in the page, waited for if it is a promise."""
        found = self.call(
            "Runtime.evaluate",
            {"expression": script, "awaitPromise": True, "returnByValue": True},
        )
        if "exceptionDetails" in found:
            raise AssertionError(found["exceptionDetails"])
        return found["result"].get("value")

    def shot(self, file: Path, *, whole: bool = True) -> None:
        """A picture of the page."""
        found = self.call(
            "Page.captureScreenshot",
            {"captureBeyondViewport": whole}
            | (
                {
                    "clip": {
                        "x": 0,
                        "y": 0,
                        "scale": 1,
                        **self.run("({width: innerWidth, height: document.documentElement.scrollHeight})"),
                    }
                }
                if whole
                else {}
            ),
        )
        file.write_bytes(base64.b64decode(found["data"]))

    def pdf(self, file: Path) -> None:
        """The page on A4 paper."""
        self.call("Emulation.setEmulatedMedia", {"features": []})
        found = self.call(
            "Page.printToPDF", {"preferCSSPageSize": True, "paperWidth": 8.27, "paperHeight": 11.69}
        )
        file.write_bytes(base64.b64decode(found["data"]))

    def press(self, key: str, code: int) -> None:
        """A key, by its name and its number."""
        named = {"key": key, "code": key, "windowsVirtualKeyCode": code}
        for kind in ("keyDown", "keyUp"):
            self.call("Input.dispatchKeyEvent", {"type": kind, **named})

    def seconds(self) -> float:
        """Processor time that the main thread of the page has had; what others do counts not."""
        found = 0
        for folder in Path("/proc").glob("[0-9]*"):
            try:
                command = (folder / "cmdline").read_bytes()
                if b"--type=renderer" in command and self._profile in command:
                    found += int((folder / "schedstat").read_text().split()[0])
            except OSError:
                continue  # gone meanwhile
        return found * 1e-9

    def call(self, method: str, params: dict[str, Any] | None = None) -> dict[str, Any]:
        """Any command of the page's own."""
        return self._call(method, params or {}, self._session)

    def _call(self, method: str, params: dict[str, Any], session: str = "") -> dict[str, Any]:
        self._last += 1
        asked: dict[str, Any] = {"id": self._last, "method": method, "params": params}
        if session:
            asked["sessionId"] = session
        text = json.dumps(asked).encode() + b"\0"
        while text:
            text = text[os.write(self._to, text) :]
        ends = time.monotonic() + self._patience
        while True:
            said = self._message(ends)
            if said.get("id") == self._last:
                assert "error" not in said, said
                found: dict[str, Any] = said["result"]
                return found
            if said.get("method") == "Runtime.exceptionThrown":
                self.console.append(str(said["params"]["exceptionDetails"]))
            elif said.get("method") == "Log.entryAdded":
                self.console.append(str(said["params"]["entry"]["text"]))

    def _message(self, ends: float) -> dict[str, Any]:
        while b"\0" not in self._rest:
            ready, _, _ = select.select([self._from], [], [], max(0.0, ends - time.monotonic()))
            if not ready:
                raise TimeoutError(f"no answer of the browser within {self._patience:.0f} s")
            more = os.read(self._from, 1 << 20)
            if not more:
                raise ConnectionError("the browser has gone")
            self._rest += more
        text, _, self._rest = self._rest.partition(b"\0")
        found: dict[str, Any] = json.loads(text)
        return found
