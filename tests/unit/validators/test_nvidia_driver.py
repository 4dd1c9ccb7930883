from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from clusterctl_lab.declared_packages import preferences_text
from clusterctl_tools import nvidia_module
from clusterctl_validators import driver_pins, gpu_modes, nvlsm
from clusterctl_validators import test_nvidia_driver as module
from clusterctl_validators.finding import GOOD, Finding, Outcome, Severity
from clusterctl_validators.probe import CommandResult
from support.checks import modinfo_text, run_checks, write_files
from support.gpu_node import DPKG, QUERY, declared, dnf_files, dpkg, edit_gpu, on_rpm, smi_xml, systemctl, unit
from support.roles import ROOT

if TYPE_CHECKING:
    from pathlib import Path

FILES = {
    "/proc/driver/nvidia/version": "NVRM version: NVIDIA UNIX Open Kernel Module for x86_64  580.126.20  Release Build  (dvs-builder@U22)\nGCC version:  gcc\n",
    "/proc/driver/nvidia/params": 'RmProfilingAdminOnly: 0\nNvLinkDisable: 0\nEnableGpuFirmware: 1\nRegistryDwords: ""\n',
    module.OPTIONS_FILE: "# Written by clusterctl\noptions nvidia NVreg_RestrictProfilingToAdminUsers=0 NVreg_NvLinkDisable=0 NVreg_EnableGpuFirmware=1\n",
    module.PEERMEM_FILE: "# Written by clusterctl\nnvidia-peermem\n",
    module.DROPIN: "[Service]\nExecStart=\nExecStart=/usr/bin/nvidia-persistenced --user root --persistence-mode --verbose\n",
    module.APT_SOURCE: "Types: deb\nURIs: https://repo.site.example/nvidia\nSuites: noble\nSigned-By: /usr/share/keyrings/nvidia.asc\n",
    driver_pins.FILE: preferences_text("nvidia_driver", declared("nvidia_driver"), ROOT / "roles"),
    "/sys/module/nvidia_peermem/refcnt": "0",
    gpu_modes.SCRIPT: '#!/bin/sh\n    *) nvidia-smi --id="$index" --multi-instance-gpu=0 ;;\nnvidia-smi --power-limit=700\n',
    gpu_modes.UNIT_FILE: f"[Service]\nType=oneshot\nExecStart={gpu_modes.SCRIPT}\n",
}
REPOSITORY = {"uris": ["https://repo.site.example/nvidia"], "suites": ["noble"], "signed_by": "/usr/share/keyrings/nvidia.asc"}
PACKAGES = declared("nvidia_driver")["nvidia_driver_packages"]
FM, PERSISTENCED, DCGM, IMEX = (f"nvidia-{name}.service" for name in ("fabricmanager", "persistenced", "dcgm", "imex"))
NVLSM, PGREP = f"{nvlsm.PROGRAM} --version", "pgrep -x nvlsm"
NO_UNIT = "LoadState=not-found\nActiveState=inactive\nUnitFileState=\n"


def spec(**changes: Any) -> dict[str, Any]:
    return declared("nvidia_driver", **{"nvidia_driver_repository": REPOSITORY, **changes})


def commands() -> dict[str, CommandResult | str]:
    return {
        QUERY: smi_xml().replace("590.48.01", "580.126.20").replace("<cuda_version>13.1<", "<cuda_version>13.0<"),
        DPKG: dpkg(PACKAGES),
        "modinfo nvidia": modinfo_text(version="580.126.20", license="Dual MIT/GPL"),
        "nvidia-smi conf-compute -q": "    CC State                   : OFF\n    CC GPUs Ready State        : Ready\n",
        "pgrep -x nvidia-cuda-mps": CommandResult(1),
        "nv-fabricmanager --version": "Fabric Manager version is : 580.126.20\n",
        "nvidia-persistenced --version": "nvidia-persistenced:  version 580.126.20\n  The NVIDIA Persistence Daemon.\n",
        "dcgmi --version": "\ndcgmi  version: 4.5.3\n\n",
        "nvidia-ctk --version": "NVIDIA Container Toolkit CLI version 1.18.2\ncommit: abc\n",
        **{systemctl(name): unit() for name in (FM, PERSISTENCED, DCGM, gpu_modes.UNIT)},
        systemctl(IMEX): NO_UNIT,
        **{f"stat -c %U %a {path}": "root 644\n" for path in FILES},
        f"stat -c %U %a {gpu_modes.SCRIPT}": "root 755\n",
    }


