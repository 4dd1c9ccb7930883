"""The simulated tools of a fabric answer to a node without the M_Key as the real ones were recorded, at every protection level."""

from __future__ import annotations

import contextlib
import io
import json
import re
from typing import TYPE_CHECKING

import pytest

from clusterctl_lab.simulator import iblinkinfo, saquery, sminfo, smpquery, subnet_key, sysfs_rdma
from clusterctl_tools.infiniband_diags import links_argv, manager_argv, parse_manager
from clusterctl_tools.port_info import own_port_argv, parse_own_port, parse_record_level, record_argv
from clusterctl_validators.management_key import check_management_key
from clusterctl_validators.probe import Probe
from clusterctl_validators.record import Record
from clusterctl_validators.sources import CommandResult, LocalSource
from support.checks import write_files
from support.port_info import Subnet, subnets

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

DEVICE = "mlx5_1"
TOOLS: dict[str, Callable[[list[str], str], int]] = {m.__name__.rpartition(".")[2]: m.main for m in (iblinkinfo, saquery, smpquery, sminfo)}
LABEL = re.compile(r"^\s*(\w+):\.", re.MULTILINE)
CONFIGURED = [s for s in subnets() if s.key]


def run(*argv: str) -> CommandResult:
    out, err = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        code = TOOLS[argv[0]](list(argv), "44.0")
    return CommandResult(code, out.getvalue(), err.getvalue())


class SimulatedNode(LocalSource):
    """Files below `root`; the commands are the simulated ones, on a machine that is not virtual."""

    def run(self, argv: Sequence[str], timeout_s: float) -> CommandResult:
        return CommandResult(1, "none\n") if argv[0] == "systemd-detect-virt" else run(*argv)


@pytest.fixture
def node(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    write_files(tmp_path, {f"/sys/{path}": str(text) for path, text in sysfs_rdma.files("r12-n04", {}).items()})
    for module in (iblinkinfo, saquery, smpquery, sminfo):
        monkeypatch.setattr(module, "ROOT", str(tmp_path / "sys/class/infiniband"))
    monkeypatch.setattr("clusterctl_lab.simulator.cabling.ROOT", str(tmp_path / "sys/class/infiniband"))
    monkeypatch.setattr(subnet_key, "FILE", str(tmp_path / "subnet.json"))
    return tmp_path


def configure(node: Path, subnet: Subnet) -> None:
    (node / "subnet.json").write_text(json.dumps({"m_key": subnet.key, "level": subnet.level}))


def lid(node: Path) -> int:
    return int((node / f"sys/class/infiniband/{DEVICE}/ports/1/lid").read_text(), 16)


@pytest.mark.parametrize("subnet", CONFIGURED, ids=lambda s: s.name)
def test_every_level_is_answered_as_recorded(subnet: Subnet, node: Path) -> None:
    configure(node, subnet)
    own, record = run(*own_port_argv(DEVICE, 1)), run(*record_argv(DEVICE, 1, lid(node)))
    recorded = subnet.answer("smpquery")
    assert own.rc == recorded.rc
    assert re.sub(r"\[\d+\]", "", own.stderr) == re.sub(r"\[\d+\]", "", recorded.stderr)
    if recorded.rc:
        assert own.stdout == recorded.stdout
    else:
        assert parse_own_port(own.stdout) == parse_own_port(recorded.stdout)
        assert LABEL.findall(own.stdout) == LABEL.findall(recorded.stdout)
    assert parse_record_level(record.stdout) == subnet.level
    assert LABEL.findall(record.stdout) == LABEL.findall(subnet.answer("saquery").stdout)
    assert subnet.key.removeprefix("0x") not in record.stdout or subnet.key == "0x0"


@pytest.mark.parametrize("subnet", CONFIGURED, ids=lambda s: s.name)
def test_the_finding_in_the_lab_is_that_on_a_real_fabric(subnet: Subnet, node: Path) -> None:
    configure(node, subnet)
    found = Record("infiniband")
    check_management_key(found, Probe(SimulatedNode(str(node))), "infiniband.m_key", DEVICE, 1)
    assert [f.outcome.value for f in found.findings] == [subnet.outcome]


def test_a_node_without_the_file_has_no_key(node: Path) -> None:
    shown = parse_own_port(run(*own_port_argv(DEVICE, 1)).stdout)
    assert (shown.shows_key, shown.level) == (False, 0)


@pytest.mark.parametrize("subnet", CONFIGURED, ids=lambda s: s.name)
def test_the_other_tools_get_no_answer_where_the_port_gives_none(subnet: Subnet, node: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("os.uname", lambda: type("Uname", (), {"nodename": "r12-n04"}))
    configure(node, subnet)
    refused = subnet.answer("smpquery").rc != 0
    assert (parse_manager(run(*manager_argv(DEVICE, 1)).stdout) == "") is refused
    links = run(*links_argv(DEVICE, 1, "0"))
    assert (links.rc != 0) is refused
    assert ("Failed to get local Node Info" in links.stderr) is refused


@pytest.mark.parametrize("argv", [own_port_argv("absent", 1), record_argv("absent", 1, 7), record_argv(DEVICE, 1, 65000)], ids=" ".join)
def test_what_is_absent_fails(argv: list[str], node: Path) -> None:
    assert run(*argv).rc == 255


def test_the_names_of_capabilities_are_those_of_the_recording(node: Path) -> None:
    mask = node / f"sys/class/infiniband/{DEVICE}/ports/1/cap_mask"
    mask.write_text("0x50c048\n")
    names = [line.strip() for line in run(*own_port_argv(DEVICE, 1)).stdout.splitlines() if line.startswith("\t\t\t\t")]
    recorded = next(s for s in CONFIGURED if s.name == "no_key").answer("smpquery").stdout
    assert names == [line.strip() for line in recorded.splitlines() if line.startswith("\t\t\t\t")]
    assert len(names) > 2
