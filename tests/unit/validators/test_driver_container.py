"""A node whose driver is a container of the GPU Operator: the module is loaded, and the host has neither packages nor units nor nvidia-smi.

Sources: NVIDIA/gpu-operator, validator, Driver.runValidation (`chroot /run/nvidia/driver nvidia-smi`);
GPU Operator documentation, "GPU Driver Upgrades" (`kubectl patch clusterpolicies.nvidia.com/cluster-policy ... /spec/driver/version`).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from clusterctl.adapters.validator_declarations import read_traits
from clusterctl.core.ownership import judge_ownership
from clusterctl.model.findings import NodeFindings, NodeStatus
from clusterctl.model.node import NodeSpec
from clusterctl_validators import test_nvidia_driver as module
from clusterctl_validators.finding import GOOD, Outcome
from support.checks import run_checks, write_files
from support.gpu_node import DPKG, QUERY, declared, dpkg, smi_xml, systemctl

if TYPE_CHECKING:
    from pathlib import Path

    from clusterctl_validators.finding import Finding

OWNER = {"role": "nvidia_driver", "owner": "the GPU Operator", "change": "patch the ClusterPolicy"}
# What docs/how-to/owned-elsewhere.md declares for such nodes: the Operator runs these in pods.
IN_PODS = {
    "nvidia_driver_packages": [],
    "nvidia_driver_repository": {},
    "nvidia_driver_fabric": "none",
    "nvidia_driver_fabric_manager_version": "",
    "nvidia_driver_persistenced_version": "",
    "nvidia_driver_dcgm_version": "",
    "nvidia_driver_container_toolkit_version": "",
    "nvidia_driver_module_parameters": {},
    "nvidia_driver_gsp_firmware": "",
    "nvidia_driver_peermem": False,
}
NO_UNIT = "LoadState=not-found\nActiveState=inactive\nUnitFileState=\n"
CHROOT = "chroot /run/nvidia/driver "
FILES = {
    "/proc/driver/nvidia/version": "NVRM version: NVIDIA UNIX Open Kernel Module for x86_64  580.126.20  Release Build  (dvs-builder@U22)\nGCC version:  gcc\n",
}
IN_CONTAINER = "/run/nvidia/driver/usr/bin/nvidia-smi"


def findings(root: Path, version: str = "580.126.20", *, mounted: bool = True) -> list[Finding]:
    units = [f"nvidia-{n}.service" for n in ("fabricmanager", "persistenced", "dcgm", "imex")]
    commands = {
        CHROOT + QUERY: smi_xml().replace("590.48.01", version).replace("<cuda_version>13.1<", "<cuda_version>13.0<"),
        DPKG: dpkg([]),
        "modinfo nvidia": "",
        **{systemctl(u): NO_UNIT for u in (*units, "clusterctl-gpu-settings.service")},
    }
    files = {p: t.replace("580.126.20", version) for p, t in FILES.items()} | ({IN_CONTAINER: ""} if mounted else {})
    spec = declared("nvidia_driver", **IN_PODS)
    return list(run_checks(module, spec, write_files(root, files), commands).values())


def judged(found: list[Finding]) -> dict[str, Finding]:
    raw = NodeFindings("n1", NodeStatus.OK, "", tuple(found), 1.0)
    owned = judge_ownership(raw, NodeSpec({"nvidia_driver": {}}, {}, (), "d", (), (OWNER,)), read_traits(()))
    return {f.check: f for f in owned}


def bad(found: dict[str, Finding]) -> dict[str, str]:
    return {k: f.found or f.reason for k, f in found.items() if f.outcome not in GOOD}


def test_a_healthy_node_of_the_gpu_operator_is_accepted(tmp_path: Path) -> None:
    found = judged(findings(tmp_path))
    assert bad(found) == {}
    assert found["nvidia_driver.version.running"].outcome is Outcome.PASS
    assert found["nvidia_driver.nvidia_smi"].outcome is Outcome.PASS


def test_without_an_owner_it_is_refused_for_a_package_that_it_cannot_have(tmp_path: Path) -> None:
    assert "nvidia_driver.version.persisted" in bad({f.check: f for f in findings(tmp_path)})


def test_another_driver_is_for_the_operator_to_change(tmp_path: Path) -> None:
    found = judged(findings(tmp_path, version="570.86.15"))
    assert bad(found) == dict.fromkeys(("nvidia_driver.version.running", "nvidia_driver.nvidia_smi"), "570.86.15")
    assert found["nvidia_driver.version.running"].hint == "the GPU Operator owns this part of NODE: patch the ClusterPolicy"


def test_the_gpus_are_read_from_the_driver_container(tmp_path: Path) -> None:
    assert judged(findings(tmp_path, mounted=False))["nvidia_driver.gpu_modes"].outcome is Outcome.COULD_NOT_RUN
