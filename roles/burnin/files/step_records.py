"""The file of a run's records, one line for each step, and how it is completed after a reboot of the node. Standard library, Python 3.8+."""

from __future__ import annotations

import json
import os
from contextlib import suppress
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

BOOT_ID = Path("/proc/sys/kernel/random/boot_id")
BOOT_FILE = "boot_id"
FILE = "records.jsonl"


def new_record(node: str, step: dict[str, Any], error: tuple[str, str]) -> dict[str, Any]:
    """The record of a step that has not run yet, or will not: `error` is a code of clusterctl's GateReason and a text."""
    started = datetime.now(timezone.utc).isoformat(timespec="milliseconds")  # noqa: UP017 Python 3.8
    return {
        "gate": step["gate"], "step": step["name"], "tool": step["tool"], "node": node, "argv": step["argv"],
        "started_at": started, "duration_s": 0.0, "stdout": "", "stderr": "",
        "device": step["device"], "peer": step["peer"], "peer_device": step["peer_device"], "peers": step["peers"],
        "error_code": error[0], "error": error[1], "exit_status": None, "tool_version": "", "simulated": False, "attempts": 0,
        "placement": "", "unpinned": False, "links": [], "trace": [],
    }  # fmt: skip


def note_boot(directory: Path, boot_id: Path = BOOT_ID) -> None:
    """Remember in which boot a run began; on the disk, for a node may lose power at any time."""
    incomplete = directory / f"{BOOT_FILE}.new"
    with incomplete.open("w", encoding="ascii") as file:
        file.write(boot_id.read_text(encoding="ascii"))
        file.flush()
        os.fsync(file.fileno())
    incomplete.rename(directory / BOOT_FILE)  # an agent that was killed before has not rebooted the node
    folder = os.open(directory, os.O_RDONLY)
    os.fsync(folder)
    os.close(folder)


def rebooted(directory: Path, boot_id: Path = BOOT_ID) -> str:
    """The error text of a reboot during the run; empty if there was none. Every step that has no record gets one with it."""
    with suppress(FileNotFoundError):
        began = (directory / BOOT_FILE).read_text(encoding="ascii").strip()
        now = boot_id.read_text(encoding="ascii").strip()
        if began == now:
            return ""
        error = f"the node rebooted during the measurement: boot {began or 'unknown'}, then {now}"
        plan = json.loads((directory / "plan.json").read_text(encoding="utf-8"))
        written = finished(directory)
        with (directory / FILE).open("a", encoding="utf-8") as file:
            for step in plan["steps"]:
                if (step["gate"], step["name"]) not in written:
                    # The line before may be incomplete.
                    file.write("\n" + json.dumps(new_record(plan["node"], step, ("rebooted", error))) + "\n")
        return error
    return ""


def finished(directory: Path) -> set[tuple[str, str]]:
    """Gate and name of the steps that have a record; incomplete lines are none."""
    found = set()
    with suppress(FileNotFoundError):
        for line in (directory / FILE).read_text(encoding="utf-8", errors="replace").splitlines():
            with suppress(ValueError, KeyError, TypeError):
                record = json.loads(line)
                found.add((str(record["gate"]), str(record["step"])))
    return found
