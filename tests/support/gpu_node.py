"""A healthy H100 node with eight GPUs from recorded outputs, and the variables of its profile."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any

from clusterctl_tools.package_list import RPM_LIST, VERSIONLOCK
from clusterctl_validators import boot_log
from clusterctl_validators.probe import CommandResult
from support.plain_yaml import load_yaml
from support.recorded import recorded
from support.roles import ROOT, load_role

if TYPE_CHECKING:
    from pathlib import Path

GROUP_VARS = ROOT / "inventory" / "common" / "group_vars"
QUERY = "nvidia-smi -q -x"
JOURNAL = " ".join(boot_log.JOURNAL)
BOOTED = "2026-11-20T08:00:00+00:00 kernel: Linux version 6.8.0-60-generic\n"


def declared(role: str, **changes: Any) -> dict[str, Any]:
    """The variables of a role for HGX H100 with InfiniBand: defaults, then the profile, then `changes`."""
    variables = dict(load_role(ROOT / "roles" / role).defaults)
    for group in ("all", "gpu_nodes", "platform_hgx", "profile_hgx_h100", "fabric_ib", "fabric_ib_ndr_x8", "profile_hgx_h100_ib"):
        path = GROUP_VARS / group / f"{role}.yml"
        if path.is_file():
            variables |= load_yaml(path.read_text())
    if role == "gpu_tools":
        variables["gpu_tools_packages"] = [*variables.pop("tool_packages_platform"), *variables.pop("tool_packages_site")]
    return {**_with_ubuntu_versions(variables), **changes}


def _with_ubuntu_versions(variables: dict[str, Any]) -> dict[str, Any]:
    """The versions of Ubuntu's own packages in place of their templates."""
    facts = load_yaml((GROUP_VARS / "all" / "ubuntu_versions.yml").read_text())
    versions = facts["ubuntu_versions"][facts["ubuntu_release"]]
    text = json.dumps(variables)
    for name, version in ((n, v) for n, v in versions.items() if isinstance(v, str)):
        text = text.replace("{{ ubuntu_versions[ubuntu_release]." + name + " }}", version)
    found: dict[str, Any] = json.loads(text.replace("{{ ubuntu_release }}", facts["ubuntu_release"]))
    return found


def smi_xml() -> str:
    """Recorded output of `nvidia-smi -q -x` for eight H100 SXM5 in a virtual machine with PCIe generation 4."""
    return recorded("nvidia-smi/sparecores/gcp-a3-highgpu-8g.xml").read_text()


def edit_gpu(xml: str, index: int, edits: dict[str, str]) -> str:
    """Replace texts in the `<gpu>` element with this index; each text must exist."""
    starts = [m.start() for m in re.finditer(r"<gpu id=", xml)] + [len(xml)]
    gpu = xml[starts[index] : starts[index + 1]]
    for old, new in edits.items():
        assert old in gpu, old
        gpu = gpu.replace(old, new)
    return xml[: starts[index]] + gpu + xml[starts[index + 1] :]


def without_gpus(xml: str, *indices: int) -> str:
    """Remove GPUs from the XML, as if they had fallen off the bus."""
    for index in sorted(indices, reverse=True):
        starts = [m.start() for m in re.finditer(r"<gpu id=", xml)]
        ends = [m.end() for m in re.finditer(r"</gpu>", xml)]
        xml = xml[: starts[index]] + xml[ends[index] :]
    left = len(re.findall(r"<gpu id=", xml))
    return re.sub(r"<attached_gpus>\d+<", f"<attached_gpus>{left}<", xml)


def nvlinks(gpus: int = 8, links: int = 18) -> str:
    """Output of `nvidia-smi nvlink -s` for a whole board, in the recorded format of one H100."""
    one = recorded("nvidia-smi/capture-h100-80gb-hbm3-590.48.01/capabilities-nvlink-s.txt").read_text().splitlines()
    header, rows = one[0], [line for line in one[1:] if "Link" in line][:links]
    return "\n".join("\n".join([header.replace("GPU 0", f"GPU {g}"), *rows]) for g in range(gpus))


def topology(near: dict[int, int] | None = None) -> str:
    """Output of `nvidia-smi topo -m` with HCA i on the PCIe switch of GPU i, or of GPU `near[i]`."""
    lines = ["\t" + "\t".join(f"GPU{g}" for g in range(8)) + "\tCPU Affinity\tNUMA Affinity"]
    lines += [f"GPU{g}\t" + "\t".join(" X " if g == o else "NV18" for o in range(8)) + "\t0-55\t0" for g in range(8)]
    for h in range(8):
        gpu = (near or {}).get(h, h)
        lines.append(f"NIC{h}\t" + "\t".join("PXB" if g == gpu else "SYS" for g in range(8)))
    return "\n".join([*lines, "", "NIC Legend:", "", *(f"  NIC{h}: mlx5_{h}" for h in range(8))])


