"""What can go wrong with the commands of Slurm; all else is tested on Slurm itself (tests/integration/test_pool_slurm.py)."""

from __future__ import annotations

import tomllib
from importlib.metadata import EntryPoint
from typing import TYPE_CHECKING

import pytest

from clusterctl.adapters.pools import loader
from clusterctl.adapters.pools.slurm import SlurmPool, SlurmSettings
from clusterctl.adapters.pools.slurm_commands import SlurmCommands
from clusterctl.model.errors import PoolError, PoolUnreachableError
from support.roles import ROOT
from support.stores import fresh

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture
def tools(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / "bin"
    folder.mkdir()
    monkeypatch.setenv("PATH", f"{folder}:/bin")
    return folder


def program(folder: Path, name: str, script: str) -> None:
    (folder / name).write_text(f"#!/bin/sh\n{script}\n")
    (folder / name).chmod(0o755)


def test_it_is_installed_under_its_name() -> None:
    offered = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["entry-points"][loader.GROUP]
    pools = {name: EntryPoint(name, value, loader.GROUP).load() for name, value in offered.items()}
    assert pools["slurm"] is SlurmPool


def test_without_slurm_on_this_machine(tools: Path, tmp_path: Path) -> None:
    with pytest.raises(PoolError, match="scontrol is not installed here") as caught:
        SlurmPool.create(fresh(tmp_path), SlurmSettings()).members()
    assert "client commands" in caught.value.hint


def test_a_command_that_hangs_is_no_answer(tools: Path) -> None:
    program(tools, "scontrol", "exec sleep 60")
    with pytest.raises(PoolUnreachableError, match="gave no answer within 0 s"):
        SlurmCommands("", 0.3).nodes()


@pytest.mark.parametrize(
    ("said", "error"),
    [
        ("slurm_load_node error: Unable to contact slurm controller (connect failure)", PoolUnreachableError),
        ("slurm_update error: Access/permission denied", PoolError),
        ("scontrol: fatal: Unable to process configuration file", PoolError),
    ],
)
def test_errors_are_told_apart(tools: Path, said: str, error: type[PoolError]) -> None:
    program(tools, "scontrol", f"echo '{said}' >&2; exit 1")
    with pytest.raises(PoolError) as caught:
        SlurmCommands("", 20).update("r12-n01", {"State": "RESUME"})
    assert type(caught.value) is error
    assert said in str(caught.value)


def test_an_answer_that_cannot_be_read_is_an_error(tools: Path) -> None:
    program(tools, "scontrol", "echo hello")
    with pytest.raises(PoolError, match="cannot be read"):
        SlurmCommands("", 20).nodes()


def test_jobs_of_several_nodes(tools: Path) -> None:
    program(tools, "scontrol", "echo r12-n01; echo r12-n02")
    program(tools, "squeue", "echo '7|ada|r12-n[01-02]'; echo '8_1|bob|r12-n02'; echo '9|eve|r99-n01'")
    assert SlurmCommands("", 20).jobs(["r12-n01", "r12-n02", "r12-n03"]) == {
        "r12-n01": ("7 of ada",),
        "r12-n02": ("7 of ada", "8_1 of bob"),
    }


@pytest.mark.parametrize(
    "settings", [{"features": ["a,b"]}, {"features": ["a b"]}, {"timeout_s": 0}, {"wait_minutes": -1}, {"partition": 3}]
)
def test_settings_that_cannot_be_meant(settings: dict[str, object]) -> None:
    with pytest.raises(ValueError, match="validation error"):
        SlurmSettings.model_validate(settings)
