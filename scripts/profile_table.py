"""Writes docs/reference/profiles.md from the resolved profiles; `--check` fails if it is stale."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import yaml

from clusterctl.adapters.inventory.load import list_hosts, load_profile, own_inventory_read_once
from generated_files import ROOT, write_or_check

if TYPE_CHECKING:
    from clusterctl.model.node import NodeSpec

COMMON = ROOT / "inventory" / "common"
PAGE = ROOT / "docs" / "reference" / "profiles.md"
SOURCES = Path(__file__).with_name("profile_sources.yml")
HEAD = """<!-- Written by scripts/profile_table.py. -->

# Profiles

A profile declares a kind of node. `clusterctl profile list` lists the profiles, `clusterctl profile show profile-gb300-nvl72` shows all values of one,
`clusterctl profile check` checks all of them. The source of each value is next to it in `inventory/common/group_vars`.

A node is a member of one profile. Parent groups hold the values that several profiles share; the value of the deeper group takes precedence:

| group | content |
|---|---|
| `gpu_nodes` | all nodes: OS tuning, network stack, CUDA, burn-in gates |
| `platform_hgx` | x86 nodes with NVSwitches on the board: kernel, huge pages, BIOS, driver with fabric manager |
| `platform_nvl72` | Grace trays of an NVL72 rack: arm64 kernel with 64 KiB pages, driver with IMEX, NVLink domain; BIOS attributes of NVIDIA's own trays |
| `fabric_ib`, `fabric_ib_*` | InfiniBand: ports, counter limits, link type, baselines of the fabric |
| `fabric_roce`, `fabric_roce_*` | RoCE: what NICs and switches agree on, rails, link type, baselines; `_planes_`: adapters split into two ports |
| `fabric_spectrum_x_x8` | RoCE on Spectrum-X switches with BlueField-3 SuperNICs |
| `profile_hgx_<gpu>`, `profile_<gpu>` | a GPU: required hardware, baselines of the GPU |
| `profile_<sku>` | the profile of a node |

These profiles have not been run on the machines that they describe; their values come from the listed sources. Replace floors whose source begins with "derived" by
values measured at the site (`gates_baselines_site`). HCA names differ between vendors: a site declares `hardware_hcas` and the variables that depend on it,
best [by PCI address](fabric.md#which-card-a-name-stands-for), as `dgx_h100_ib` does.

"""
SOURCES_HEAD = """
## Reviewed sources

Values whose source was uncertain. A value that no public source confirms is marked, with an explanation of how it was derived (`scripts/profile_sources.yml`).

"""


def main(argv: list[str]) -> int:
    """Write the page, or with `--check` report whether it is stale."""
    return write_or_check({PAGE: page()}, argv)


def page() -> str:
    """The text of the page."""
    with own_inventory_read_once([COMMON]):
        specs = {name: load_profile([COMMON], name, content=ROOT) for name in list_hosts([COMMON]).idle_profiles}
    parts = [HEAD, "## Machine and stack\n\n", _table("profile", _MACHINE, specs)]
    parts += ["\n## Roles\n\n", *(f"- `{name}`: {', '.join(f'`{r}`' for r in spec.roles)}\n" for name, spec in specs.items())]
    parts += ["\n## Limits of burn-in\n\n", _limits(specs), SOURCES_HEAD, _sources()]
    return "".join(parts)


def _machine(spec: NodeSpec) -> list[str]:
    hardware, driver, kernel = spec.roles["hardware"], spec.roles["nvidia_driver"], spec.roles["kernel"]
    rates = sorted({f"{h['link_layer']} {h['rate_gbps']:g}" for h in hardware["hardware_hcas"]})
    return [
        f"{hardware['hardware_gpus']} x {hardware['hardware_gpu_model']}",
        f"{hardware['hardware_gpu_power_limit_w']} W, {hardware['hardware_gpu_nvlinks']} NVLinks",
        f"{len(hardware['hardware_hcas'])} x {', '.join(rates)}",
        f"{driver['nvidia_driver_version']}, {driver['nvidia_driver_fabric']}",
        kernel["kernel_release"],
        spec.roles["nccl"]["nccl_version"],
    ]


_MACHINE = ("GPUs", "each with", "HCAs, Gb/s", "driver, fabric", "kernel", "NCCL")


# Of the limits that decide; a floor is what a reader expects.
_SIGNS = {"floor": "", "upper_limit": "at most "}


def _table(first: str, columns: tuple[str, ...], specs: dict[str, NodeSpec]) -> str:
    rows = [[f"`{name}`", *_machine(spec)] for name, spec in specs.items()]
    lines = [[first, *columns], ["---"] * (len(columns) + 1), *rows]
    return "".join(f"| {' | '.join(cells)} |\n" for cells in lines)


def _limits(specs: dict[str, NodeSpec]) -> str:
    lines = ["| profile | gate | floor or upper limit | source |\n", "|---|---|---|---|\n"]
    for name, spec in specs.items():
        lines += [
            f"| `{name}` | `{baseline['gate']}` {baseline['metric']}{_number_of_nodes(baseline)} | {_SIGNS[baseline['kind']]}{baseline['value']:g} {baseline['unit']} | {baseline['source']} |\n"
            for baseline in spec.gates["gates_baselines"]
            if baseline["kind"] in _SIGNS
        ]
    return "".join(lines)


def _number_of_nodes(baseline: dict[str, Any]) -> str:
    low, high = baseline.get("nodes_min"), baseline.get("nodes_max")
    return f", {low} nodes or more" if low else f", {high} nodes or fewer" if high else ""


def _sources() -> str:
    lines = ["| value | where | |\n", "|---|---|---|\n"]
    for row in yaml.safe_load(SOURCES.read_text(encoding="utf-8")):
        status = ", ".join(f"<{url}>" for url in row.get("sources", ())) if row["status"] == "confirmed" else "not confirmed; derived"
        lines.append(f"| {row['value']} | {row['where']} | {status}: {row['note'].strip()} |\n")
    return "".join(lines)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
