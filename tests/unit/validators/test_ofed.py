from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from clusterctl_validators import test_ofed as module
from clusterctl_validators.finding import Outcome
from clusterctl_validators.probe import CommandResult
from support.checks import modinfo_text
from support.gpu_node import DPKG, dpkg, systemctl, unit
from support.ofed_node import (
    ADDRESS,
    DKMS,
    FIELDS,
    FILES,
    FLINT,
    IN_TREE,
    KERNEL,
    MLXCONFIG,
    PACKAGES,
    POLICY,
    PREFERENCES,
    QUERY,
    REPOSITORY,
    bad,
    check,
    policy,
    spec,
)

if TYPE_CHECKING:
    from pathlib import Path


def test_a_node_as_declared_passes(tmp_path: Path) -> None:
    findings = check(tmp_path)
    assert bad(findings) == {}
    assert len([f for f in findings.values() if f.outcome is Outcome.PASS]) > 60


@pytest.mark.parametrize(
    ("outputs", "found"),
    [
        ({"ofed_info -s": "OFED-internal-24.10-2.1.8:\n"}, {"release": "OFED-internal-24.10-2.1.8"}),
        ({"ofed_info -s": CommandResult(None, error="ofed_info: No such file or directory")}, {"release": "No such file"}),
        (
            {"modinfo mlx5_core": IN_TREE},
            {"driver.persisted": "the kernel's own"},
        ),
        ({"modinfo mlx5_core": modinfo_text(**FIELDS | {"version": "24.10-2.1.8"})}, {"driver.persisted": "24.10-2.1.8"}),
        (
            {"modinfo nvidia_peermem": modinfo_text(vermagic="6.8.0-1040-nvidia SMP")},
            {"rebuild[nvidia_peermem].vermagic": "6.8.0-1040-nvidia"},
        ),
        ({"modinfo nvidia": CommandResult(1, stderr="not found")}, {"rebuild[nvidia].vermagic": "no such module"}),
        (
            {"dkms status": DKMS.replace("x86_64: installed\nnvidia", "x86_64: added\nnvidia")},
            {"rebuild[mlx5_core].dkms": "added", "rebuild[ib_core].dkms": "added"},
        ),
        (
            {"dkms status": DKMS.replace(f"20, {KERNEL}", "20, 6.8.0-1040-nvidia")},
            {"rebuild[nvidia].dkms": "not built", "rebuild[nvidia_peermem].dkms": "not built"},
        ),
        (
            {MLXCONFIG: QUERY.format("True(1)", "True(1)")},
            {"mlxconfig[mlx5_0.SRIOV_EN].running": "True(1)", "mlxconfig[mlx5_0.SRIOV_EN].persisted": "True(1)"},
        ),
        ({MLXCONFIG: QUERY.format("False(0)", "True(1)")}, {"mlxconfig[mlx5_0.SRIOV_EN].persisted": "True(1)"}),
        (
            {MLXCONFIG: QUERY.format("", "").replace("ATS_ENABLED ", "OTHER_THING ")},
            {"mlxconfig[mlx5_0.ATS_ENABLED].persisted": "no such", "mlxconfig[mlx5_0.SRIOV_EN].persisted": "no such"},
        ),
        ({MLXCONFIG: CommandResult(3, stderr="-E- Failed to open device")}, {"mlxconfig[mlx5_0]": "Failed to open device"}),
        ({f"flint -d {ADDRESS} query": FLINT.replace("28.39.3560", "28.46.1006")}, {"firmware[mlx5_0].persisted": "28.46.1006"}),
        ({f"flint -d {ADDRESS} query": CommandResult(1, stderr="-E- Cannot open Device")}, {"firmware[mlx5_0].persisted": "Cannot open"}),
        ({f"setpci -s {ADDRESS} CAP_EXP+8.w": "2936\n"}, {"max_read_request[mlx5_0].running": "512"}),
        (
            {f"setpci -s {ADDRESS} CAP_EXP+8.w": CommandResult(1, stderr="No devices selected")},
            {"max_read_request[mlx5_0].running": "No devices"},
        ),
        ({systemctl("openibd.service"): unit("failed", "disabled")}, {"openibd.running": "failed", "openibd.persisted": "disabled"}),
        (
            {systemctl(module.UNIT): unit("failed", "disabled")},
            {"max_read_request.service.running": "failed", "max_read_request.service.persisted": "disabled"},
        ),
        (
            {POLICY: policy(rdma_core="50.0-2ubuntu0.2")},
            {"package[rdma-core].candidate.running": "50.0-2ubuntu0.2"},
        ),
        ({POLICY: policy(rdma_core="")}, {"package[rdma-core].candidate.running": "no candidate shown"}),
        ({DPKG: dpkg(PACKAGES, mft=("4.34.1-10", "install"))}, {"package[mft].held": "not held"}),
        ({f"stat -c %U %a {module.SCRIPT}": "root 644\n"}, {"max_read_request.script.mode": "root 644"}),
        ({f"stat -c %U %a {module.NAMES_RULE}": "root 600\n"}, {"device_names.file.mode": "root 600"}),
    ],
)
def test_tool_output(outputs: dict[str, CommandResult | str], found: dict[str, str], tmp_path: Path) -> None:
    faults = bad(check(tmp_path, outputs))
    assert set(faults) == set(found)
    for name, text in found.items():
        assert text in faults[name]