def check(
    root: Path,
    outputs: dict[str, CommandResult | str] | None = None,
    *,
    variables: dict[str, Any] | None = None,
    files: dict[str, str | None] | None = None,
) -> dict[str, Finding]:
    """Findings of a node that differs from a healthy one by `outputs` and `files`; None removes a file."""
    present = {path: text for path, text in {**FILES, **(files or {})}.items() if text is not None}
    return run_checks(module, variables or spec(), write_files(root, present), {**commands(), **(outputs or {})})


def bad(findings: dict[str, Finding]) -> dict[str, str]:
    return {k: f.found or f.reason for k, f in findings.items() if f.outcome not in GOOD}


def test_a_healthy_node_passes_every_check(tmp_path: Path) -> None:
    findings = check(tmp_path)
    assert bad(findings) == {}
    assert [f.check for f in findings.values() if f.outcome is not Outcome.PASS] == [
        "nvidia_driver.kernel_module.signature",
        "nvidia_driver.imex",
        "nvidia_driver.nvlsm",
        "nvidia_driver.stream",
    ]
    assert len(findings) > 50


@pytest.mark.parametrize(
    ("outputs", "found"),
    [
        (
            {"modinfo nvidia": CommandResult(1, stderr="modinfo: ERROR: Module nvidia not found.")},
            {"version.persisted": "this kernel has no", "kernel_module.persisted": "none"},
        ),
        ({"modinfo nvidia": modinfo_text(version="580.95.05", license="Dual MIT/GPL")}, {"version.persisted": "580.95.05"}),
        ({"modinfo nvidia": modinfo_text(version="580.126.20", license="NVIDIA")}, {"kernel_module.persisted": "proprietary"}),
        ({"nv-fabricmanager --version": "Fabric Manager version is : 580.82.07\n"}, {"fabric_manager.version": "580.82.07"}),
        ({"nv-fabricmanager --version": ""}, {"fabric_manager.version": "no version"}),
        ({"nvidia-persistenced --version": CommandResult(None, error="not found")}, {"persistenced.version": "not found"}),
        ({"dcgmi --version": "dcgmi  version: 4.4.1\n"}, {"dcgm.version": "4.4.1"}),
        ({"nvidia-ctk --version": "NVIDIA Container Toolkit CLI version 1.17.8\n"}, {"container_toolkit.version": "1.17.8"}),
        ({systemctl(FM): unit("failed")}, {"fabric_manager.service.running": "failed"}),
        ({systemctl(FM): unit(file="disabled")}, {"fabric_manager.service.persisted": "disabled"}),
        (
            {systemctl(PERSISTENCED): unit("inactive", "disabled")},
            {"persistenced.service.running": "inactive", "persistenced.service.persisted": "disabled"},
        ),
        ({systemctl(DCGM): unit("activating")}, {"dcgm.service.running": "activating"}),
        ({f"stat -c %U %a {module.OPTIONS_FILE}": "root 600\n"}, {"parameters.file.mode": "root 600"}),
    ],
)
def test_tool_output(outputs: dict[str, CommandResult | str], found: dict[str, str], tmp_path: Path) -> None:
    faults = bad(check(tmp_path, outputs))
    assert set(faults) == {f"nvidia_driver.{name}" for name in found}
    for name, text in found.items():
        assert text in faults[f"nvidia_driver.{name}"]


