"""A headless Chromium of this machine, or the one that `scripts/test_tools.sh` unpacked, driven by Playwright."""

from __future__ import annotations

import os
from contextlib import contextmanager
from typing import TYPE_CHECKING

from playwright.sync_api import sync_playwright

from support.roles import ROOT
from support.unpacked_tools import environment, which

if TYPE_CHECKING:
    from collections.abc import Iterator

    from playwright.sync_api import Browser

MISSING = "no chromium here (scripts/test_tools.sh): pages are not drawn"
# Debian's PulseAudio keeps a library of its own in a folder below those of the others.
_PULSE = "build/tools/root/usr/lib/*-linux-gnu/pulseaudio"


def program() -> str | None:
    """The path of Chromium; None where there is none."""
    return which("chromium-headless-shell") or which("chromium")


@contextmanager
def browser() -> Iterator[Browser]:
    """A browser that draws in software; the sandbox is off, which root and containers cannot use: it opens files of ours only."""
    own: dict[str, str | float | bool] = {k: v for k, v in environment().items() if k != "LD_LIBRARY_PATH"}
    libraries = [environment().get("LD_LIBRARY_PATH", ""), *map(str, ROOT.glob(_PULSE))]
    if any(libraries):
        own["LD_LIBRARY_PATH"] = os.pathsep.join(filter(None, libraries))
    with sync_playwright() as driver:
        started = driver.chromium.launch(executable_path=program(), env=own, args=["--no-sandbox", "--disable-gpu"])
        try:
            yield started
        finally:
            started.close()