@pytest.mark.parametrize(
    ("files", "found"),
    [
        ({"/sys/module/mlx5_core/version": "24.10-2.1.8"}, {"driver.running": "24.10-2.1.8"}),
        ({"/sys/module/mlx5_core/taint": ""}, {"driver.running": "the kernel's own"}),
        ({"/sys/module/mlx5_core/initstate": None}, {"driver.running": "not loaded"}),
        ({"/sys/class/infiniband/mlx5_0/fw_ver": "28.46.1006"}, {"firmware[mlx5_0].running": "28.46.1006"}),
        ({"/sys/class/infiniband/mlx5_0/board_id": "DEL0000000036"}, {"firmware[mlx5_0].psid": "DEL0000000036"}),
        ({module.PREFERENCES: PREFERENCES.replace("-1\n", "500\n", 1)}, {"exclusion.persisted": "nothing excluded"}),
        (
            {module.PREFERENCES: PREFERENCES.replace("version 4.34.1-10", "version 4.30.1-1210", 1)},
            {"package[mft].candidate.persisted": "4.30.1"},
        ),
        ({module.CONF: "mlx5_0 512\n"}, {"max_read_request[mlx5_0].persisted": "512"}),
        ({module.CONF: None}, {"max_read_request.conf.present": "absent", "max_read_request[mlx5_0].persisted": "not set"}),
        ({module.UDEV_RULE: "# nothing\n"}, {"max_read_request.rule.content": "a different"}),
        ({module.UNIT_FILE: "[Service]\nExecStart=/bin/true\n"}, {"max_read_request.unit.content": "a different"}),
        ({module.DROPIN: "[Service]\nRestart=on-failure\n"}, {"openibd.dropin.content": "missing: After="}),
        ({module.APT_SOURCE: None}, {"repository.present": "absent"}),
        (
            {module.NAMES_RULE: FILES[module.NAMES_RULE].replace("KERNEL", "FALLBACK")},
            {"device_names.persisted": "NAME_FALLBACK"},
        ),
        ({module.NAMES_RULE: FILES[module.NAMES_RULE].replace("ACTION", "#ACTION")}, {"device_names.persisted": "no rule"}),
        ({module.NAMES_RULE: None}, {"device_names.file.present": "absent", "device_names.persisted": "no rule"}),
        ({"/sys/class/infiniband/rocep24s0f1/fw_ver": "28.39.3560"}, {"device_names.running": "rocep24s0f1"}),
    ],
)
def test_file_content(files: dict[str, str | None], found: dict[str, str], tmp_path: Path) -> None:
    faults = bad(check(tmp_path, files=files))
    assert set(faults) == set(found)
    for name, text in found.items():
        assert text in faults[name]


def test_a_value_for_the_next_boot_needs_a_reset(tmp_path: Path) -> None:
    finding = check(tmp_path, {MLXCONFIG: QUERY.format("True(1)", "False(0)")})["ofed.mlxconfig[mlx5_0.SRIOV_EN].running"]
    assert finding.outcome is Outcome.FAIL
    assert "reset the adapter's firmware" in finding.hint


@pytest.mark.parametrize(
    "words",
    [
        "-E- The Device doesn't support ATS_ENABLED parameter",
        "-E- Unknown Parameter: ATS_ENABLED",
        "-E- Failed to find Param / TLV with name 'ATS_ENABLED' port 0 module -1",
    ],
)
def test_a_parameter_for_which_the_query_is_refused_hides_no_other(words: str, tmp_path: Path) -> None:
    rest = MLXCONFIG.replace(" ATS_ENABLED", "")
    outputs: dict[str, CommandResult | str] = {
        MLXCONFIG: CommandResult(3, f"\nConfigurations:    Default   Current   Next Boot\n{words}\n"),
        rest: QUERY.format("False(0)", "True(1)").replace("ATS_ENABLED ", "OTHER_THING "),
    }
    assert set(bad(check(tmp_path, outputs))) == {"mlxconfig[mlx5_0.ATS_ENABLED].persisted", "mlxconfig[mlx5_0.SRIOV_EN].persisted"}


