"""What tests of the inventory share: it is read by a worker that is forked from a process with Ansible imported."""

from __future__ import annotations

import subprocess
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from clusterctl.adapters.inventory import worker
from support.forked_python import forked_python

ENTRY = "clusterctl.adapters.inventory.ansible_worker.__main__:main"


@pytest.fixture(autouse=True)
def inventory_workers(monkeypatch: pytest.MonkeyPatch) -> None:
    """Files of tests that are about the worker as a process replace this fixture."""

    def run(argv: list[str], *, env: dict[str, str], timeout: float, input: str, **_: Any) -> subprocess.CompletedProcess[str]:  # noqa: A002 subprocess.run's own
        server = forked_python(ENTRY, env)
        return server.run(argv, str(server.process.pid), environment=env, folder=Path.cwd(), limit_s=timeout, given=input)

    monkeypatch.setattr(worker, "subprocess", SimpleNamespace(run=run, TimeoutExpired=subprocess.TimeoutExpired))