@pytest.mark.parametrize(
    ("files", "found"),
    [
        (
            {"/proc/driver/nvidia/version": FILES["/proc/driver/nvidia/version"].replace("580.126.20", "580.65.06")},
            {"version.running": "580.65.06"},
        ),
        (
            {"/proc/driver/nvidia/version": "NVRM version: NVIDIA UNIX x86_64 Kernel Module  580.126.20  Fri Sep 13 10:10:01 UTC 2024\n"},
            {"kernel_module.running": "proprietary"},
        ),
        ({"/proc/driver/nvidia/version": None}, {"version.running": "no module loaded"}),
        (
            {"/proc/driver/nvidia/params": "RmProfilingAdminOnly: 1\nNvLinkDisable: 0\nEnableGpuFirmware: 1\n"},
            {"parameter[NVreg_RestrictProfilingToAdminUsers].running": "1"},
        ),
        # What OCI's images leave (oci-hpc-images, roles/nvidia_driver): the role's file is read after it.
        ({"/etc/modprobe.d/nvidia-gsp.conf": "options nvidia NVreg_EnableGpuFirmware=0\n"}, {}),
        ({"/usr/lib/modprobe.d/zzz.conf": "options nvidia NVreg_NvLinkDisable=1\n"}, {"parameter[NVreg_NvLinkDisable].persisted": "1"}),
        (
            {module.OPTIONS_FILE: "options nvidia NVreg_NvLinkDisable=1 NVreg_EnableGpuFirmware=18\n"},
            {
                "parameter[NVreg_RestrictProfilingToAdminUsers].persisted": "absent",
                "parameter[NVreg_NvLinkDisable].persisted": "1",
                "parameter[NVreg_EnableGpuFirmware].persisted": "18",
            },
        ),
        ({module.DROPIN: "[Service]\nExecStart=/usr/bin/nvidia-persistenced --verbose\n"}, {"persistenced.dropin.content": "--verbose"}),
        ({module.DROPIN: None}, {"persistenced.dropin.present": "absent"}),
        ({module.PEERMEM_FILE: None}, {"peermem.file.present": "absent", "peermem.persisted": "absent"}),
        ({"/sys/module/nvidia_peermem/refcnt": None}, {"peermem.running": "not loaded"}),
        (
            {module.APT_SOURCE: "Types: deb\nURIs: https://elsewhere.example/\n"},
            {"repository.address": "https://repo.site.example/nvidia missing"},
        ),
    ],
)
def test_file_content(files: dict[str, str | None], found: dict[str, str], tmp_path: Path) -> None:
    faults = bad(check(tmp_path, files=files))
    assert set(faults) == {f"nvidia_driver.{name}" for name in found}
    for name, text in found.items():
        assert text in faults[f"nvidia_driver.{name}"]


def test_packages_changed_missing_and_not_held(tmp_path: Path) -> None:
    moved = dpkg(
        PACKAGES,
        nvidia_fabricmanager=("580.159.04-1", "hold"),
        libnvidia_nscq=("", ""),
        nvidia_persistenced=("580.126.20-1ubuntu1", "install"),
    )
    assert bad(check(tmp_path, {DPKG: moved})) == {
        "nvidia_driver.package[nvidia-fabricmanager].version": "580.159.04-1",
        "nvidia_driver.package[libnvidia-nscq].version": "absent",
        "nvidia_driver.package[nvidia-persistenced].held": "not held",
    }


PINS = FILES[driver_pins.FILE]
SET = " ".join(spec()["nvidia_driver_set"])


@pytest.mark.parametrize(
    ("pins", "found"),
    [
        (None, {"pins.present": "absent", "set.pin.persisted": "not pinned", "package[libnvidia-nscq].pin.persisted": "not pinned"}),
        (PINS.replace(SET, "nvidia-*"), {"set.pin.persisted": "not pinned"}),
        (
            PINS.replace(f"{SET}\nPin: version 580.126.20", f"{SET}\nPin: version 580.95.05"),
            {"set.pin.persisted": "version 580.95.05-1ubuntu1"},
        ),
        (
            PINS.replace("Package: libnvidia-nscq\nPin: version 580.126.20-1\nPin-Priority: 1001", ""),
            {"package[libnvidia-nscq].pin.persisted": "not pinned"},
        ),
        (
            PINS.replace("version 580.126.20-1\nPin-Priority: 1001", "version 580.126.20-1\nPin-Priority: 500"),
            {"package[nvidia-fabricmanager].pin.persisted": "not pinned", "package[libnvidia-nscq].pin.persisted": "not pinned"},
        ),
    ],
)
def test_pins_that_are_missing_or_of_another_version(pins: str | None, found: dict[str, str], tmp_path: Path) -> None:
    faults = bad(check(tmp_path, files={driver_pins.FILE: pins}))
    assert found.items() <= {k.removeprefix("nvidia_driver."): v for k, v in faults.items()}.items()
    assert pins is None or len(faults) == len(found)