@pytest.mark.parametrize(("layer", "found"), [("InfiniBand", None), ("Ethernet", "ETH(2)"), (None, "no such parameter")])
def test_an_adapter_with_one_link_type(layer: str | None, found: str | None, tmp_path: Path) -> None:
    variables = spec(ofed_mlxconfig={"LINK_TYPE_P1": "IB"})
    refused = CommandResult(3, "-E- The Device doesn't support LINK_TYPE_P1 parameter\n")
    files = {"/sys/class/infiniband/mlx5_0/ports/1/link_layer": layer}
    faults = bad(check(tmp_path, {f"mlxconfig -d {ADDRESS} -e query LINK_TYPE_P1": refused}, variables=variables, files=files))
    assert [text.startswith(found or "-") for text in faults.values()] == ([True] if found else [])


def test_an_adapter_that_has_none_of_the_parameters(tmp_path: Path) -> None:
    variables = spec(ofed_mlxconfig={"ATS_ENABLED": 0})
    refused = CommandResult(3, "-E- The Device doesn't support ATS_ENABLED parameter\n")
    faults = bad(check(tmp_path, {f"mlxconfig -d {ADDRESS} -e query ATS_ENABLED": refused}, variables=variables))
    assert faults == {"mlxconfig[mlx5_0.ATS_ENABLED].persisted": "no such parameter"}


def test_a_device_without_a_pci_function_cannot_be_asked(tmp_path: Path) -> None:
    faults = bad(check(tmp_path, files={f"/sys/bus/pci/devices/{ADDRESS}/infiniband/mlx5_0/node_type": None}))
    assert faults == dict.fromkeys(
        ("firmware[mlx5_0].running", "mlxconfig[mlx5_0]", "max_read_request[mlx5_0].running"), "mlx5_0 belongs to no PCI function"
    )


def test_every_adapter_is_a_check_of_its_own(tmp_path: Path) -> None:
    variables = spec(ofed_devices=["mlx5_0", "mlx5_1"], ofed_max_read_request_bytes=0)
    faults = bad(check(tmp_path, {MLXCONFIG: CommandResult(None, error="timed out after 8 s")}, variables=variables))
    assert faults["mlxconfig[mlx5_0]"] == "mlxconfig: timed out after 8 s"
    assert faults["mlxconfig[mlx5_1]"] == "no such RDMA device"


def test_nothing_is_asked_without_a_device(tmp_path: Path) -> None:
    findings = check(tmp_path, variables=spec(ofed_devices=[], ofed_max_read_request_bytes=0))
    assert {findings[c].outcome for c in ("ofed.firmware", "ofed.mlxconfig")} == {Outcome.NOT_APPLICABLE}


def test_firmware_that_is_not_declared_is_kept_with_its_board(tmp_path: Path) -> None:
    findings = check(tmp_path, variables=spec(ofed_firmware=[]))
    kept = {c: (f.outcome, f.found) for c, f in findings.items() if c.startswith("ofed.firmware")}
    assert kept == {
        "ofed.firmware[mlx5_0].psid": (Outcome.NOT_APPLICABLE, "MT_0000000838"),
        "ofed.firmware[mlx5_0].running": (Outcome.NOT_APPLICABLE, "28.39.3560"),
    }


def test_a_missing_device_fails_all_its_checks(tmp_path: Path) -> None:
    gone: dict[str, str | None] = {path: None for path in FILES if "/infiniband/" in path}
    assert set(bad(check(tmp_path, files=gone))) == {"firmware[mlx5_0].running", "mlxconfig[mlx5_0]", "max_read_request[mlx5_0].running"}


def test_the_kernels_own_stack(tmp_path: Path) -> None:
    bare = spec(
        ofed_device_names="",
        ofed_flavour="inbox",
        ofed_version="",
        ofed_driver_version="",
        ofed_packages=[],
        ofed_repository=dict.fromkeys(REPOSITORY),
        ofed_exclude_distribution=[],
        ofed_max_read_request_bytes=0,
        ofed_rebuild_modules=[],
        ofed_mlxconfig={"ATS_ENABLED": 0},
    )
    files: dict[str, str | None] = {**dict.fromkeys(f for f in FILES if f.startswith("/etc")), "/sys/module/mlx5_core/taint": ""}
    outputs: dict[str, CommandResult | str] = {
        "modinfo mlx5_core": IN_TREE,
        f"mstconfig -d {ADDRESS} -e query ATS_ENABLED": QUERY.format("False(0)", "False(0)"),
        f"mstflint -d {ADDRESS} query": FLINT,
    }
    assert bad(check(tmp_path, outputs, variables=bare, files=files)) == {}
    left = bad(check(tmp_path / "left", outputs, variables=bare))
    assert set(left) == {"driver.running", "exclusion.persisted", "device_names.file", "max_read_request.unit", "max_read_request.rule"}


