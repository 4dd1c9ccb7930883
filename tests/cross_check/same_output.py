"""Programs that read files: real and simulated run over the same files, and their whole outputs are compared (commands.yml)."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from clusterctl_lab.simulator.hardware_kinds import KINDS
from cross_check import verbs
from cross_check.comparison import Comparison, Normalisation, ToolReport
from cross_check.world import World, simulated
from support.plain_yaml import load_yaml
from support.unpacked_tools import which

if TYPE_CHECKING:
    from collections.abc import Sequence

_ENTRIES: dict[str, dict[str, Any]] = {
    entry["tool"]: entry for entry in load_yaml(Path(__file__).with_name("commands.yml").read_text(encoding="utf-8"))
}
LANES = {"name": "hca_pcie_lanes", "device": "mlx5_2", "option": "4"}
TOOLS = tuple(_ENTRIES)


def why_missing(tool: str) -> str:
    """What is absent to run it; empty if nothing is."""
    return tool if not which(tool) else verbs.missing() if _ENTRIES[tool].get("verbs") else ""


def compare(tools: Sequence[str], worlds: Sequence[World] = ()) -> list[ToolReport]:
    """Run all commands of the tools on every machine of `machines`, or on these."""
    found: dict[str, list[Comparison]] = {name: [] for name in tools}
    libraries = {"LD_LIBRARY_PATH": verbs.library_path()} if any(_ENTRIES[name].get("verbs") for name in tools) else {}
    plan = [(name, [name, *words]) for name in tools for words in _ENTRIES[name]["commands"]]
    for world in worlds or machines():
        pairs = [argv for name, words in plan for argv in (words, simulated(_ENTRIES[name]["module"], words))]
        answers = world.run(pairs, **libraries)
        for (name, words), real, own in zip(plan, answers[::2], answers[1::2], strict=True):
            rules = tuple(Normalisation(**rule) for rule in _ENTRIES[name].get("normalise", ()))
            found[name].append(Comparison(name, world.name, " ".join(words), real.text, own.text, rules))
    return [ToolReport(name, version(_ENTRIES[name]["version"]), rows) for name, rows in found.items()]


def version(argv: list[str]) -> str:
    """The first line of what a real program prints about its version."""
    answer = World("hgx_h100").run([argv])[0]
    return next(iter((answer.stdout + answer.stderr).strip().splitlines()), "")


def machines() -> list[World]:
    """Every kind of hardware healthy, faults that the files show, and a machine without adapters."""
    broken = ({"name": "hca_downtrained", "device": "mlx5_1", "option": "100"}, {"name": "gpu_missing", "device": "3"}, LANES)
    without = World("hgx_h100", prepare=(("sh", "-c", "rm -r /sys/class/infiniband/*"),), note="without adapters")
    return [*(World(name) for name in KINDS), World("hgx_h100", faults=broken), without]