def test_an_undeclared_package_of_the_driver_has_another_version(tmp_path: Path) -> None:
    more = "libnvidia-compute-580\t580.159.04-1ubuntu1\tinstall\tinstalled\nlibnvidia-gl-570\t570.86.15-1\tdeinstall\tconfig-files\n"
    more += "nvidia-container-toolkit\t1.18.2-1\thold\tinstalled\nlibnvidia-cfg1-580\t580.126.20-1ubuntu1\tinstall\tinstalled\n"
    faults = bad(check(tmp_path, {DPKG: dpkg(PACKAGES) + more}))
    assert faults == {"nvidia_driver.set.version.persisted": "libnvidia-compute-580 580.159.04-1ubuntu1"}


def test_packages_of_the_other_source(tmp_path: Path) -> None:
    faults = bad(check(tmp_path, variables=spec(nvidia_driver_source="ubuntu")))
    assert set(faults) == {"nvidia_driver.source.persisted"}
    assert "nvidia-driver-580-open 580.126.20-1ubuntu1" in faults["nvidia_driver.source.persisted"]
    moved = dpkg(PACKAGES, nvidia_persistenced=("580.126.20-0ubuntu0.24.04.2", "hold"))
    assert (
        bad(check(tmp_path / "cuda", {DPKG: moved}))["nvidia_driver.source.persisted"] == "nvidia-persistenced 580.126.20-0ubuntu0.24.04.2"
    )


def test_a_driver_of_nvidias_installer_beside_the_packages(tmp_path: Path) -> None:
    there: dict[str, str | None] = {"/usr/bin/nvidia-uninstall": ""}
    finding = check(tmp_path, files=there)["nvidia_driver.installer.persisted"]
    assert (finding.outcome, finding.found) == (Outcome.WARN, "/usr/bin/nvidia-uninstall")
    unmanaged = check(tmp_path / "none", variables=spec(nvidia_driver_packages=[]), files=there)
    assert unmanaged["nvidia_driver.installer"].outcome is Outcome.NOT_APPLICABLE


def test_a_stream_of_dnf_needs_no_pins(tmp_path: Path) -> None:
    findings = check(tmp_path, on_rpm(PACKAGES), files={driver_pins.FILE: None, **dnf_files(PACKAGES)})
    assert bad(findings) == {}
    assert findings["nvidia_driver.pins"].outcome is Outcome.NOT_APPLICABLE


STREAMS = "Name           Stream          Profiles  Summary\nnvidia-driver  580-open [e]    default   Nvidia driver\n"


@pytest.mark.parametrize(
    ("answer", "found"),
    [
        (STREAMS, {}),
        (STREAMS.replace("580-open", "latest-dkms"), {"stream.persisted": "latest-dkms"}),
        (CommandResult(1, stderr="Error: No matching Modules to list"), {"stream.persisted": "none enabled"}),
        (CommandResult(None, error="dnf: not found"), {"stream.persisted": "dnf: dnf: not found"}),
    ],
)
def test_the_stream_of_the_dnf_module(answer: CommandResult | str, found: dict[str, str], tmp_path: Path) -> None:
    ask = "dnf --quiet module list --enabled nvidia-driver"
    faults = bad(check(tmp_path, {ask: answer}, variables=spec(nvidia_driver_dnf_module="nvidia-driver:580-open")))
    assert faults == {f"nvidia_driver.{name}": text for name, text in found.items()}
    assert check(tmp_path / "none")["nvidia_driver.stream"].outcome is Outcome.NOT_APPLICABLE


def test_the_unit_of_the_persistence_daemon_may_be_static(tmp_path: Path) -> None:
    assert bad(check(tmp_path, {systemctl(PERSISTENCED): unit(file="static")})) == {}
    assert set(bad(check(tmp_path / "stopped", {systemctl(PERSISTENCED): unit("inactive", "static")}))) == {
        "nvidia_driver.persistenced.service.running"
    }
    assert set(bad(check(tmp_path / "dcgm", {systemctl(DCGM): unit(file="static")}))) == {"nvidia_driver.dcgm.service.persisted"}


