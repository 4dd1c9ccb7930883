"""Programs that read files: real and simulated run over the same files, and their whole outputs are compared (commands.yml)."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Any

import yaml

from clusterctl_lab.simulator.hardware_kinds import KINDS
from cross_check import verbs
from cross_check.comparison import Comparison, Normalisation, ToolReport
from cross_check.world import World, simulated
from support.unpacked_tools import which

_COMMANDS = Path(__file__).with_name("commands.yml")


@cache
def entries() -> dict[str, dict[str, Any]]:
    """The programs by name."""
    return {entry["tool"]: entry for entry in yaml.safe_load(_COMMANDS.read_text(encoding="utf-8"))}


def available() -> list[str]:
    """The programs that are installed or unpacked here."""
    return [name for name in entries() if not why_missing(name)]


def why_missing(tool: str) -> str:
    """What is absent to run it; empty if nothing is."""
    return tool if not which(tool) else verbs.missing() if entries()[tool].get("verbs") else ""


def compare(tools: list[str], machines: list[World]) -> list[ToolReport]:
    """Run all commands of the tools on every machine."""
    found: dict[str, list[Comparison]] = {name: [] for name in tools}
    libraries = {"LD_LIBRARY_PATH": verbs.library_path()} if any(entries()[name].get("verbs") for name in tools) else {}
    plan = [(name, [name, *words]) for name in tools for words in entries()[name]["commands"]]
    for world in machines:
        pairs = [argv for name, words in plan for argv in (words, simulated(entries()[name]["module"], words))]
        answers = world.run(pairs, **libraries)
        for (name, words), real, own in zip(plan, answers[::2], answers[1::2], strict=True):
            rules = tuple(Normalisation(**rule) for rule in entries()[name].get("normalise", ()))
            found[name].append(Comparison(name, world.name, " ".join(words), real.text, own.text, rules))
    return [ToolReport(name, version(entries()[name]["version"]), rows) for name, rows in found.items()]


def version(argv: list[str]) -> str:
    """The first line of what a real program prints about its version."""
    answer = World("hgx_h100").run([argv])[0]
    return next(iter((answer.stdout + answer.stderr).strip().splitlines()), "")


def machines() -> list[World]:
    """Every kind of hardware healthy, faults that the files show, and a machine without adapters."""
    broken = ({"name": "hca_downtrained", "device": "mlx5_1", "option": "100"}, {"name": "gpu_missing", "device": "3"})
    without = World("hgx_h100", prepare=(("sh", "-c", "rm -r /sys/class/infiniband/*"),), note="without adapters")
    return [*(World(name) for name in KINDS), World("hgx_h100", faults=broken), without]
