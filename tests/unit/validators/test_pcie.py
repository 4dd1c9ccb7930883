"""Role pcie: ACS of the ports above devices that exchange data, the files that keep what is declared, and what else the role sets."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from clusterctl_tools import lspci
from clusterctl_validators import test_pcie as module
from clusterctl_validators.finding import GOOD, Finding, Outcome
from clusterctl_validators.probe import CommandResult, Probe
from clusterctl_validators.record import Record
from clusterctl_validators.spec_view import SpecView
from support.checks import InventedNode, write_files
from support.gpu_node import lay_hcas, lay_pcie, systemctl, unit
from support.roles import ROOT, load_role

if TYPE_CHECKING:
    from pathlib import Path

BRIDGES = " ".join(lspci.BRIDGES)
RECORDED = ROOT.parent / "shared" / "recorded" / "lspci"
ON = "SrcValid+ TransBlk- ReqRedir+ CmpltRedir+ UpstreamFwd+ EgressCtrl- DirectTrans-"
OFF = "SrcValid- TransBlk- ReqRedir- CmpltRedir- UpstreamFwd- EgressCtrl- DirectTrans-"
PORT = """\
{} PCI bridge: Intel Corporation Device 352a (prog-if 00 [Normal decode])
\tCapabilities: [100 v1] Access Control Services
\t\tACSCap:\tSrcValid+ TransBlk- ReqRedir+ CmpltRedir+ UpstreamFwd+ EgressCtrl- DirectTrans-
\t\tACSCtl:\t{}
"""
ABOVE, ELSEWHERE = "0000:61:01.0", "0000:02:01.0"
FILES = ROOT / "roles" / "pcie"
HEALTHY = {
    module.SCRIPT: (FILES / "files" / "clusterctl-pcie").read_text(),
    module.UNIT_FILE: (FILES / "templates" / "clusterctl-pcie.service.j2").read_text().replace("{{ __pcie_script }}", module.SCRIPT),
    module.CONF: "# Written by clusterctl\nacs disabled\n",
    module.UDEV_RULE: (FILES / "templates" / "pcie.rules.j2").read_text().replace("{{ __pcie_unit }}", module.UNIT),
}
COMMANDS: dict[str, CommandResult | str] = {
    BRIDGES: PORT.format(ABOVE, OFF),
    "systemd-detect-virt --container": CommandResult(1, "none\n"),
    "systemd-detect-virt --vm": CommandResult(1, "none\n"),
    f"stat -c %U %a {module.SCRIPT}": "root 755\n",
    f"stat -c %U %a {module.CONF}": "root 644\n",
    f"stat -c %U %a {module.UNIT_FILE}": "root 644\n",
    f"stat -c %U %a {module.UDEV_RULE}": "root 644\n",
    systemctl(module.UNIT): unit("inactive"),
}


def check(root: Path, acs: str = "disabled", files: dict[str, str] | None = None, **commands: CommandResult | str) -> dict[str, Finding]:
    """Run the checks of the module; `commands`: bridges, vm, container, service."""
    names = {
        "bridges": BRIDGES,
        "vm": "systemd-detect-virt --vm",
        "container": "systemd-detect-virt --container",
        "service": systemctl(module.UNIT),
    }
    write_files(root, HEALTHY if files is None else files)
    record = Record("pcie")
    spec = SpecView("pcie", {**load_role(ROOT / "roles" / "pcie").defaults, "pcie_acs": acs})
    probe = Probe(InventedNode(root, COMMANDS | {names[k]: v for k, v in commands.items()}))
    for name in ("test_acs", "test_at_boot"):
        getattr(module, name)(spec=spec, record=record, probe=probe)
    return {f.check: f for f in record.findings}


def bad(findings: dict[str, Finding]) -> dict[str, str]:
    return {name: f.found for name, f in findings.items() if f.outcome not in GOOD}


@pytest.fixture
def root(tmp_path: Path) -> Path:
    lay_hcas(tmp_path)
    return tmp_path


def test_a_provisioned_node(root: Path) -> None:
    assert bad(check(root)) == {}


@pytest.mark.parametrize(
    ("declared_acs", "control", "outcome"),
    [
        ("disabled", OFF, Outcome.PASS),
        ("disabled", ON, Outcome.FAIL),
        ("enabled", ON, Outcome.PASS),
        ("enabled", OFF, Outcome.FAIL),
        ("", ON, Outcome.NOT_APPLICABLE),
    ],
)
def test_acs_of_a_port_above_an_hca(root: Path, declared_acs: str, control: str, outcome: Outcome) -> None:
    finding = check(root, declared_acs, {}, bridges=PORT.format(ABOVE, control))["pcie.acs.running"]
    assert finding.outcome is outcome
    shown = finding.found or finding.reason
    assert (f"1 of 1 ports redirect: {ABOVE}" if control == ON else "0 of 1 ports redirect") in shown


@pytest.mark.parametrize("flag", ["ReqRedir", "CmpltRedir", "UpstreamFwd"])
def test_each_kind_of_redirection_fails_and_source_validation_alone_does_not(root: Path, flag: str) -> None:
    one = PORT.format(ABOVE, OFF.replace(f"{flag}-", f"{flag}+"))
    assert set(bad(check(root, bridges=one))) == {"pcie.acs.running"}
    assert bad(check(root, bridges=PORT.format(ABOVE, OFF.replace("SrcValid-", "SrcValid+")))) == {}


@pytest.mark.skipif(not RECORDED.is_dir(), reason="no recordings beside this checkout")
def test_recorded_ports_with_source_validation_only(root: Path) -> None:
    lines = (RECORDED / "acsctl-mixed-srcvalid-only.txt").read_text().splitlines()
    ports = [PORT.format(ABOVE, line.partition("ACSCtl:")[2].strip()) for line in lines]
    alone = [port for port in ports if "SrcValid+" in port.splitlines()[-1] and "ReqRedir-" in port.splitlines()[-1]]
    assert alone
    assert all(bad(check(root, bridges=port)) == {} for port in alone)


def test_ports_of_other_devices_keep_their_isolation(root: Path) -> None:
    assert bad(check(root, bridges=PORT.format(ABOVE, OFF) + "\n" + PORT.format(ELSEWHERE, ON))) == {}


@pytest.mark.parametrize(
    ("ids", "counts"),
    [(("0x10de", "0x030200"), True), (("0x144d", "0x010802"), True), (("0x10de", "0x068000"), False), (("0x1a03", "0x030000"), False)],
)
def test_gpus_and_disks_count_and_the_console_does_not(root: Path, ids: tuple[str, str], *, counts: bool) -> None:
    lay_pcie(root, "sys/class/other/one", "0000:02", vendor=ids[0], **{"class": ids[1]})
    assert bool(bad(check(root, bridges=PORT.format(ELSEWHERE, ON)))) is counts


def test_a_virtual_machine_is_not_judged_and_a_container_is(root: Path) -> None:
    on, yes = PORT.format(ABOVE, ON), CommandResult(0, "kvm\n")
    assert check(root, bridges=on, vm=yes)["pcie.acs.running"].outcome is Outcome.NOT_APPLICABLE
    assert check(root, bridges=on, vm=yes, container=CommandResult(0, "podman\n"))["pcie.acs.running"].outcome is Outcome.FAIL


@pytest.mark.parametrize(
    "answer",
    [CommandResult(None, error="lspci: No such file or directory"), f"{ABOVE} PCI bridge\n\tCapabilities: <access denied>\n"],
)
def test_ports_that_cannot_be_read(root: Path, answer: CommandResult | str) -> None:
    assert check(root, bridges=answer)["pcie.acs.running"].outcome is Outcome.COULD_NOT_RUN
    assert check(root, "", {}, bridges=answer)["pcie.acs.running"].outcome is Outcome.NOT_APPLICABLE


def test_a_port_without_an_address_could_not_run(root: Path) -> None:
    for uevent in root.glob("sys/devices/*/*/uevent"):
        uevent.unlink()
    assert check(root)["pcie.acs.running"].outcome is Outcome.COULD_NOT_RUN


@pytest.mark.parametrize(
    ("path", "text", "failing"),
    [
        (module.SCRIPT, "#!/bin/sh\nexit 0\n", "script.content"),
        (module.UNIT_FILE, "[Service]\nExecStart=/bin/true\n", "unit.content"),
        (module.CONF, "acs disabled\nrelaxed_ordering enabled\n", "conf.content"),
        (module.CONF, "", "conf.content"),
        (module.UDEV_RULE, HEALTHY[module.UDEV_RULE].replace("ACTION", "#ACTION"), "rule.content"),
    ],
)
def test_a_changed_file(root: Path, path: str, text: str, failing: str) -> None:
    assert set(bad(check(root, files=HEALTHY | {path: text}))) == {f"pcie.{failing}"}


@pytest.mark.parametrize("path", HEALTHY)
def test_an_absent_file(root: Path, path: str) -> None:
    left = {name: text for name, text in HEALTHY.items() if name != path}
    assert [name.rpartition(".")[2] for name in bad(check(root, files=left))] == ["present"]


def test_a_service_that_is_disabled_or_failed(root: Path) -> None:
    assert bad(check(root, service=unit("failed", "disabled"))) == {
        "pcie.service.persisted": "disabled",
        "pcie.service.running": "failed",
    }


def test_leftovers_where_acs_is_not_managed(root: Path) -> None:
    assert set(bad(check(root, ""))) == {"pcie.unit", "pcie.rule"}


def test_the_choices_of_the_option() -> None:
    options: dict[str, Any] = load_role(ROOT / "roles" / "pcie").options
    assert options["pcie_acs"]["choices"] == ["", "disabled", "enabled"]