def test_packages_need_not_be_held(tmp_path: Path) -> None:
    faults = bad(check(tmp_path, variables=spec(nvidia_driver_hold=False)))
    assert set(faults) == {f"nvidia_driver.package[{p['name']}].held" for p in PACKAGES}


def test_a_driver_library_that_does_not_match_the_module(tmp_path: Path) -> None:
    answer = CommandResult(18, stdout="Failed to initialize NVML: Driver/library version mismatch\nNVML library version: 580.126\n")
    finding = check(tmp_path, {QUERY: answer})["nvidia_driver.nvidia_smi"]
    assert finding.outcome is Outcome.COULD_NOT_RUN
    assert finding.severity is Severity.CRITICAL
    assert "mismatch" in finding.reason


def test_nvidia_smi_output(tmp_path: Path) -> None:
    xml = str(commands()[QUERY])
    xml = edit_gpu(xml, 2, {"<persistence_mode>Enabled<": "<persistence_mode>Disabled<"}).replace(
        "<cuda_version>13.0<", "<cuda_version>12.8<"
    )
    xml = xml.replace("<product_architecture>Hopper<", "<product_architecture>Ampere<").replace(
        "<driver_version>580.126.20", "<driver_version>570.124.06"
    )
    assert bad(check(tmp_path, {QUERY: xml})) == {
        "nvidia_driver.nvidia_smi": "570.124.06",
        "nvidia_driver.cuda_version": "12.8",
        "nvidia_driver.gpu_architecture": "Ampere",
        "nvidia_driver.gpu[2].persistence_mode": "Disabled",
    }


def test_grace_hopper_is_hopper_to_nvidia_smi(tmp_path: Path) -> None:
    assert bad(check(tmp_path, variables=spec(nvidia_driver_gpu_architecture="grace_hopper"))) == {}


def test_a_tuple_without_its_optional_parts(tmp_path: Path) -> None:
    bare = spec(
        nvidia_driver_fabric="none",
        nvidia_driver_gsp_firmware="",
        nvidia_driver_mig="",
        nvidia_driver_ecc="",
        nvidia_driver_power_limit_w=0,
        nvidia_driver_fabric_manager_version="",
        nvidia_driver_persistenced_version="",
        nvidia_driver_dcgm_version="",
        nvidia_driver_container_toolkit_version="",
        nvidia_driver_cuda_version="",
        nvidia_driver_gpu_architecture="",
        nvidia_driver_packages=[],
        nvidia_driver_repository={},
        nvidia_driver_module_parameters={},
        nvidia_driver_peermem=False,
    )
    gone: dict[str, str | None] = {module.OPTIONS_FILE: None, module.PEERMEM_FILE: None}
    gone |= {gpu_modes.UNIT_FILE: None, gpu_modes.SCRIPT: None, driver_pins.FILE: None}
    off: dict[str, CommandResult | str] = {systemctl(FM): unit("inactive", "disabled")}
    assert bad(check(tmp_path, off, variables=bare, files=gone)) == {}
    left = bad(check(tmp_path / "left", variables=bare, files={module.NVLSM_FILE: "ib_umad\n"}))
    assert left == {
        "nvidia_driver.parameters.file": "present",
        "nvidia_driver.peermem.persisted": "present",
        "nvidia_driver.nvlsm.ib_umad.persisted": "present",
        "nvidia_driver.gpu_settings.unit": "present",
        "nvidia_driver.pins.persisted": "present",
        "nvidia_driver.fabricmanager.off": "active enabled",
    }


