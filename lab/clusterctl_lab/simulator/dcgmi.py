"""dcgmi: diag -r LEVEL [-j], discovery -l, --version."""

from __future__ import annotations

import json
import socket
import sys
from typing import Any

from . import load, machine, state
from .daemons import HOSTENGINE_PORT
from .gpus import GpuView, NoDriverError, gpu_views, library_version, require_driver, require_no_lost_gpu

# Test -> (category, lowest level that includes it).
_TESTS = {
    "software": ("Deployment", 1),
    "memory": ("Hardware", 2),
    "pcie": ("Integration", 2),
    "diagnostic": ("Hardware", 3),
    "nvbandwidth": ("Hardware", 3),
    "memory_bandwidth": ("Stress", 3),
    "targeted_stress": ("Stress", 3),
    "targeted_power": ("Stress", 3),
    "memtest": ("Hardware", 4),
    "pulse_test": ("Hardware", 4),
}
_PLUGINS = "datacenter-gpu-manager-4-cuda13"


def main(argv: list[str], version: str) -> int:
    """Run a subcommand of dcgmi."""
    words = argv[1:]
    if "--version" in words or "-v" in words:
        print(f"\ndcgmi  version: {version}\n(simulated)")
        return 0
    if not _hostengine():
        print("Error: unable to establish a connection to the specified host: localhost")
        print("Error: Unable to connect to host engine. Host engine connection invalid/disconnected.")
        return 255
    try:
        driver = require_driver(library_version())
        views = gpu_views()
        require_no_lost_gpu(views)
    except NoDriverError as e:
        print(f"Error: Unable to get the GPUs: {e}")
        return 255
    if words[:1] == ["discovery"]:
        print(discovery_text(views), end="")
        return 0
    if words[:1] == ["diag"]:
        return _diag(words, views, version, driver)
    print(f"dcgmi: not simulated: {' '.join(words)}", file=sys.stderr)
    return 1


def _hostengine() -> bool:
    try:
        with socket.create_connection(("127.0.0.1", HOSTENGINE_PORT), timeout=2):
            return True
    except OSError:
        return False


def _diag(words: list[str], views: list[GpuView], version: str, driver: str) -> int:
    level = next((words[i + 1] for i, w in enumerate(words[:-1]) if w in ("-r", "--run")), "1")
    if level not in ("1", "2", "3", "4"):
        print(f'Error: requested test "{level}" was not found among possible test choices.')
        return 226
    print("clusterctl-lab: simulated", file=sys.stderr)
    load.begin()
    report = diagnostic_document(views, int(level), version, driver, plugins=bool(state.installed_version(_PLUGINS)))
    print(json.dumps(report, indent=2) if {"-j", "--json"} & set(words) else result_table(report))
    return 0 if _passed(report) else 226


def diagnostic_document(views: list[GpuView], level: int, version: str, driver: str, *, plugins: bool) -> dict[str, Any]:
    """The JSON document of DCGM 4. Without the CUDA plug-ins only the software test runs."""
    categories: dict[str, list[dict[str, Any]]] = {}
    for name, (category, first) in _TESTS.items():
        if first <= level:
            results = [_result(name, view, runs=plugins or name == "software") for view in views]
            worst = next((r["status"] for s in ("Fail", "Warn", "Skip") for r in results if r["status"] == s), "Pass")
            categories.setdefault(category, []).append({"name": name, "results": results, "test_summary": {"status": worst}})
    entities = [{"device_id": f"{machine.THIS.gpu_pci_id:04x}", "entity_id": v.minor, "serial_num": v.gpu.serial} for v in views]
    return {
        "DCGM Diagnostic": {"test_categories": [{"category": c, "tests": tests} for c, tests in categories.items()]},
        "entity_groups": [{"entities": entities, "entity_group": "GPU", "entity_group_id": 1}],
        "metadata": {"DCGM Version": version, "Driver Version Detected": driver, "Hardware": "simulated"},
    }


def _result(name: str, view: GpuView, *, runs: bool) -> dict[str, Any]:
    result: dict[str, Any] = {"entity_group": "GPU", "entity_group_id": 1, "entity_id": view.minor, "status": "Pass" if runs else "Skip"}
    # Code, category and severity as DCGM has them (dcgm_errors.h, dcgm_errors.c of v4.6.0).
    warnings = []
    if runs and view.remap_failure and name in ("software", "memory", "memtest"):
        warnings.append(
            (80, 10, 6, f"GPU {view.minor} had uncorrectable memory errors and row remapping failed. Run a field diagnostic on the GPU.")
        )
    if name == "software" and not view.persistence:
        result["info"] = [
            f'Persistence mode for GPU {view.minor} is disabled. Enable persistence mode by running "nvidia-smi -i <gpuId> -pm 1 " as root.'
        ]
    if runs and not view.fabric and name != "software":
        warnings.append((65, 8, 4, f"API call cuInit failed for GPU {view.minor}: 'system not yet initialized'"))
    if warnings:
        result["status"] = "Fail"
        result["warnings"] = [{"error_category": c, "error_id": i, "error_severity": s, "warning": text} for i, c, s, text in warnings]
    return result


def _passed(report: dict[str, Any]) -> bool:
    tests = [t for c in report["DCGM Diagnostic"]["test_categories"] for t in c["tests"]]
    return all(t["test_summary"]["status"] in ("Pass", "Skip") for t in tests)


def result_table(report: dict[str, Any]) -> str:
    """The table that `dcgmi diag` prints without -j."""
    bar = f"+{'-' * 27}+{'-' * 48}+"
    rows = [("Diagnostic", "Result")]
    lines = ["Successfully ran diagnostic for group.", bar, f"| {rows[0][0]:<25} | {rows[0][1]:<46} |", bar.replace("-", "=")]
    for category in report["DCGM Diagnostic"]["test_categories"]:
        edge = "|" if category["category"] == "Deployment" else "+"
        lines.append(f"{edge}{'-----  ' + category['category'] + '  ':-<27}+{'-' * 48}{edge}")
        for test in category["tests"]:
            lines.append(f"| {test['name']:<25} | {test['test_summary']['status']:<46} |")
            lines += [f"| {'':<25} | {'GPU' + str(r['entity_id']) + ': ' + r['status']:<46} |" for r in test["results"]]
    return "\n".join([*lines, bar])


def discovery_text(views: list[GpuView]) -> str:
    """The output of `dcgmi discovery -l`."""
    bar = f"+--------+{'-' * 70}+\n"
    text = f"{len(views)} GPUs found.\n{bar}| GPU ID | {'Device Information':<68} |\n{bar}"
    for v in views:
        facts = (f"Name: {machine.THIS.gpu_model}", f"PCI Bus ID: {v.gpu.bus_id}", f"Device UUID: {v.gpu.uuid}")
        text += "".join(f"| {v.minor if i == 0 else '':<6} | {fact:<68} |\n" for i, fact in enumerate(facts)) + bar
    switches = len(machine.THIS.nvswitch_addresses)
    return (
        text
        + f"{switches} NvSwitches found.\n+-----------+\n| Switch ID |\n+-----------+\n"
        + "".join(f"| {i:<9} |\n" for i in range(switches))
        + "+-----------+\n"
    )
