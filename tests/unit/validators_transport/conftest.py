from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from support.bundle_run import example_bundle

if TYPE_CHECKING:
    from pathlib import Path

    from clusterctl.adapters.validators.bundle import Bundle


@pytest.fixture(scope="session")
def state_dir(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("state")


@pytest.fixture(scope="session")
def bundle(state_dir: Path) -> Bundle:
    return example_bundle(state_dir)


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A home without keys or known_hosts, and no agent."""
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.delenv("SSH_AUTH_SOCK", raising=False)
