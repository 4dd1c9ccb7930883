"""What the tools of the GPUs print, by the printers of the lab, with the changes of a fault."""

from __future__ import annotations

import json
import re
from functools import cache
from typing import TYPE_CHECKING, Any
from xml.etree import ElementTree as ET

from clusterctl.model.pcie_hop import PcieHop
from clusterctl_lab.simulator import dcgmi, gpu_modes, machine, nvbandwidth, smi_text, sysfs_pci
from clusterctl_lab.simulator.gpus import GpuView

if TYPE_CHECKING:
    from collections.abc import Sequence

    from faults.rows import Change
    from faults.world import Rack

DRIVER = "580.126.20"
_DCGM = "4.5.2"
# The load keeps every GPU at its power cap for almost a quarter of an hour.
_UNDER_CAP_US = 880_000_000
# Three of the four GPUs of a healthy GB200 tray slowed down by software since the driver was loaded (NVIDIA/k8s-test-infra, qx-gb200.xml).
_SLOWED_ON_A_TRAY_US = (0, 3_400_000, 7_300_000, 5_200_000)
_POWER_CAP = re.compile(r"(?<=<clocks_event_reasons_counters_sw_power_cap>)\d+(?= us<)")
_GTS = {5: 32.0}


@cache
def views(node: str) -> tuple[GpuView, ...]:
    """The GPUs of a healthy node that was provisioned."""
    modes = gpu_modes.GpuModes(mig=False, ecc=True, ecc_pending=True, power_w=float(machine.THIS.gpu_power_limit_w))
    return tuple(
        GpuView(
            gpu=machine.gpu(node, i),
            minor=i,
            fabric=True,
            persistence=True,
            remap_failure=False,
            remapped_rows=0,
            uncorrected_now=0,
            lost=False,
            modes=modes,
            gsp=True,
            sw_therm_us=_SLOWED_ON_A_TRAY_US[i] if machine.THIS.rack_nvlink else 0,
        )
        for i in range(machine.GPUS)
    )


@cache
def _healthy_report(node: str) -> str:
    return smi_text.query_xml(list(views(node)), DRIVER, "13.0")


def report(rack: Rack, node: str, *, loaded: bool) -> str:
    """`nvidia-smi -q -x` before the load, or after it; under load every GPU was held at its power cap."""
    text = _healthy_report(node)
    if loaded:
        text = _POWER_CAP.sub(lambda found: str(int(found[0]) + _UNDER_CAP_US), text)
    changes = [c for c in (*rack.of("smi", node), *rack.of("gpu_gone", node)) if loaded or c.when != "load"]
    return _changed(text, changes) if changes else text


def _changed(text: str, changes: Sequence[Change]) -> str:
    root = ET.fromstring(text)  # noqa: S314 our own text
    gpus = root.findall("gpu")
    for change in changes:
        if change.kind == "gpu_gone":
            root.remove(gpus[change.gpu or 0])
            attached = root.find("attached_gpus")
            assert attached is not None
            attached.text = str(len(root.findall("gpu")))
            continue
        for gpu in gpus if change.gpu is None else [gpus[change.gpu]]:
            element = gpu.find(change.path)
            assert element is not None, change.path
            element.text = change.value
    return ET.tostring(root, encoding="unicode")


def _present(rack: Rack, node: str) -> list[GpuView]:
    gone = {c.gpu for c in rack.of("gpu_gone", node) if c.when != "load"}
    return [view for view in views(node) if view.minor not in gone]


def nvlinks(rack: Rack, node: str) -> str:
    """`nvidia-smi nvlink -s`. A change names a link by `path` and what is printed of it by `value`."""
    return _links_changed(smi_text.nvlink_status(_present(rack, node)), rack.of("nvlink", node))


