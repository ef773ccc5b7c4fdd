"""Chromium without a driver: the DevTools protocol over a pipe, with nothing but the standard library.

https://chromedevtools.github.io/devtools-protocol; --remote-debugging-pipe: JSON messages that end in a zero byte, read
from file descriptor 3, written to 4.
"""

from __future__ import annotations

import base64
import contextlib
import fcntl
import json
import os
import select
import shutil
import subprocess
import tempfile
import time
from typing import Any

CHROMIUM = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
FLAGS = (
    "--headless", "--no-sandbox", "--disable-gpu", "--disable-background-networking", "--no-first-run",
    "--disable-component-update", "--hide-scrollbars", "--remote-debugging-pipe",
)  # fmt: skip
PATIENCE = 60  # seconds for an answer of the browser
KEYS = {"Enter": 13, "Delete": 46, "Escape": 27, "ArrowLeft": 37, "ArrowUp": 38, "ArrowRight": 39, "ArrowDown": 40}


class Browser:
    """A Chromium with a profile of its own; `open` gives pages."""

    def __init__(self) -> None:
        self.profile = tempfile.mkdtemp(prefix="chromium-")
        self.out, write_there = os.pipe()
        read_there, self.into = os.pipe()
        # Copies with high numbers, so that neither is 3 or 4 itself.
        ends = [fcntl.fcntl(end, fcntl.F_DUPFD, 10) for end in (read_there, write_there)]

        def at_3_and_4() -> None:
            os.dup2(ends[0], 3)
            os.dup2(ends[1], 4)

        call = [str(CHROMIUM), *FLAGS, f"--user-data-dir={self.profile}", "about:blank"]
        quiet: dict[str, Any] = {
            "stdout": subprocess.DEVNULL,
            "stderr": subprocess.DEVNULL,
            "stdin": subprocess.DEVNULL,
        }
        self.process = subprocess.Popen(call, pass_fds=(3, 4), preexec_fn=at_3_and_4, **quiet)
        for end in (read_there, write_there, *ends):
            os.close(end)
        self.pending = b""
        self.number = 0
        self.events: list[dict[str, Any]] = []

    def call(self, method: str, session: str | None = None, **parameters: Any) -> dict[str, Any]:
        """Call a method and return its result; events that come before are kept."""
        self.number += 1
        message = {"id": self.number, "method": method, "params": parameters}
        if session is not None:
            message["sessionId"] = session
        os.write(self.into, json.dumps(message).encode() + b"\0")
        until = time.monotonic() + PATIENCE
        while True:
            found = self.receive(until - time.monotonic())
            if found is None:
                raise TimeoutError(f"Chromium does not answer {method}.")
            if found.get("id") == self.number:
                if "error" in found:
                    raise RuntimeError(f"{method}: {found['error']}")
                return found["result"]
            self.events.append(found)

    def receive(self, seconds: float) -> dict[str, Any] | None:
        """Return the next message, or None after some seconds without one."""
        while b"\0" not in self.pending:
            if not select.select([self.out], [], [], max(0.0, seconds))[0]:
                return None
            part = os.read(self.out, 1 << 20)
            if not part:
                raise EOFError("Chromium has ended.")
            self.pending += part
        message, self.pending = self.pending.split(b"\0", 1)
        return json.loads(message)

    def open(self, address: str, width: int = 1280, height: int = 900, **how: Any) -> Page:
        """Open a page and wait until it is loaded."""
        target = self.call("Target.createTarget", url="about:blank")["targetId"]
        session = self.call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        page = Page(self, session, target)
        for domain in ("Page", "Runtime", "Log", "Network"):
            page.call(f"{domain}.enable")
        page.resize(width, height, **how)
        page.go(address)
        return page

    def close(self) -> None:
        """End the browser."""
        with contextlib.suppress(OSError, EOFError, TimeoutError):
            self.call("Browser.close")
        try:
            self.process.wait(10)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
        os.close(self.into)
        os.close(self.out)
        shutil.rmtree(self.profile, ignore_errors=True)


