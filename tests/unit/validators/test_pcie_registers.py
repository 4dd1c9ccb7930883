"""Role pcie: relaxed ordering and the maximum read request of GPUs and network adapters, in their Device Control registers."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

import pytest

from clusterctl_tools.setpci import DeviceControl, UnreadableRegisterError
from clusterctl_validators import test_pcie as module
from clusterctl_validators.device_control import read_device_control
from clusterctl_validators.finding import Finding, Outcome
from clusterctl_validators.probe import CommandResult, Probe
from clusterctl_validators.record import Record
from clusterctl_validators.spec_view import SpecView
from support.checks import InventedNode, write_files
from support.gpu_node import lay_hcas, lay_pci, systemctl, unit
from support.recorded import recorded
from support.roles import ROOT, load_role

if TYPE_CHECKING:
    from pathlib import Path

GPUS = [f"0000:{0x10 + index:02x}:00.0" for index in range(8)]
ADAPTERS = [f"0000:{0x61 + index:02x}:00.0" for index in range(8)]
NO_MACHINE: dict[str, CommandResult | str] = {
    "systemd-detect-virt --container": CommandResult(1, "none\n"),
    "systemd-detect-virt --vm": CommandResult(1, "none\n"),
}
ORDERING, REQUEST = "pcie.relaxed_ordering.running", "pcie.gpu_max_read_request.running"
# 512 and 4096 bytes, with and without relaxed ordering.
RELAXED_512, STRICT_512, RELAXED_4096 = "2936\n", "2926\n", "5936\n"


@pytest.fixture
def root(tmp_path: Path) -> Path:
    lay_hcas(tmp_path)
    lay_pci(tmp_path)
    return tmp_path


def check(root: Path, variables: dict[str, Any], **registers: CommandResult | str) -> dict[str, Finding]:
    """Run both checks; `registers`: gpus, adapters, or the address of one function with _ for : and ."""
    commands = {command(a): registers.get("gpus", RELAXED_512) for a in GPUS}
    commands |= {command(a): registers.get("adapters", RELAXED_4096) for a in ADAPTERS}
    commands |= {command(a): text for a in (*GPUS, *ADAPTERS) if (text := registers.get(f"at_{re.sub(r'[:.]', '_', a)}"))}
    record = Record("pcie")
    spec = SpecView("pcie", {**load_role(ROOT / "roles" / "pcie").defaults, **variables})
    probe = Probe(InventedNode(root, NO_MACHINE | commands | {k: v for k, v in registers.items() if k in NO_MACHINE}))
    module.test_relaxed_ordering(spec=spec, record=record, probe=probe)
    module.test_gpu_max_read_request(spec=spec, record=record, probe=probe)
    return {f.check: f for f in record.findings}


def command(address: str) -> str:
    return f"setpci -s {address} CAP_EXP+8.w"


BOTH = {"pcie_relaxed_ordering": "enabled", "pcie_gpu_max_read_request_bytes": 512}


def test_registers_as_declared(root: Path) -> None:
    findings = check(root, BOTH)
    assert {name: f.outcome for name, f in findings.items()} == {ORDERING: Outcome.PASS, REQUEST: Outcome.PASS}


def test_nothing_is_judged_by_default(root: Path) -> None:
    findings = check(root, {}, gpus=STRICT_512)
    assert {f.outcome for f in findings.values()} == {Outcome.NOT_APPLICABLE}


@pytest.mark.parametrize("address", [GPUS[3], ADAPTERS[7]])
def test_one_device_that_may_not_relax_the_order(root: Path, address: str) -> None:
    finding = check(root, BOTH, **{f"at_{re.sub(r'[:.]', '_', address)}": STRICT_512})[ORDERING]
    assert (finding.outcome, finding.found) == (Outcome.FAIL, f"disabled on 1 of 16: {address}")


def test_the_request_of_adapters_is_another_roles(root: Path) -> None:
    findings = check(root, {"pcie_gpu_max_read_request_bytes": 4096})
    assert findings[REQUEST].found == f"512 bytes on 8 of 8: {', '.join(GPUS[:3])}, ..."
    assert check(root, {"pcie_gpu_max_read_request_bytes": 4096}, gpus=RELAXED_4096)[REQUEST].outcome is Outcome.PASS


def test_virtual_functions_have_no_bit_of_their_own(root: Path) -> None:
    """Recorded ConnectX-6 virtual functions have RlxdOrd- and MaxReadReq 128; the physical function's setting applies to them."""
    blocks = re.split(r"\n(?=\S)", recorded("lspci/virtualclient-linux-2.txt").read_text())
    virtual = [block for block in blocks if "ConnectX-6 Virtual Function" in block]
    assert virtual
    assert all("RlxdOrd-" in block and "MaxReadReq 128 bytes" in block for block in virtual)
    write_files(root, {f"/sys/bus/pci/devices/{ADAPTERS[0]}/physfn/class": "0x020700\n"})
    address = re.sub(r"[:.]", "_", ADAPTERS[0])
    assert check(root, BOTH, **{f"at_{address}": "0020\n"})[ORDERING].outcome is Outcome.PASS