def test_the_file_of_a_site_is_ignored(tmp_path: Path) -> None:
    rule = 'ACTION=="add", SUBSYSTEM=="infiniband", PROGRAM="rdma_rename %k NAME_FALLBACK"\n'
    findings = check(tmp_path, variables=spec(ofed_device_names=""), files={module.NAMES_RULE: rule})
    assert bad(findings) == {}
    assert findings["ofed.device_names"].outcome is Outcome.NOT_APPLICABLE


@pytest.mark.parametrize(
    "name", ["ibp24s0", "ibP2p3s0", "ibp24s0f1v4", "roces5", "rocep24s0f0", "opao3", "iwp1s0", "rdmap0s6", "rocex525400c0fe123455"]
)
def test_a_name_that_the_kernel_does_not_assign_needs_a_reboot(name: str, tmp_path: Path) -> None:
    finding = check(tmp_path, files={f"/sys/class/infiniband/{name}/fw_ver": "28.39.3560"})["ofed.device_names.running"]
    assert (finding.outcome, finding.found) == (Outcome.FAIL, name)
    assert finding.hint.startswith("reboot")


@pytest.mark.parametrize(
    "name", ["bnxt_re0", "hfi1_0", "irdma0", "mlx4_0", "mlx5_bond_0", "mlx5_ib0", "mana_0", "siw0", "rxe0", "ib_storage"]
)
def test_kernel_names_of_other_drivers_are_accepted(name: str, tmp_path: Path) -> None:
    assert bad(check(tmp_path, files={f"/sys/class/infiniband/{name}/fw_ver": "1"})) == {}


@pytest.mark.parametrize(("scheme", "device"), [("pci", "ibp24s0"), ("guid", "ibx946dae0300fe1234")])
def test_declared_devices_must_have_the_names_of_the_scheme(scheme: str, device: str, tmp_path: Path) -> None:
    variables = spec(ofed_device_names=scheme, ofed_devices=[device], ofed_firmware=[], ofed_mlxconfig={}, ofed_max_read_request_bytes=0)
    files: dict[str, str | None] = {
        module.NAMES_RULE: FILES[module.NAMES_RULE].replace("KERNEL", scheme.upper()),
        module.UNIT_FILE: None,
        module.UDEV_RULE: None,
    }
    assert bad(check(tmp_path / "before", variables=variables, files=files)) == {"device_names.running": "mlx5_0"}
    renamed = {**files, f"/sys/class/infiniband/{device}/fw_ver": "28.39.3560"}
    assert bad(check(tmp_path / "after", variables=variables, files=renamed)) == {}
    undeclared = check(tmp_path / "none", variables={**variables, "ofed_devices": []}, files=files)
    assert undeclared["ofed.device_names.running"].outcome is Outcome.NOT_APPLICABLE


def test_openibd_that_should_be_off(tmp_path: Path) -> None:
    faults = bad(check(tmp_path, variables=spec(ofed_openibd=False)))
    assert set(faults) == {"openibd.dropin", "openibd.persisted"}


def test_the_release_of_mlnx_ofed(tmp_path: Path) -> None:
    variables = spec(ofed_flavour="mlnx_ofed", ofed_version="24.10-4.1.4.0", ofed_driver_version="24.10-4.1.4")
    faults = bad(check(tmp_path, {"ofed_info -s": "MLNX_OFED_LINUX-24.10-4.1.4.0:\n"}, variables=variables))
    assert set(faults) == {"driver.running", "driver.persisted"}


def test_a_module_that_dkms_did_not_build_is_a_warning(tmp_path: Path) -> None:
    warned = DKMS.replace("x86_64: installed", "x86_64: installed (WARNING! Diff between built and installed module!)")
    found = {f.check: f for f in check(tmp_path, outputs={"dkms status": warned}).values() if f.outcome is Outcome.WARN}
    one = found["ofed.rebuild[mlx5_core].dkms"]
    assert one.found == "installed, but /lib/modules has another file than dkms built"
    assert "dkms install --force mlnx-ofed-kernel/" in one.hint
