"""A headless Chromium that tests drive through its debugging pipe; nothing has to be installed.

Messages are JSON texts that end with a zero byte. The browser reads them from file descriptor 3 and
answers on file descriptor 4.
"""

from __future__ import annotations

import json
import os
import select
import shutil
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome")
# Seconds that an answer may take.
PATIENCE = 60.0
FLAGS = (
    "--headless", "--no-sandbox", "--disable-gpu", "--disable-background-networking",
    "--disable-component-update", "--disable-sync", "--no-first-run", "--remote-debugging-pipe",
)  # fmt: skip


def program() -> str | None:
    """Return the path of a Chromium; None where there is none."""
    return next(filter(None, map(shutil.which, NAMES)), None)


class Browser:
    """A page in a browser.

    Attributes
    ----------
    events : list of dict
        All messages of the browser that are no answers, in order.
    """

    def __init__(self, target: int, source: int) -> None:
        self.events: list[dict[str, Any]] = []
        self._target, self._source = target, source
        self._rest, self._number, self._session = b"", 0, None
        page = self.call("Target.createTarget", url="about:blank")["targetId"]
        attached = self.call("Target.attachToTarget", targetId=page, flatten=True)
        self._session = attached["sessionId"]
        for domain in ("Page", "Runtime", "Log", "Network"):
            self.call(f"{domain}.enable")

    def call(self, method: str, **given: Any) -> dict[str, Any]:
        """Return the answer of the browser to a command.

        Raises
        ------
        RuntimeError
            When the browser refuses it, or does not answer.
        """
        self._number += 1
        message: dict[str, Any] = {"id": self._number, "method": method, "params": given}
        if self._session:
            message["sessionId"] = self._session
        os.write(self._target, json.dumps(message).encode() + b"\0")
        for answer in self._messages():
            if answer.get("id") == self._number:
                if "error" in answer:
                    raise RuntimeError(f"{method}: {answer['error']}")
                return answer["result"]
            self.events.append(answer)
        raise RuntimeError(f"{method}: no answer within {PATIENCE:g} s")

    def _messages(self) -> Iterator[dict[str, Any]]:
        end = time.monotonic() + PATIENCE
        while time.monotonic() < end:
            while b"\0" in self._rest:
                first, _, self._rest = self._rest.partition(b"\0")
                yield json.loads(first)
            if select.select([self._source], [], [], 1.0)[0]:
                self._rest += os.read(self._source, 1 << 20)

    def open(self, file: Path, width: int = 1400, fragment: str = "") -> None:
        """Show a file in a window of this width; wait until it is loaded."""
        self.call("Emulation.setDeviceMetricsOverride", width=width, height=900,
                  deviceScaleFactor=1, mobile=False)  # fmt: skip
        # Between two fragments of one file nothing would be loaded.
        self.call("Page.navigate", url="about:blank")
        self.call("Page.navigate", url=file.resolve().as_uri() + fragment)
        self.run(
            "new Promise((done) => document.readyState === 'complete' ? done(1)"
            " : addEventListener('load', () => done(1)))"
        )

    def run(self, script: str) -> Any:
        """Return the value of an expression of JavaScript on the page.

        Raises
        ------
        AssertionError
            When the script throws an error.
        """
        answer = self.call(
            "Runtime.evaluate", expression=script, returnByValue=True, awaitPromise=True
        )
        assert "exceptionDetails" not in answer, answer["exceptionDetails"]
        return answer["result"].get("value")

    def complaints(self) -> list[str]:
        """Return what the console and the log of the browser say is wrong."""
        found = []
        for event in self.events:
            given = event.get("params", {})
            if event["method"] == "Runtime.exceptionThrown":
                found.append(json.dumps(given["exceptionDetails"]))
            if event["method"] == "Log.entryAdded" and given["entry"]["level"] == "error":
                found.append(given["entry"]["text"])
            if event["method"] == "Runtime.consoleAPICalled" and given["type"] == "error":
                found.append(json.dumps(given["args"]))
        return found

    def requested(self) -> list[str]:
        """Return the addresses that pages asked for, other than files and what is in the page."""
        asked = [event["params"]["request"]["url"] for event in self.events
                 if event["method"] == "Network.requestWillBeSent"]  # fmt: skip
        return [each for each in asked if not each.startswith(("file:", "data:", "about:"))]


@contextmanager
def browser(folder: Path) -> Iterator[Browser]:
    """Start a browser with an empty profile in `folder`; end it at the end of the block."""
    from_us, to_us = os.pipe(), os.pipe()
    command = [program(), *FLAGS, f"--user-data-dir={folder}"]
    # The shell moves our ends to the numbers that the browser expects.
    moved = f'exec "$@" 3<&{from_us[0]} 4>&{to_us[1]}'
    started = subprocess.Popen(
        ["bash", "-c", moved, "bash", *command],
        pass_fds=(from_us[0], to_us[1]),
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    os.close(from_us[0])
    os.close(to_us[1])
    try:
        yield Browser(from_us[1], to_us[0])
    finally:
        started.terminate()
        started.wait(PATIENCE)
        os.close(from_us[1])
        os.close(to_us[0])
