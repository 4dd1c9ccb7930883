"""A node with the vendor's network stack as role ofed declares it, and what of it is checked."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from clusterctl_validators import test_ofed as module
from clusterctl_validators.finding import GOOD, Finding
from support.checks import modinfo_text, run_checks, write_files
from support.gpu_node import DPKG, declared, dpkg, systemctl, unit

if TYPE_CHECKING:
    from pathlib import Path

    from clusterctl_validators.probe import CommandResult

KERNEL = "6.8.0-1046-nvidia"
ADDRESS = "0000:18:00.0"
REPOSITORY = {"uris": ["https://repo.site.example/doca"], "suites": ["./"], "signed_by": "/usr/share/keyrings/doca.asc", "baseurl": None}
PACKAGES = declared("ofed")["ofed_packages"]
EXCLUDED = declared("ofed")["ofed_exclude_distribution"]
PREFERENCES = f"# Written by clusterctl\nPackage: {' '.join(EXCLUDED)}\nPin: release o=Ubuntu\nPin-Priority: -1\n" + "".join(
    f"\nPackage: {p['name']}\nPin: version {p['version']}\nPin-Priority: 1001\n" for p in PACKAGES
)
QUERY = """
Configurations:                                     Default              Current              Next Boot
*       SRIOV_EN                                    False(0)             {}             {}
        ATS_ENABLED                                 False(0)             False(0)             False(0)
        LINK_TYPE_P1                                IB(1)                IB(1)                IB(1)
"""
FLINT = "Image type:            FS4\nFW Version:            28.39.3560\nPSID:                  MT_0000000838\n"
FILES = {
    "/sys/module/mlx5_core/initstate": "live",
    "/sys/module/mlx5_core/version": "25.10-1.7.1",
    "/sys/module/mlx5_core/taint": "OE",
    "/sys/class/infiniband/mlx5_0/board_id": "MT_0000000838",
    "/sys/class/infiniband/mlx5_0/fw_ver": "28.39.3560",
    f"/sys/bus/pci/devices/{ADDRESS}/infiniband/mlx5_0/node_type": "1: CA",
    module.APT_SOURCE: "Types: deb\nURIs: https://repo.site.example/doca\n",
    module.PREFERENCES: PREFERENCES,
    module.DROPIN: "[Unit]\nAfter=systemd-udev-settle.service\nWants=systemd-udev-settle.service\n\n[Service]\nRestart=on-failure\n",
    module.CONF: "# Written by clusterctl\nmlx5_0 4096\n",
    module.SCRIPT: '#!/bin/sh\nsetpci -s "$address" "CAP_EXP+8.w=5000:7000"\n',
    module.UNIT_FILE: f"[Service]\nExecStart={module.SCRIPT} apply\n",
    module.NAMES_RULE: '# Written by clusterctl\nACTION=="add", SUBSYSTEM=="infiniband", PROGRAM="rdma_rename %k NAME_KERNEL"\n',
    module.UDEV_RULE: f'ACTION=="add", SUBSYSTEM=="infiniband", TAG+="systemd", ENV{{SYSTEMD_WANTS}}+="{module.UNIT}"\n',
}
DKMS = f"mlnx-ofed-kernel/25.10.OFED.25.10.1.7.1.1, {KERNEL}, x86_64: installed\nnvidia/580.126.20, {KERNEL}, x86_64: installed\n"
FIELDS = {
    "filename": f"/lib/modules/{KERNEL}/updates/dkms/mlx5_core.ko.zst",
    "version": "25.10-1.7.1",
    "vermagic": f"{KERNEL} SMP preempt mod_unload ",
}
IN_TREE = modinfo_text(
    filename=f"/lib/modules/{KERNEL}/kernel/drivers/net/ethernet/mellanox/mlx5/core/mlx5_core.ko", vermagic=FIELDS["vermagic"]
)
NAMED = " ".join(declared("ofed")["ofed_mlxconfig"])
POLICY = f"apt-cache policy {' '.join(p['name'] for p in PACKAGES)}"
MLXCONFIG = f"mlxconfig -d {ADDRESS} -e query {NAMED}"


def spec(**changes: Any) -> dict[str, Any]:
    """Variables of the role for one adapter, then `changes`."""
    variables = declared("ofed", ofed_devices=["mlx5_0"], ofed_device_addresses={}, ofed_repository=REPOSITORY)
    return {**variables, "ofed_firmware": [{"psid": "MT_0000000838", "version": "28.39.3560"}], **changes}


def policy(**other: str) -> str:
    """The candidates as declared, or others; one without a version is not known to apt."""
    versions = {p["name"]: other.get(p["name"].replace("-", "_"), p["version"]) for p in PACKAGES}
    return "".join(f"{name}:\n  Installed: x\n  Candidate: {v}\n  Version table:\n *** {v} 1001\n" for name, v in versions.items() if v)


def commands() -> dict[str, CommandResult | str]:
    """What the programs of this node print."""
    modules = [m["module"] for m in spec()["ofed_rebuild_modules"]]
    return {
        DPKG: dpkg(PACKAGES),
        "uname -r": KERNEL + "\n",
        "ofed_info -s": "OFED-internal-25.10-1.7.1:\n",
        "dkms status": DKMS,
        **{f"modinfo {m}": modinfo_text(**FIELDS) for m in modules},
        POLICY: policy(),
        MLXCONFIG: QUERY.format("False(0)", "False(0)"),
        f"flint -d {ADDRESS} query": FLINT,
        f"setpci -s {ADDRESS} CAP_EXP+8.w": "5936\n",
        systemctl("openibd.service"): unit(),
        systemctl(module.UNIT): unit("inactive"),
        **{f"stat -c %U %a {path}": "root 755\n" if path == module.SCRIPT else "root 644\n" for path in FILES},
    }


def check(
    root: Path,
    outputs: dict[str, CommandResult | str] | None = None,
    *,
    variables: dict[str, Any] | None = None,
    files: dict[str, str | None] | None = None,
) -> dict[str, Finding]:
    """Findings of a node that differs from the declared state by `outputs` and `files`; None removes a file."""
    present = {path: text for path, text in {**FILES, **(files or {})}.items() if text is not None}
    return run_checks(module, variables or spec(), write_files(root, present), {**commands(), **(outputs or {})})


def bad(findings: dict[str, Finding]) -> dict[str, str]:
    """What does not pass, without the name of the role."""
    return {k.removeprefix("ofed."): f.found or f.reason for k, f in findings.items() if f.outcome not in GOOD}
