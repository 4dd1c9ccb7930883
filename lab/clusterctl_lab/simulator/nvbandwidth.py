"""nvbandwidth: memcpy test cases as text or, with -j, as JSON."""

from __future__ import annotations

import json
import os
import sys
from typing import TYPE_CHECKING, Any

from . import device_variation, gpus, load, machine, pcie_training, state

if TYPE_CHECKING:
    from collections.abc import Sequence

# Test case -> (description, place in `copies_gbs` of the hardware, between GPUs).
_CASES = {
    "host_to_device_memcpy_ce": ("memcpy CE CPU(row) -> GPU(column) bandwidth (GB/s)", 0, False),
    "device_to_host_memcpy_ce": ("memcpy CE CPU(row) <- GPU(column) bandwidth (GB/s)", 1, False),
    "host_to_device_bidirectional_memcpy_ce": ("memcpy CE CPU(row) <-> GPU(column) bandwidth (GB/s)", 2, False),
    "device_to_device_memcpy_read_ce": ("memcpy CE GPU(row) -> GPU(column) bandwidth (GB/s)", 3, True),
    "device_to_device_memcpy_write_ce": ("memcpy CE GPU(row) <- GPU(column) bandwidth (GB/s)", 3, True),
}


def main(argv: list[str], version: str) -> int:
    """Run the test cases given with -t, or all."""
    if {"-h", "--help"} & set(argv):
        print(
            f"nvbandwidth Version: v{version} (simulated)\nnvbandwidth CLI:\n  -h [ --help ]  Produce help message\n  -t [ --testcase ] arg  Testcase(s) to run\n  -j [ --json ]  Print output in json format"
        )
        return 0
    try:
        driver = gpus.require_driver(gpus.library_version())
        views = gpus.gpu_views()
        gpus.require_no_lost_gpu(views)
        gpus.require_fabric(views)
    except gpus.NoDriverError as e:
        print(e, file=sys.stderr)
        return 1
    print("clusterctl-lab: simulated", file=sys.stderr)
    names = _requested_cases(argv[1:]) or list(_CASES)
    unknown = [n for n in names if n not in _CASES]
    if unknown:
        print(f"ERROR: Testcase {unknown[0]} not found!", file=sys.stderr)
        return 1
    load.begin()
    faults = state.read_faults()
    with pcie_training.under_load():
        cases = [run_test_case(name, len(views), [pcie_training.share(faults, view.gpu.index) for view in views]) for name in names]
    if {"-j", "--json"} & set(argv):
        whole = {"CUDA Runtime Version": 13000, "Driver Version": driver, "git_version": f"v{version} (simulated)", "testcases": cases}
        print(json.dumps({"nvbandwidth": whole}, indent=1))
    else:
        print("".join(_text(c) for c in cases), end="")
    return 0


def _requested_cases(words: list[str]) -> list[str]:
    names: list[str] = []
    taking = False
    for word in words:
        if word.startswith("-"):
            taking = word in ("-t", "--testcase")
        elif taking:
            names.append(word)
    return names


def run_test_case(name: str, count: int, shares: Sequence[float] = ()) -> dict[str, Any]:
    """The result of one test case, an entry of `testcases` in the JSON document. `shares`: what is left of the bandwidth between host and each GPU."""
    description, place, between = _CASES[name]
    gbs = machine.THIS.copies_gbs[place]
    node = os.uname().nodename
    rows = range(count) if between else range(1)
    lanes = shares if shares and not between else [1.0] * count
    values = [
        [None if between and r == c else gbs * lanes[c] * device_variation.variation_factor(node, name, f"{r}-{c}") for c in range(count)]
        for r in rows
    ]
    matrix = [["N/A" if v is None else f"{v:.6g}" for v in row] for row in values]
    total = sum(v for row in values for v in row if v is not None)
    return {"bandwidth_description": description, "bandwidth_matrix": matrix, "name": name, "status": "Passed", "sum": total}


def _text(entry: dict[str, Any]) -> str:
    width = len(entry["bandwidth_matrix"][0])
    lines = [f"Running {entry['name']}.", entry["bandwidth_description"], "  " + "".join(f"{i:>10}" for i in range(width))]
    lines += [f"{i:<2}" + "".join(f"{cell:>10}" for cell in row) for i, row in enumerate(entry["bandwidth_matrix"])]
    return "\n".join([*lines, "", f"SUM {entry['name']} {entry['sum']:.2f}", "", ""])
