from __future__ import annotations

import os
from typing import TYPE_CHECKING

import pytest

from clusterctl.model.errors import LabError
from clusterctl_lab import host_requirements

if TYPE_CHECKING:
    from pathlib import Path


def programs(folder: Path, *names: str) -> str:
    for name in names:
        file = folder / name
        file.write_text("#!/bin/sh\n")
        file.chmod(0o755)
    return str(folder)


def test_all_packages_are_missing_on_an_empty_host(tmp_path: Path) -> None:
    missing = host_requirements.missing_packages(str(tmp_path), (str(tmp_path),))
    assert missing == ["podman", "runc", "mmdebstrap", "iptables", "dpkg", "openssh-client", "netavark"]


def test_only_missing_packages_are_listed(tmp_path: Path) -> None:
    path = programs(tmp_path, "podman", "runc", "mmdebstrap", "dpkg-deb", "ssh-keygen", "netavark")
    assert host_requirements.missing_packages(path, (path,)) == ["iptables"]


def test_the_hint_is_the_command_that_installs_them(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(host_requirements, "missing_packages", lambda: ["podman", "iptables"])
    with pytest.raises(LabError) as caught:
        host_requirements.check_host()
    assert caught.value.hint == "apt-get install --no-install-recommends podman iptables"
    assert os.linesep not in str(caught.value)