def lay_hcas(root: Path, **changed: dict[str, str]) -> None:
    """Write eight HCAs in the recorded format below `root`; `mlx5_3={"rate": "200 Gb/sec (4X HDR)"}` changes files of a port."""
    source = recorded("rdma-sysfs/gpud-h100/mlx5_0")
    for index in range(8):
        name = f"mlx5_{index}"
        port = root / "sys/class/infiniband" / name / "ports/1"
        port.mkdir(parents=True)
        (port.parents[1] / "fw_ver").write_text((source / "fw_ver").read_text())
        for file in ("state", "phys_state", "rate", "link_layer"):
            (port / file).write_text(changed.get(name, {}).get(file) or (source / "ports/1" / file).read_text())
        lay_pcie(root, f"sys/class/infiniband/{name}", f"0000:{0x61 + index:02x}", **changed.get(name, {}))


def lay_pcie(root: Path, owner: str, bus: str, **files: str) -> None:
    """Write a PCI function below its port, both of generation 5 with 16 lanes, and the link `device` of `owner` to it; `files` changes the function's."""
    port = root / f"sys/devices/pci{bus}/0000:00:01.0"
    function = port / f"{bus}:00.0"
    function.mkdir(parents=True)
    link = {"max_link_speed": "32.0 GT/s PCIe", "max_link_width": "16", "current_link_speed": "32.0 GT/s PCIe", "current_link_width": "16"}
    counters = {
        "aer_dev_fatal": "DLP 0\nTOTAL_ERR_FATAL 0",
        "aer_dev_nonfatal": "TOTAL_ERR_NONFATAL 0",
        "aer_dev_correctable": "TOTAL_ERR_COR 0",
    }
    for name, text in (link | counters | {"vendor": "0x15b3", "class": "0x020700", "iommu_group/type": "identity"} | files).items():
        (function / name).parent.mkdir(exist_ok=True)
        (function / name).write_text(text + "\n")
    for name, text in (link | {"class": "0x060400", "uevent": f"PCI_SLOT_NAME={bus}:01.0"}).items():
        (port / name).write_text(text + "\n")
    devices = root / "sys/bus/pci/devices"
    devices.mkdir(parents=True, exist_ok=True)
    (devices / function.name).symlink_to(function)
    (root / owner).mkdir(parents=True, exist_ok=True)
    (root / owner / "device").symlink_to(function)
    unit = root / "sys/class/iommu/dmar0"
    unit.mkdir(parents=True, exist_ok=True)


def lay_pci(root: Path, gpus: int = 8) -> None:
    """Write GPUs and NVSwitches on the PCI bus below `root`."""
    devices = [(f"0000:{0x10 + g:02x}:00.0", "0x030200") for g in range(gpus)] + [(f"0000:0{s}:00.0", "0x068000") for s in range(5, 9)]
    for bus, code in devices:
        folder = root / "sys/bus/pci/devices" / bus
        folder.mkdir(parents=True)
        (folder / "vendor").write_text("0x10de\n")
        (folder / "class").write_text(code + "\n")


DPKG = r"dpkg-query -W -f ${Package}\t${Version}\t${db:Status-Want}\t${db:Status-Status}\n"


def dpkg(packages: list[dict[str, Any]], **changed: tuple[str, str]) -> str:
    """Output of dpkg-query if `packages` are installed and held; `name=(version, selection)` changes one, an empty version removes it."""
    rows = {p["name"]: (p["version"], "hold") for p in packages} | {name.replace("_", "-"): row for name, row in changed.items()}
    return "".join(f"{name}\t{version}\t{want}\tinstalled\n" for name, (version, want) in rows.items() if version)


def on_rpm(packages: list[dict[str, Any]]) -> dict[str, CommandResult | str]:
    """The package lists of a node of EL with these packages."""
    return {DPKG: CommandResult(None, error="not found"), " ".join(RPM_LIST): "".join(f"{p['name']}\t{p['version']}\n" for p in packages)}


def dnf_files(packages: list[dict[str, Any]]) -> dict[str, str | None]:
    """The files of dnf there, which keeps these packages at their version."""
    return {"/etc/dnf/dnf.conf": "[main]\n", VERSIONLOCK: "".join(f"{p['name']}-{p['version']}\n" for p in packages)}


def systemctl(name: str) -> str:
    """The command that queries one unit."""
    return f"systemctl show -p Id,LoadState,ActiveState,UnitFileState -- {name}"


def unit(active: str = "active", file: str = "enabled") -> str:
    """The output of that command."""
    return f"LoadState=loaded\nActiveState={active}\nUnitFileState={file}\n"