class Page:
    """One page: run JavaScript in it, press keys and buttons, look at it."""

    def __init__(self, browser: Browser, session: str, target: str) -> None:
        self.browser, self.session, self.target = browser, session, target

    def call(self, method: str, **parameters: Any) -> dict[str, Any]:
        return self.browser.call(method, self.session, **parameters)

    def go(self, address: str) -> None:
        """Load an address."""
        self.call("Page.navigate", url=address)
        self.wait("document.readyState === 'complete'")

    def resize(self, width: int, height: int, dark: bool = False, phone: bool = False) -> None:
        self.call("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=phone)
        scheme = {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}
        self.call("Emulation.setEmulatedMedia", features=[scheme])

    def run(self, script: str) -> Any:
        """Return the value of an expression, awaited if it is a promise."""
        found = self.call("Runtime.evaluate", expression=script, awaitPromise=True, returnByValue=True)
        if "exceptionDetails" in found:
            about = found["exceptionDetails"]
            raise RuntimeError(about.get("exception", {}).get("description", about["text"]))
        return found["result"].get("value")

    def wait(self, condition: str, seconds: float = 20.0) -> None:
        """Wait until an expression is true."""
        until = time.monotonic() + seconds
        while not self.run(condition):
            if time.monotonic() > until:
                raise TimeoutError(f"not true after {seconds} s: {condition}")
            time.sleep(0.02)

    def settle(self) -> None:
        """Wait until the toy has drawn what it was asked to draw, and its fit is finished."""
        self.wait("(t => t && !t.waiting && !t.dirty && (!t.fit || t.fit.done))(document.querySelector('#wm-toy').toy)")

    def mouse(self, kind: str, x: float, y: float, buttons: int = 0) -> None:
        button = "left" if buttons or kind == "mouseReleased" else "none"
        self.call("Input.dispatchMouseEvent", type=kind, x=x, y=y, button=button, buttons=buttons, clickCount=1)

    def click(self, x: float, y: float) -> None:
        self.mouse("mousePressed", x, y, 1)
        self.mouse("mouseReleased", x, y)

    def drag(self, *places: tuple[float, float]) -> None:
        self.mouse("mousePressed", *places[0], 1)
        for place in places[1:]:
            self.mouse("mouseMoved", *place, 1)
        self.mouse("mouseReleased", *places[-1])

    def press(self, key: str) -> None:
        """Press a key that the element with the focus hears."""
        code = KEYS.get(key, ord(key.upper()) if len(key) == 1 else 0)
        for kind in ("rawKeyDown", "keyUp"):
            self.call("Input.dispatchKeyEvent", type=kind, key=key, windowsVirtualKeyCode=code)

    def picture(self, path: Any, whole: bool = False) -> None:
        """Write what is seen (or the whole page) into a PNG."""
        data = self.call("Page.captureScreenshot", format="png", captureBeyondViewport=whole)["data"]
        with open(path, "wb") as file:
            file.write(base64.b64decode(data))

    def heard(self, *methods: str) -> list[dict[str, Any]]:
        """Return the events of these methods so far."""
        self.run("0")
        own = [event for event in self.browser.events if event.get("sessionId") == self.session]
        return [event["params"] for event in own if event["method"] in methods]

    @property
    def errors(self) -> list[str]:
        """What the console complained about: exceptions, errors and warnings."""
        found = [str(e["exceptionDetails"]) for e in self.heard("Runtime.exceptionThrown")]
        found += [str(e["args"]) for e in self.heard("Runtime.consoleAPICalled") if e["type"] in ("error", "warning")]
        return found + [
            e["entry"]["text"] for e in self.heard("Log.entryAdded") if e["entry"]["level"] in ("error", "warning")
        ]

    @property
    def requests(self) -> list[str]:
        """The addresses the page asked for, without those that never leave it."""
        asked = [event["request"]["url"] for event in self.heard("Network.requestWillBeSent")]
        return [address for address in asked if not address.startswith(("data:", "blob:"))]

    def close(self) -> None:
        self.browser.call("Target.closeTarget", targetId=self.target)
