"""Builds the documentation as a site."""

from __future__ import annotations

import subprocess
import sys
from typing import TYPE_CHECKING

from support.roles import ROOT

if TYPE_CHECKING:
    from pathlib import Path


def build_site(site: Path, pages: Path = ROOT / "docs") -> subprocess.CompletedProcess[str]:
    """As `make docs`; `pages` have a conf.py, and `site` is made."""
    words = [sys.executable, "-m", "sphinx", "-q", "-W", "--keep-going", "-d", str(site.with_name("doctrees")), str(pages), str(site)]
    return subprocess.run(words, capture_output=True, text=True, check=False)
