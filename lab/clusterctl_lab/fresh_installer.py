"""Nodes as an installer leaves them: what the file fresh_installer.yml declares, handed to a new node before its first boot."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import yaml

from clusterctl_lab.bmc.boot import BootSettings
from clusterctl_lab.bmc.settings import load_settings, save_settings

if TYPE_CHECKING:
    from clusterctl_lab.layout import LabNode, LabPaths

_DATA = Path(__file__).with_suffix(".yml")
FILE = "fresh-installer.json"
BMC_FILE = "bmc.json"


def installer_state() -> dict[str, Any]:
    """The declared state."""
    state: dict[str, Any] = yaml.safe_load(_DATA.read_text(encoding="utf-8"))
    return state


def set_fresh(paths: LabPaths, node: LabNode) -> None:
    """Let the first boot of a new node leave it as an installer does; its BMC has the boot order of a delivered machine."""
    folder, state = paths.node_dir(node.name), installer_state()
    (folder / FILE).write_text(json.dumps(state), encoding="utf-8")
    bmc = folder / BMC_FILE
    save_settings(bmc, replace(load_settings(bmc), boot=BootSettings(order=tuple(state["boot_order"]))))
