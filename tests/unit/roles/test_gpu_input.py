"""Input that the GPU roles refuse, and check mode on an empty node: one playbook in check mode on this machine."""

from __future__ import annotations

import json
import os
from typing import TYPE_CHECKING, Any

import pytest

from support.gpu_node import GROUP_VARS, declared
from support.local_play import run_play
from support.plain_yaml import load_yaml

if TYPE_CHECKING:
    from pathlib import Path

DRIVER = declared("nvidia_driver")
BLACKWELL = DRIVER | load_yaml((GROUP_VARS / "profile_hgx_b200" / "nvidia_driver.yml").read_text())
NCCL = declared("nccl")
HCAS = declared("hardware")["hardware_hcas"]
REFUSED: dict[str, tuple[str, dict[str, Any], str]] = {
    "skewed": ("nvidia_driver", {**DRIVER, "nvidia_driver_fabric_manager_version": "580.82.07"}, "does not match driver 580.126.20"),
    "parameter": ("nvidia_driver", {**DRIVER, "nvidia_driver_module_parameters": {"NvLinkDisable": 0}}, "expected NVreg_<Name>"),
    "unsigned": (
        "nvidia_driver",
        {**DRIVER, "nvidia_driver_repository": {"uris": ["http://x"], "suites": ["./"]}},
        "needs trusted set to true",
    ),
    "flavour": (
        "nvidia_driver",
        {**DRIVER, "nvidia_driver_kernel_module": "closed"},
        "value of nvidia_driver_kernel_module must be one of",
    ),
    "no version": ("nvidia_driver", {"nvidia_driver_packages": []}, "missing required arguments: nvidia_driver_version"),
    "nccl package": ("nccl", {**NCCL, "nccl_version": "2.30.4"}, "all of version 2.30.4"),
    "nccl alone": ("nccl", {"nccl_version": "2.28.9"}, "must list each package once"),
    "hca twice": ("nccl", {"nccl_settings": {"NCCL_IB_HCA": "=mlx5_1:1,mlx5_1:1"}}, "lists a device, or a port of it, twice"),
    "hca unknown": (
        "nccl",
        {"nccl_settings": {"NCCL_IB_HCA": "=mlx5_12"}, "hardware_hcas": HCAS},
        "lists mlx5_12, but hardware_hcas has mlx5_0",
    ),
    # NVIDIA/nccl v2.30.7-1: src/transport/net_ib/init.cc strips one `^` and one `=` of the list, src/misc/utils.cc nothing of a name.
    "hca after a blank": (
        "nccl",
        {"nccl_settings": {"NCCL_IB_HCA": "=mlx5_0, mlx5_1"}, "hardware_hcas": HCAS},
        "NCCL takes for a part of a name",
    ),
    # On B300 it left one adapter of two (index id 71114544061).
    "sign before each hca": ("nccl", {"nccl_settings": {"NCCL_IB_HCA": "=mlx5_0,=mlx5_1"}}, "NCCL takes for a part of a name"),
    "setting": ("nccl", {"nccl_settings": {"nccl_debug": "INFO"}}, "expected an NCCL variable"),
    "two lines": ("nccl", {"nccl_settings": {"NCCL_DEBUG": "INFO\nNCCL_X=1"}}, "on one line"),
    "topology": ("nccl", {"nccl_settings": {"NCCL_TOPO_FILE": "/x"}}, "set nccl_topology_file"),
    "topology absent": ("nccl", {"nccl_topology_file": "/nowhere/topo.xml"}, "absent or empty on this node"),
    "tool twice": (
        "gpu_tools",
        {"gpu_tools_packages": [{"name": "a", "version": "1"}, {"name": "a", "version": "2"}]},
        "lists a package twice",
    ),
    "answer": ("gpu_tools", {"gpu_tools_packages": [{"name": "a", "version": "1", "answers": "x"}]}, "has answers but no command"),
    "dcgm": (
        "gpu_tools",
        {**DRIVER, "gpu_tools_packages": [{"name": "datacenter-gpu-manager-4-cuda13", "version": "1:4.4.1-1"}]},
        "plugins of another version do not load",
    ),
    "fabric": ("nvidia_driver", {**DRIVER, "nvidia_driver_fabric": "imex"}, "no version of IMEX is declared"),
    "gsp": ("nvidia_driver", {**DRIVER, "nvidia_driver_gsp_firmware": "disabled"}, "requires GSP firmware"),
    "subnet manager": ("nvidia_driver", {**DRIVER, "nvidia_driver_gpu_architecture": "blackwell"}, "blackwell boards need nvlsm"),
    "watts": ("nvidia_driver", {**DRIVER, "nvidia_driver_power_limit_w": 701}, "the maximum is 700 W"),
    "mig": ("nvidia_driver", {**DRIVER, "nvidia_driver_mig": "on"}, "value of nvidia_driver_mig must be one of"),
    "exporter twice": (
        "monitoring",
        {"monitoring_packages": [{"name": "a", "version": "1"}, {"name": "a", "version": "2"}]},
        "lists a package twice",
    ),
    "listen": ("monitoring", {"monitoring_node_listen": "9100"}, "is not an address and port"),
    "ethtool patterns": ("monitoring", {"monitoring_node_ethtool_metrics": ["rx x"]}, "patterns over names of `ethtool -S`"),
    "no counters": ("monitoring", {"monitoring_dcgm_exporter": True}, "needs unique fields DCGM_FI_"),
    "counter": (
        "monitoring",
        {"monitoring_dcgm_exporter": True, "monitoring_dcgm_counters": [{"field": "gpu_temp", "type": "gauge", "help": "x"}]},
        "needs unique fields DCGM_FI_",
    ),
    "collector": (
        "monitoring",
        {"monitoring_node_collectors": ["zfs"], "monitoring_node_collectors_off": ["zfs"]},
        "collectors both enabled and disabled: zfs",
    ),
    "folder": ("monitoring", {"monitoring_textfile_dir": "metrics"}, "an absolute path"),
    "negative": ("hardware", {"hardware_gpus": -1}, "hardware_gpus: -1 is negative"),
    "hca declared twice": ("hardware", {"hardware_hcas": [HCAS[0], HCAS[0]], "hardware_gpus": 8}, "mlx5_0 port 1 is declared twice"),
    "one address of two hcas": (
        "hardware",
        {"hardware_hcas": [{**HCAS[0], "pci": "0000:ff:1f.7"}, {**HCAS[1], "pci": "0000:ff:1f.7"}], "hardware_gpus": 8},
        "hardware_hcas[1].pci: 0000:ff:1f.7 is already the address of",
    ),
    # Accepted as input: the planes of an adapter are ports of one device, at one address. This machine has no such adapter.
    "planes of one hca": (
        "hardware",
        {"hardware_hcas": [{**HCAS[0], "pci": "0000:ff:1f.7", "port": p} for p in (3, 6)], "hardware_gpus": 8},
        "no network adapter at 0000:ff:1f.7",
    ),
    "gpu of an hca": (
        "hardware",
        {"hardware_hcas": HCAS, "hardware_gpus": 4},
        "hardware_hcas[4].gpu: 4 is out of range; hardware_gpus is 4",
    ),
    "rate of an hca": (
        "hardware",
        {"hardware_hcas": [{"name": "mlx5_0", "link_layer": "InfiniBand"}]},
        "missing required arguments: rate_gbps",
    ),
    "short": ("hardware", {"hardware_gpus": 800, "hardware_memory_min_gib": 900000}, "GPUs on the PCI bus: declared 800, found"),
}
PREDICTED: dict[str, tuple[str, dict[str, Any]]] = {
    "driver": ("nvidia_driver", DRIVER),
    "driver of HGX B200": ("nvidia_driver", BLACKWELL),
    "nccl": ("nccl", {**NCCL, "hardware_hcas": HCAS}),
    "two ports of an adapter": ("nccl", {"nccl_settings": {"NCCL_IB_HCA": "=mlx5_0:1,mlx5_0:2"}, "hardware_hcas": HCAS}),
    "tools": ("gpu_tools", declared("gpu_tools")),
    "no parts": ("hardware", {}),
    "exporters": ("monitoring", declared("monitoring")),
}
FAKE_RPM = "#!/bin/sh\nprintf 'kernel-core\\t5.14.0-503.el9\\tinstall\\tinstalled\\n'\n"