def nvlink_errors(rack: Rack, node: str, *, loaded: bool) -> str:
    """`nvidia-smi nvlink -e`. A change names link and counter by `path`."""
    changes = [c for c in rack.of("nvlink_errors", node) if loaded or c.when != "load"]
    return _links_changed(smi_text.nvlink_errors(_present(rack, node)), changes)


def _links_changed(text: str, changes: Sequence[Change]) -> str:
    lines, gpu = text.splitlines(), -1
    for number, line in enumerate(lines):
        if line.startswith("GPU "):
            gpu = int(line.split()[1].rstrip(":"))
        for change in (c for c in changes if c.gpu in (None, gpu) and line.strip().startswith(f"Link {c.path}: {_name_in(c.value)}")):
            lines[number] = f"\t Link {change.path}: {change.value}"
    return "\n".join(lines) + "\n"


def _name_in(value: str) -> str:
    """The counter that a line is about; empty for a line of a link's state."""
    name, colon, _ = value.partition(":")
    return name + colon if colon else ""


def topology(rack: Rack, node: str) -> str:
    """`nvidia-smi topo -m`."""
    return smi_text.topology_matrix(_present(rack, node))


def diagnostic(rack: Rack, node: str, level: int) -> str:
    """`dcgmi diag -r LEVEL -j`. A change names a test by `path` and the warning, which is one of DCGM_FR_FAULTY_MEMORY, by `value`."""
    document = dcgmi.diagnostic_document(_present(rack, node), level, _DCGM, DRIVER, plugins=True)
    for change in rack.of("dcgm", node):
        for category in document["DCGM Diagnostic"]["test_categories"]:
            for test in (t for t in category["tests"] if t["name"] == change.path):
                result = next(r for r in test["results"] if r["entity_id"] == change.gpu)
                result |= {
                    "status": "Fail",
                    "warnings": [{"error_category": 10, "error_id": 52, "error_severity": 2, "warning": change.value}],
                }
                test["test_summary"]["status"] = "Fail"
    return json.dumps(document)


def copies(rack: Rack, node: str, cases: Sequence[str]) -> str:
    """`nvbandwidth -j`."""
    entries = [_entry(rack, node, name) for name in cases]
    return json.dumps(
        {"nvbandwidth": {"CUDA Runtime Version": 13000, "Driver Version": DRIVER, "git_version": "v0.8", "testcases": entries}}
    )


def _entry(rack: Rack, node: str, name: str) -> dict[str, Any]:
    count = len(_present(rack, node))
    entry = nvbandwidth.run_test_case(name, count)
    changes = [c for c in rack.of("copy", node) if c.path == name]
    factors = {gpu: c.factor for c in changes for gpu in (range(count) if c.gpu is None else (c.gpu,))}
    matrix = [
        [
            cell
            if cell == "N/A"
            else f"{float(cell) * factors.get(column, 1.0) * rack.spread(rack.noise.copies, node, name, row, column):.6g}"
            for column, cell in enumerate(cells)
        ]
        for row, cells in enumerate(entry["bandwidth_matrix"])
    ]
    return {**entry, "bandwidth_matrix": matrix}


def hops(rack: Rack, node: str) -> tuple[PcieHop, ...]:
    """The links above the GPUs under load: a GPU's own, and the uplink of its switch, if it is below one."""
    found = []
    speed = _GTS[machine.THIS.pcie_gen]
    for view in _present(rack, node):
        address = machine.THIS.gpu_addresses[view.minor]
        root, *switch = sysfs_pci.ports_of(address)
        own = ("own", address, switch[-1] if switch else root)
        for which, lower, upper in (own, ("uplink", switch[0], root)) if switch else (own,):
            changes = [c for c in rack.of("pcie_hop", node) if c.gpu == view.minor and c.path == which]
            width = next((int(c.value[1:]) for c in changes if c.value.startswith("x")), 16)
            gts = next((float(c.value) for c in changes if not c.value.startswith("x")), speed)
            found.append(PcieHop(address, lower, upper, 40, gts, width, speed, 16))
    return tuple(found)
