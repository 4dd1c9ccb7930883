from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from clusterctl.model.errors import LabError
from clusterctl_lab.apt_sources import host_sources

if TYPE_CHECKING:
    from pathlib import Path

DEB822 = """Types: deb
# a comment
URIs: http://mirror.example/debian
Suites: bookworm bookworm-updates
Components: main
Signed-By: /usr/share/keyrings/debian-archive-keyring.gpg

Types: deb
URIs: https://vendor.example/node
Suites: nodistro
Components: main
"""


def etc(root: Path, codename: str, **files: str) -> Path:
    (root / "os-release").write_text(f'ID=x\nVERSION_CODENAME="{codename}"\n')
    (root / "apt" / "sources.list.d").mkdir(parents=True)
    for name, text in files.items():
        (root / "apt" / name).write_text(text)
    return root


def test_the_hosts_archive_is_used_without_third_party_archives(tmp_path: Path) -> None:
    found = host_sources(etc(tmp_path, "bookworm", **{"sources.list.d/debian.sources": DEB822}))
    assert found.suite == "bookworm"
    assert "mirror.example" in found.text
    assert "Signed-By: /usr/share/keyrings" in found.text
    assert "vendor.example" not in found.text


def test_one_line_entries_are_parsed(tmp_path: Path) -> None:
    lines = (
        "# deb http://old.example/ubuntu noble main\n"
        "deb [arch=amd64 signed-by=/k.gpg] http://ports.example/ubuntu noble main universe\n"
        "deb http://ports.example/ubuntu noble-security main\n"
        "deb-src http://ports.example/ubuntu noble main\n"
        "deb https://ppa.example/x noble extras\n"
    )
    text = host_sources(etc(tmp_path, "noble", **{"sources.list": lines})).text
    assert text.count("URIs: http://ports.example/ubuntu") == 2
    assert "Components: main universe" in text
    assert "Signed-By: /k.gpg" in text
    assert "ppa.example" not in text
    assert "old.example" not in text


def test_a_host_without_an_archive_is_refused(tmp_path: Path) -> None:
    with pytest.raises(LabError, match="no archive for bookworm") as caught:
        host_sources(etc(tmp_path, "bookworm", **{"sources.list": "deb https://vendor.example/x nodistro main\n"}))
    assert "sources.list.d" in caught.value.hint


def test_a_host_that_is_not_debian_is_refused(tmp_path: Path) -> None:
    with pytest.raises(LabError, match="this system"):
        host_sources(tmp_path)
