"""A real browser, driven over its DevTools protocol on a pair of pipes: no port, no other library.

https://chromedevtools.github.io/devtools-protocol/ ; messages are JSON, each ended by a NUL.
"""

from __future__ import annotations

import base64
import json
import os
import shutil
import signal
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from select import select
from typing import Any

NAMES = ("chromium", "chromium-browser", "google-chrome")
_QUIET = (
    "--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run",
    "--disable-dev-shm-usage", "--disable-background-networking", "--disable-component-update",
    "--disable-sync", "--disable-extensions",
    "--disable-features=Translate,OptimizationHints,MediaRouter", "--host-resolver-rules=MAP * ~NOTFOUND",
    "--remote-debugging-pipe",
)  # fmt: skip
_ANSWERS_WITHIN_S = 60
_LAST_OF_THE_BROWSER = 4  # it reads from 3 and writes to 4


def find_chromium() -> str | None:
    """Find a Chromium on the PATH of the tester."""
    return next((path for name in NAMES if (path := shutil.which(name))), None)


@dataclass
class Page:
    """One page of the browser, with all that it complained of and asked for."""

    _browser: Browser
    _session: str
    complaints: list[str] = field(default_factory=list)
    requests: list[str] = field(default_factory=list)

    def call(self, method: str, **parameters: Any) -> dict[str, Any]:
        """Call a method of the protocol and return its result."""
        return self._browser.call(method, parameters, self._session)

    def open(self, address: str) -> None:
        """Open an address, and wait until its scripts have run."""
        self.call("Page.navigate", url="about:blank")
        self.complaints.clear()
        self.requests.clear()
        facts = self.call("Page.navigate", url=address)
        assert "errorText" not in facts, facts
        loaded = "document.readyState === 'complete' ? done() : addEventListener('load', done)"
        self.evaluate(f"new Promise((done) => {loaded})")

    def close(self) -> None:
        """Close the page."""
        self.call("Page.close")

    def evaluate(self, expression: str) -> Any:
        """Evaluate JavaScript in the page, a promise to its end; an exception in it fails the test."""
        facts = self.call("Runtime.evaluate", expression=expression, awaitPromise=True, returnByValue=True)
        assert "exceptionDetails" not in facts, facts["exceptionDetails"]
        return facts["result"].get("value")

    def type(self, text: str) -> None:
        """Type text into what has the focus."""
        self.call("Input.insertText", text=text)

    def press(self, key: str, code: int, text: str = "") -> None:
        """Press and release a key."""
        for kind in ("keyDown", "keyUp"):
            words = {"text": text} if kind == "keyDown" and text else {}
            self.call("Input.dispatchKeyEvent", type=kind, key=key, windowsVirtualKeyCode=code, **words)

    def resize(self, width: int, height: int, *, mobile: bool = False) -> None:
        """Give the window another size."""
        self.call(
            "Emulation.setDeviceMetricsOverride",
            width=width,
            height=height,
            deviceScaleFactor=1,
            mobile=mobile,
        )

    def media(self, kind: str = "", scheme: str = "light") -> None:
        """Show the page as on a `screen` or in `print`, in a `light` or `dark` scheme."""
        features = [{"name": "prefers-color-scheme", "value": scheme}]
        self.call("Emulation.setEmulatedMedia", media=kind, features=features)

    def picture(self) -> bytes:
        """Return what the window shows, as PNG."""
        return base64.b64decode(self.call("Page.captureScreenshot")["data"])

    def heed(self, method: str, parameters: dict[str, Any]) -> None:
        """Take note of an event."""
        match method:
            case "Runtime.exceptionThrown":
                self.complaints.append(str(parameters["exceptionDetails"]))
            case "Runtime.consoleAPICalled":
                self.complaints.append(str(parameters["args"]))
            case "Log.entryAdded":
                self.complaints.append(str(parameters["entry"]))
            case "Network.requestWillBeSent":
                self.requests.append(parameters["request"]["url"])


@dataclass
class Browser:
    """The browser behind its pipes."""

    _reading: int
    _writing: int
    _pages: dict[str, Page] = field(default_factory=dict)
    _unread: bytes = b""
    _last: int = 0

    def page(self) -> Page:
        """Open a page and listen to all it does."""
        target = self.call("Target.createTarget", {"url": "about:blank"})["targetId"]
        session = self.call("Target.attachToTarget", {"targetId": target, "flatten": True})["sessionId"]
        page = Page(self, session)
        self._pages[session] = page
        for domain in ("Page", "Runtime", "Log", "Network"):
            page.call(f"{domain}.enable")
        return page

    def call(self, method: str, parameters: dict[str, Any], session: str | None = None) -> dict[str, Any]:
        self._last += 1
        message = {"id": self._last, "method": method, "params": parameters}
        if session:
            message["sessionId"] = session
        self._send(json.dumps(message).encode() + b"\0")
        while True:
            facts = self._receive()
            if facts.get("id") == self._last:
                assert "error" not in facts, (method, facts["error"])
                return dict(facts["result"])
            if "method" in facts and (page := self._pages.get(facts.get("sessionId", ""))):
                page.heed(facts["method"], facts["params"])

    def _send(self, data: bytes) -> None:
        while data:
            data = data[os.write(self._writing, data) :]

    def _receive(self) -> dict[str, Any]:
        until = time.monotonic() + _ANSWERS_WITHIN_S
        while b"\0" not in self._unread:
            ready, _, _ = select([self._reading], [], [], max(0.0, until - time.monotonic()))
            chunk = os.read(self._reading, 1 << 16) if ready else b""
            if not chunk:
                raise TimeoutError("the browser does not answer")
            self._unread += chunk
        message, _, self._unread = self._unread.partition(b"\0")
        return dict(json.loads(message))


@contextmanager
def start_chromium(program: str, profile: Path) -> Iterator[Browser]:
    """Start a browser with a profile of its own; it and all it has started are gone at the end."""
    its_in, our_out = _pipe()
    our_in, its_out = _pipe()
    quiet = (os.POSIX_SPAWN_OPEN, 2, os.devnull, os.O_WRONLY, 0)
    pid = os.posix_spawn(
        program,
        [program, *_QUIET, f"--user-data-dir={profile}", "about:blank"],
        {**os.environ, "HOME": str(profile)},
        file_actions=[quiet, (os.POSIX_SPAWN_DUP2, its_in, 3), (os.POSIX_SPAWN_DUP2, its_out, 4)],
        setpgroup=0,
    )
    os.close(its_in)
    os.close(its_out)
    try:
        yield Browser(our_in, our_out)
    finally:
        with suppress(ProcessLookupError):
            os.killpg(pid, signal.SIGKILL)
        os.waitpid(pid, 0)
        os.close(our_in)
        os.close(our_out)


def _pipe() -> tuple[int, int]:
    """Return a pipe whose ends are neither 3 nor 4: what becomes those is a duplicate, which is inherited."""
    ends = os.pipe()
    if min(ends) > _LAST_OF_THE_BROWSER:
        return ends
    try:
        return _pipe()
    finally:
        for end in ends:
            os.close(end)
