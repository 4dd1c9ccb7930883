"""A hundred checks of the kinds that the validators have, as testinfra is commonly written; all hold on any node."""

from __future__ import annotations

from typing import Any

import pytest


@pytest.mark.parametrize("number", range(40))
def test_kernel_setting(host: Any, number: int) -> None:
    assert host.file("/proc/sys/kernel/ostype").content_string.strip() == "Linux", number


@pytest.mark.parametrize("number", range(30))
def test_file(host: Any, number: int) -> None:
    assert host.file("/etc/passwd").user == "root", number


@pytest.mark.parametrize("number", range(20))
def test_package(host: Any, number: int) -> None:
    assert host.package("openssh-server").is_installed, number


@pytest.mark.parametrize("number", range(10))
def test_service(host: Any, number: int) -> None:
    assert host.service("ssh").is_running, number