def attempt(name: str, role: str, variables: dict[str, Any]) -> dict[str, Any]:
    return {
        "name": f"Try {name}",
        "block": [
            {"name": "Apply", "ansible.builtin.include_role": {"name": role}, "vars": variables},
            {"name": "Accepted", "ansible.builtin.set_fact": {"refusals": f"{{{{ refusals | combine({{'{name}': ''}}) }}}}"}},
        ],
        "rescue": [
            {
                "name": "Refused",
                "ansible.builtin.set_fact": {"refusals": f"{{{{ refusals | combine({{'{name}': ansible_failed_result | to_json}}) }}}}"},
            }
        ],
    }


def play(root: Path, attempts: list[dict[str, Any]], *, os_family: str, path: str) -> dict[str, str]:
    """Run the attempts in check mode; the reason of each refusal, empty if it was accepted."""
    facts = {"os_family": os_family, "kernel": "6.8.0-60-generic", "cacheable": True}
    keep = {
        "name": "Keep",
        "check_mode": False,
        "ansible.builtin.copy": {"dest": str(root / "refusals.json"), "content": "{{ refusals | to_json }}", "mode": "0600"},
    }
    catalogue = load_yaml((GROUP_VARS / "all" / "nvidia_versions.yml").read_text())
    tasks = [
        {"name": "Facts", "ansible.builtin.set_fact": facts},
        {"name": "Start", "ansible.builtin.set_fact": {"refusals": {}}},
        *attempts,
        keep,
    ]
    done = run_play(root, tasks, "--check", environment={"PATH": path}, keywords={"vars": catalogue})
    assert done.code == 0, done.output[-5000:]
    result: dict[str, str] = json.loads((root / "refusals.json").read_text())
    return result | {"output": done.output}


@pytest.fixture(scope="module")
def refusals(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    attempts = [attempt(name, role, variables) for name, (role, variables, _) in REFUSED.items()]
    return play(tmp_path_factory.mktemp("refused"), attempts, os_family="Debian", path=os.environ["PATH"])


@pytest.mark.parametrize("name", REFUSED)
def test_impossible_input_is_refused_with_a_reason(name: str, refusals: dict[str, str]) -> None:
    assert REFUSED[name][2] in refusals[name]


@pytest.mark.parametrize("os_family", ["Debian", "RedHat"])
def test_check_mode_works_on_an_empty_node(os_family: str, tmp_path: Path) -> None:
    (tmp_path / "rpm").write_text(FAKE_RPM)
    (tmp_path / "rpm").chmod(0o755)
    attempts = [attempt(name, role, variables) for name, (role, variables) in PREDICTED.items()]
    result = play(tmp_path, attempts, os_family=os_family, path=f"{tmp_path}:{os.environ['PATH']}")
    assert {name: result[name] for name in PREDICTED} == dict.fromkeys(PREDICTED, "")
    assert "nvidia-fabricmanager: absent -> 580.126.20-1" in result["output"]
    assert "nvlsm: absent -> 2025.10.12-1" in result["output"]
    assert "libnccl2: absent -> 2.28.9-1+cuda13.0" in result["output"]