def test_a_virtual_machine_is_not_judged(root: Path) -> None:
    findings = check(root, BOTH, gpus=STRICT_512, **{"systemd-detect-virt --vm": CommandResult(0, "kvm\n")})
    assert {f.outcome for f in findings.values()} == {Outcome.NOT_APPLICABLE}


@pytest.mark.parametrize(
    "answer", [CommandResult(1, stderr="setpci: No devices selected"), CommandResult(None, error="setpci: not found"), "ffff\n", "\n"]
)
def test_a_register_that_cannot_be_read(root: Path, answer: CommandResult | str) -> None:
    assert {f.outcome for f in check(root, BOTH, gpus=answer).values()} == {Outcome.COULD_NOT_RUN}
    # What another device shows is a finding all the same.
    assert check(root, BOTH, gpus=answer, adapters=STRICT_512)[ORDERING].outcome is Outcome.FAIL


def test_a_node_without_devices_could_not_run(tmp_path: Path) -> None:
    assert {f.outcome for f in check(tmp_path, BOTH).values()} == {Outcome.COULD_NOT_RUN}


@pytest.mark.parametrize(
    ("word", "expected"),
    [
        ("2936", DeviceControl(relaxed_ordering=True, max_read_request_bytes=512)),
        ("5926", DeviceControl(relaxed_ordering=False, max_read_request_bytes=4096)),
        ("0000", DeviceControl(relaxed_ordering=False, max_read_request_bytes=128)),
    ],
)
def test_the_bits_of_the_register(tmp_path: Path, word: str, expected: DeviceControl) -> None:
    assert read_device_control(Probe(InventedNode(tmp_path, {command("a"): word})), "a") == expected


def test_every_bit_set_is_no_answer(tmp_path: Path) -> None:
    with pytest.raises(UnreadableRegisterError, match="does not answer"):
        read_device_control(Probe(InventedNode(tmp_path, {command("a"): "ffff"})), "a")


@pytest.mark.parametrize(
    ("variables", "lines"),
    [
        ({"pcie_relaxed_ordering": "enabled"}, "relaxed_ordering enabled"),
        ({"pcie_gpu_max_read_request_bytes": 1024}, "gpu_max_read_request_bytes 1024"),
        ({**BOTH, "pcie_acs": "disabled"}, "acs disabled, relaxed_ordering enabled, gpu_max_read_request_bytes 512"),
        ({**BOTH, "pcie_acs": "enabled"}, "relaxed_ordering enabled, gpu_max_read_request_bytes 512"),
    ],
)
def test_each_setting_needs_the_service(root: Path, variables: dict[str, Any], lines: str) -> None:
    record = Record("pcie")
    spec = SpecView("pcie", {**load_role(ROOT / "roles" / "pcie").defaults, **variables})
    write_files(root, {module.CONF: "# other\n"})
    module.test_at_boot(spec=spec, record=record, probe=Probe(InventedNode(root, {systemctl(module.UNIT): unit("inactive")})))
    findings = {f.check: f for f in record.findings}
    assert (findings["pcie.conf.content"].expected, findings["pcie.conf.content"].found) == (lines, "nothing")
    assert findings["pcie.unit.present"].outcome is Outcome.FAIL


def test_the_choices_of_the_options() -> None:
    options: dict[str, Any] = load_role(ROOT / "roles" / "pcie").options
    assert options["pcie_relaxed_ordering"]["choices"] == ["", "enabled"]
    assert options["pcie_gpu_max_read_request_bytes"]["choices"] == [0, *(128 << step for step in range(6))]


@pytest.mark.parametrize(
    ("state", "words"),
    [("none [integrity] confidentiality", "the kernel is locked down (integrity)"), ("[none] integrity", "systemctl start")],
)
def test_the_next_action_under_a_locked_down_kernel(state: str, words: str, root: Path) -> None:
    write_files(root, {"/sys/kernel/security/lockdown": state})
    found = check(root, BOTH, gpus=STRICT_512, adapters=STRICT_512)
    assert words in found[ORDERING].hint
