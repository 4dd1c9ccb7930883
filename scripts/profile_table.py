"""docs/reference/profiles.md, from what every profile resolves to; `--check` fails where it is stale."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

import yaml

from clusterctl.adapters.inventory.load import list_hosts, load_profile

if TYPE_CHECKING:
    from clusterctl.model.node import NodeSpec

ROOT = Path(__file__).resolve().parents[1]
COMMON = ROOT / "inventory" / "common"
PAGE = ROOT / "docs" / "reference" / "profiles.md"
SOURCES = Path(__file__).with_name("profile_sources.yml")
HEAD = """<!-- Written by scripts/profile_table.py. -->

# Profiles

What clusterctl declares for a kind of node before a site says anything. `clusterctl profile list` names them, `clusterctl profile show profile-gb300-nvl72`
shows every value, `clusterctl profile check` checks all of them. Each value has its source beside it, in `inventory/common/group_vars`.

A node is put into a profile; what several profiles share is in the groups above it, and the deeper group wins:

| group | what it holds |
|---|---|
| `gpu_nodes` | what every node has: tuning of the OS, network stack, CUDA, what burn-in measures |
| `platform_hgx` | x86 nodes with NVSwitches on the board: kernel, huge pages, BIOS, driver with fabric manager |
| `platform_nvl72` | Grace trays of an NVL72 rack: arm64 kernel with 64 KiB pages, driver with IMEX, the NVLink domain; no BIOS attributes |
| `fabric_ib`, `fabric_ib_*` | InfiniBand: ports, limits of counters, link type, the fabric's bars |
| `profile_hgx_<gpu>` | a GPU: what the machine must have, the GPU's bars |
| `profile_<sku>` | what nodes are in |

Nothing here has run on the real machines of these profiles but what the sources say of them; floors whose source begins with "derived" are to be raised to what a
site measures (`gates_baselines_site`). Names of HCAs differ between vendors' boards: a site sets `hardware_hcas` and what follows from it.

"""
SOURCES_HEAD = """
## Sources looked for once more

Values whose source was in doubt. What nothing public confirms says so, and what it was derived from (`scripts/profile_sources.yml`).

"""


def main(argv: list[str]) -> int:
    """Write the page, or with `--check` say whether it is stale."""
    text = page()
    stale = not PAGE.exists() or PAGE.read_text(encoding="utf-8") != text
    if stale and "--check" not in argv:
        PAGE.write_text(text, encoding="utf-8")
    if stale:
        print(f"{'stale' if '--check' in argv else 'wrote'}: {PAGE.relative_to(ROOT)}")
    return int("--check" in argv and stale)


def page() -> str:
    """The page."""
    specs = {name: load_profile([COMMON], name, content=ROOT) for name in list_hosts([COMMON]).idle_profiles}
    parts = [HEAD, "## Machine and stack\n\n", _table("profile", _MACHINE, specs)]
    parts += ["\n## Roles\n\n", *(f"- `{name}`: {', '.join(f'`{r}`' for r in spec.roles)}\n" for name, spec in specs.items())]
    parts += ["\n## Floors of burn-in\n\n", _floors(specs), SOURCES_HEAD, _sources()]
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


def _table(first: str, columns: tuple[str, ...], specs: dict[str, NodeSpec]) -> str:
    rows = [[f"`{name}`", *_machine(spec)] for name, spec in specs.items()]
    lines = [[first, *columns], ["---"] * (len(columns) + 1), *rows]
    return "".join(f"| {' | '.join(cells)} |\n" for cells in lines)


def _floors(specs: dict[str, NodeSpec]) -> str:
    lines = ["| profile | gate | floor | source |\n", "|---|---|---|---|\n"]
    for name, spec in specs.items():
        lines += [
            f"| `{name}` | `{bar['gate']}` {bar['metric']} | {bar['value']:g} {bar['unit']} | {bar['source']} |\n"
            for bar in spec.gates["gates_baselines"]
            if bar["kind"] == "floor"
        ]
    return "".join(lines)


def _sources() -> str:
    lines = ["| value | where | |\n", "|---|---|---|\n"]
    for row in yaml.safe_load(SOURCES.read_text(encoding="utf-8")):
        said = ", ".join(f"<{url}>" for url in row.get("sources", ())) if row["status"] == "confirmed" else "not confirmed; derived"
        lines.append(f"| {row['value']} | {row['where']} | {said}: {row['note'].strip()} |\n")
    return "".join(lines)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