@pytest.mark.parametrize(
    ("outputs", "files", "found"),
    [
        ({}, {}, {}),
        ({NVLSM: CommandResult(1, stderr="-I- OpenSM 2025.10.12_42349a2_821fcee\n")}, {}, {}),
        ({NVLSM: "OpenSM 2025.06.11\n"}, {}, {"version": "2025.06.11"}),
        ({NVLSM: CommandResult(127, stderr="libibumad.so.3: cannot open shared object file")}, {}, {"version": "exit 127, no version"}),
        ({NVLSM: CommandResult(None, error="nvlsm: No such file")}, {}, {"version": "No such file"}),
        ({PGREP: CommandResult(1)}, {}, {"process.running": "no process nvlsm"}),
        ({PGREP: CommandResult(3, stderr="pgrep: fatal")}, {}, {"process.running": "exit 3"}),
        ({PGREP: CommandResult(None, error="pgrep: No such file")}, {}, {"process.running": "pgrep: No such file"}),
        ({}, {"/sys/module/ib_umad/refcnt": None}, {"ib_umad.running": "not loaded"}),
        ({}, {module.NVLSM_FILE: None}, {"ib_umad.file.present": "absent", "ib_umad.persisted": "absent"}),
        ({}, {module.NVLSM_FILE: "# ib_umad\n"}, {"ib_umad.persisted": "absent"}),
        ({}, {module.NVLSM_FILE: "ib_umad\nib_ipoib\n"}, {"ib_umad.persisted": "ib_umad ib_ipoib"}),
        ({f"stat -c %U %a {module.NVLSM_FILE}": "root 600\n"}, {}, {"ib_umad.file.mode": "root 600"}),
    ],
)
def test_the_subnet_manager(
    outputs: dict[str, CommandResult | str], files: dict[str, str | None], found: dict[str, str], tmp_path: Path
) -> None:
    good: dict[str, CommandResult | str] = {NVLSM: "----\nOpenSM 2025.10.12\n", PGREP: "4711\n"}
    good |= {f"stat -c %U %a {module.NVLSM_FILE}": "root 644\n"}
    there: dict[str, str | None] = {module.NVLSM_FILE: "# Written by clusterctl\nib_umad\n", "/sys/module/ib_umad/refcnt": "1"}
    findings = check(tmp_path, {**good, **outputs}, variables=spec(nvidia_driver_nvlsm_version="2025.10.12"), files={**there, **files})
    faults = bad(findings)
    assert set(faults) == {f"nvidia_driver.nvlsm.{name}" for name in found}
    for name, text in found.items():
        assert text in faults[f"nvidia_driver.nvlsm.{name}"]
    assert findings["nvidia_driver.nvlsm.process.running"].severity is Severity.CRITICAL


@pytest.mark.parametrize(
    ("text", "version"),
    [
        ("OpenSM[31060]: OpenSM 2025.10.14_42349a2_821fcee_ae214d2", "2025.10.14"),
        ("libibumad 1.2.3\nOpenSM 2025.10.12", "2025.10.12"),
        ("NVLSM version: 2025.06.11-1", "2025.06.11"),
        ("2025.06.11", "2025.06.11"),
        ("OpenSM", ""),
        ("", ""),
    ],
)
def test_the_version_of_the_subnet_manager(text: str, version: str) -> None:
    assert nvlsm.parse_version(text) == version


def test_a_host_engine_that_should_be_off(tmp_path: Path) -> None:
    variables = spec(nvidia_driver_dcgm_hostengine=False)
    assert set(bad(check(tmp_path, variables=variables))) == {"nvidia_driver.dcgm.service.running", "nvidia_driver.dcgm.service.persisted"}
    assert bad(check(tmp_path / "off", {systemctl(DCGM): unit("inactive", "disabled")}, variables=variables)) == {}


def test_a_dnf_repository(tmp_path: Path) -> None:
    variables = spec(nvidia_driver_repository={"baseurl": "https://repo.site.example/rhel9", "gpgcheck": True})
    files = {module.DNF_SOURCE: "[nvidia]\nbaseurl = https://repo.site.example/rhel9\n"}
    stat: dict[str, CommandResult | str] = {f"stat -c %U %a {module.DNF_SOURCE}": "root 644\n"}
    assert bad(check(tmp_path, stat, variables=variables, files=dict(files))) == {}


def test_garbage_in_proc_is_no_module() -> None:
    with pytest.raises(nvidia_module.UnreadableModuleError):
        nvidia_module.parse_version("garbage")


def test_quoted_options() -> None:
    text = 'options nvidia NVreg_RegistryDwords="PeerMappingOverride=1;" NVreg_NvLinkDisable=0\noptions nvidia_uvm uvm_disable_hmm=1\n'
    assert nvidia_module.parse_options(text) == {"NVreg_RegistryDwords": "PeerMappingOverride=1;", "NVreg_NvLinkDisable": "0"}
