"""What can go wrong with the commands of Slurm; all else is tested on Slurm itself (tests/integration/test_pool_slurm.py)."""

from __future__ import annotations

import tomllib
from importlib.metadata import EntryPoint
from typing import TYPE_CHECKING

import pytest

from clusterctl.adapters import clock
from clusterctl.adapters.pools import loader
from clusterctl.adapters.pools.slurm import SlurmPool, SlurmSettings
from clusterctl.adapters.pools.slurm_commands import SlurmCommands
from clusterctl.core import timestamps
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
        ("slurm_update error: Controller is in standby mode, try a different controller", PoolUnreachableError),
        ("slurm_load_node error: Rate limit exceeded, please retry later", PoolUnreachableError),
        ("slurm_load_node error: Connection timed out establishing", PoolUnreachableError),
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


def test_what_is_missing_is_the_node_or_nothing_is_known(tools: Path) -> None:
    """Texts of src/interfaces/auth.c and src/common/slurm_errno.c (SchedMD/slurm 284c3b95) speak of other things that are not found."""
    program(tools, "scontrol", "echo 'Node r12-n01 not found'; exit 1")
    assert SlurmCommands("", 20).node("r12-n01") is None
    for said in ("error: auth_g_unpack: authentication plugin (null)(102) not found", "fatal: Plugin file not found"):
        program(tools, "scontrol", f"echo 'scontrol: {said}' >&2; exit 1")
        with pytest.raises(PoolError, match="not found"):
            SlurmCommands("", 20).node("r12-n01")


@pytest.mark.parametrize(
    "variable", ["SQUEUE_USERS", "SQUEUE_PARTITION", "SQUEUE_ACCOUNT", "SQUEUE_NAMES", "SQUEUE_QOS", "SQUEUE_LICENSES"]
)
def test_filters_of_the_operator_hide_no_job(tools: Path, monkeypatch: pytest.MonkeyPatch, variable: str) -> None:
    """src/squeue/opts.c of SchedMD/slurm 284c3b95 reads them where the option is not given; sites set SQUEUE_USERS in profiles."""
    monkeypatch.setenv(variable, "ada")
    program(tools, "squeue", f'[ -n "${variable}" ] || echo "7|eve|r12-n01"')
    assert SlurmCommands("", 20).jobs(["r12-n01"]) == {"r12-n01": ("7 of eve",)}


def test_the_cluster_is_that_of_slurm_conf(tools: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """SLURM_CLUSTERS is `--clusters` of scontrol and squeue; with `fed_display` squeue lists the jobs of all clusters of a federation, whose nodes may have the same
    names, unless it has `--local` (src/scontrol/scontrol.c and src/squeue/opts.c of SchedMD/slurm 284c3b95).
    """
    monkeypatch.setenv("SLURM_CLUSTERS", "other")
    program(tools, "scontrol", '[ -z "$SLURM_CLUSTERS" ] || exit 1; echo "NodeName=r12-n01 Arch=x86_64 State=IDLE Partitions=gpu"')
    found = SlurmCommands("", 20).node("r12-n01")
    assert found is not None
    assert found.takes_jobs
    program(tools, "squeue", 'case "$SLURM_CLUSTERS $*" in " "*--local*) echo "7|eve|r12-n01";; *) echo "8|bob|r12-n01";; esac')
    assert SlurmCommands("", 20).jobs(["r12-n01"]) == {"r12-n01": ("7 of eve",)}


def test_the_jobs_of_more_nodes_than_one_word_can_name(tools: Path) -> None:
    """execve(2) of Linux starts no program with a word of 128 KiB."""
    program(tools, "squeue", "echo '7|eve|dgx-b200-r0001-n01'")
    names = [f"dgx-b200-r{i:04}-n01" for i in range(1, 12_501)]
    assert SlurmCommands("", 20).jobs(names) == {"dgx-b200-r0001-n01": ("7 of eve",)}


def test_a_program_that_may_not_be_started_is_named(tools: Path) -> None:
    program(tools, "scontrol", "echo")
    (tools / "scontrol").chmod(0o644)
    with pytest.raises(PoolError, match=r"scontrol (cannot be started|is not installed here)"):
        SlurmCommands("", 20).nodes()


@pytest.mark.parametrize(
    "settings", [{"features": ["a,b"]}, {"features": ["a b"]}, {"timeout_s": 0}, {"wait_minutes": -1}, {"partition": 3}]
)
def test_settings_that_cannot_be_meant(settings: dict[str, object]) -> None:
    with pytest.raises(ValueError, match="validation error"):
        SlurmSettings.model_validate(settings)


@pytest.mark.parametrize("ahead_s", [0, 240, -240])
def test_a_boot_is_by_the_clock_here_whatever_that_of_slurmctld_shows(tools: Path, tmp_path: Path, ahead_s: int) -> None:
    """slurmctld subtracts the uptime from its own clock; the strings are UTC, because the commands run with TZ=UTC."""
    at = f"date -d @$(( $(date +%s) + {ahead_s} - SINCE )) +%Y-%m-%dT%H:%M:%S"
    node = "NodeName=n1 State=IDLE Partitions=gpu BootTime=$(" + at.replace("SINCE", "3600") + ") CfgTRES=cpu=2"
    config = "Configuration data as of $(" + at.replace("SINCE", "0") + ")"
    program(
        tools,
        "scontrol",
        f'case "$*" in *config) echo "{config}";; *) echo "{node}"; echo "NodeName=n2 State=DOWN* Partitions=gpu BootTime=None x";; esac',
    )
    boots = SlurmPool.create(fresh(tmp_path), SlurmSettings()).boots()
    assert set(boots) == {"n1"}, "n2 is down"
    assert abs(timestamps.seconds_between(boots["n1"].booted_at, clock.now()) - 3600) <= 3


def test_a_slurmctld_that_does_not_show_its_time_reports_no_boots(tools: Path, tmp_path: Path) -> None:
    program(tools, "scontrol", "echo Configuration of a newer Slurm")
    with pytest.raises(PoolError, match="does not begin with the time"):
        SlurmPool.create(fresh(tmp_path), SlurmSettings()).boots()


@pytest.mark.parametrize(
    ("state", "reason", "refusal"),
    [
        ("DOWN+INVALID_REG", "Node unexpectedly rebooted", "registers in Slurm with less"),
        ("DOWN*", "Node unexpectedly rebooted", "Slurm itself took n1 out"),
        ("DOWN", "fan 3", "by somebody else: fan 3"),
        ("DOWN+DRAIN", "clusterctl: drift", "not down for a boot any more"),
    ],
)
def test_only_what_slurm_took_out_for_its_boot_is_returned(tools: Path, tmp_path: Path, state: str, reason: str, refusal: str) -> None:
    line = f"NodeName=n1 State={state} Partitions=gpu BootTime=2026-03-14T02:00:00 x Reason={reason} [slurm@2026-03-14T02:01:00]"
    program(tools, "scontrol", f'case "$*" in *RESUME*) touch {tmp_path}/resumed;; *) echo "{line}";; esac')
    with pytest.raises(PoolError, match=refusal):
        SlurmPool.create(fresh(tmp_path), SlurmSettings()).return_booted("n1")
    assert not (tmp_path / "resumed").exists()
