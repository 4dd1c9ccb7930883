#!/usr/bin/python3
"""Written by clusterctl, role infiniband; changes are overwritten. The declared state is in /etc/clusterctl/infiniband.json.

clusterctl-infiniband apply|check [--wait-s N]: IP over InfiniBand; one line per setting that differs from the declared one; exit 1 if any does.
clusterctl-infiniband counters clear|snapshot|keep: store a snapshot of the counters of all ports, after clearing them, or as they are, or only of ports whose
counters began anew since the stored one.
"""

from __future__ import annotations

import argparse
import ipaddress
import json
import re
import subprocess
import sys
import time
from datetime import datetime, timezone
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

CONFIG = "/etc/clusterctl/infiniband.json"
SNAPSHOT = "/run/clusterctl/infiniband-counters.json"
BOOT_ID = "/proc/sys/kernel/random/boot_id"


class UnansweredError(Exception):
    """The node does not answer, or rejects a setting."""


def run(*argv: str) -> str:
    """The output of a command. Raises UnansweredError if it fails."""
    try:
        done = subprocess.run(argv, capture_output=True, text=True, timeout=60, check=False)
    except (OSError, subprocess.TimeoutExpired) as e:
        raise UnansweredError(f"{argv[0]}: {e}") from e
    if done.returncode:
        raise UnansweredError(f"{' '.join(argv)}: {' '.join((done.stderr or done.stdout).split()) or done.returncode}")
    return done.stdout


def read_file(path: str) -> str:
    """The stripped text of a file. Raises UnansweredError if it cannot be read."""
    try:
        return Path(path).read_text(encoding="utf-8").strip()
    except OSError as e:
        raise UnansweredError(f"{path}: {e.strerror}") from e


def interface_of(row: dict[str, Any], root: str) -> str:
    """The interface of a port: of several on one PCI function, the one with the matching dev_port."""
    if row["interface"]:
        return str(row["interface"])
    found = sorted(Path(f"{root}/sys/class/infiniband/{row['device']}/device/net").glob("*"))
    same = [p for p in found if len(found) == 1 or read_file(f"{p}/dev_port") == str(row["port"] - 1)]
    own = [p for p in same if not is_made_of_it(p)] if len(same) > 1 else same
    return (own or same)[0].name if same else ""


def is_made_of_it(path: Path) -> bool:
    """Whether an interface represents a virtual function (`pf0vf3`, `c1pf0sf88`; the port itself is `p0`), or is a child of IPoIB."""
    try:
        name = read_file(f"{path}/phys_port_name")
    except UnansweredError:
        name = ""
    return bool(re.match(r"(c\d+)?pf\d", name)) or (path / "parent").exists()


def settings(row: dict[str, Any], name: str, root: str) -> Iterator[tuple[str, str, Callable[[], str], Callable[[], Any]]]:
    """The declared settings: name, value, reader, writer. The mode comes before the MTU, because it limits the MTU."""
    mode, mtu = f"{root}/sys/class/net/{name}/mode", str(row["mtu"])

    def shown() -> dict[str, Any]:
        link: dict[str, Any] = json.loads(run("ip", "-j", "addr", "show", "dev", name))[0]
        return link

    yield "mode", row["mode"], lambda: read_file(mode), lambda: set_mode(name, mode, row["mode"])
    yield "mtu", mtu, lambda: str(shown()["mtu"]), lambda: run("ip", "link", "set", "dev", name, "mtu", mtu)
    yield "up", "up", lambda: "up" if "UP" in shown()["flags"] else "down", lambda: run("ip", "link", "set", "dev", name, "up")
    if row["address"]:
        own = str(ipaddress.ip_interface(row["address"]))

        def present() -> str:
            found = [f"{a['local']}/{a['prefixlen']}" for a in shown()["addr_info"]]
            return own if own in found else ", ".join(found) or "none"

        yield "address", own, present, lambda: run("ip", "addr", "add", own, "dev", name)


def set_mode(name: str, path: str, mode: str) -> None:
    """Set the mode; the driver accepts it only while the interface is down."""
    run("ip", "link", "set", "dev", name, "down")
    try:
        Path(path).write_text(mode, encoding="utf-8")
    except OSError as e:
        raise UnansweredError(f"{path}: {e.strerror}") from e


def differences(declared: dict[str, Any], mode: str, root: str) -> Iterator[str]:
    """Settings that differ from the declared ones; in mode apply, those that still differ after they were written."""
    for row in declared["ipoib"]:
        name = interface_of(row, root)
        if not name:
            yield f"{row['device']} interface: none, declared one"
            continue
        for what, expected, read, write in settings(row, name, root):
            try:
                now = read()
                if now != expected and mode == "apply":
                    write()
                    now = read()
            except UnansweredError as e:
                now = str(e)
            if now != expected:
                yield f"{row['device']} {what}: {now}, declared {expected}"


def wait_for_interfaces(declared: dict[str, Any], root: str, wait_s: float) -> None:
    """Wait for the adapters, which come back one by one after a reset."""
    deadline = time.monotonic() + wait_s
    while time.monotonic() < deadline and not all(interface_of(row, root) for row in declared["ipoib"]):
        time.sleep(0.2)


def counters(declared: dict[str, Any], root: str, what: str) -> None:
    """Store a snapshot of the counters; `clear` clears them before, `keep` keeps what is stored of a port that was not reset since.

    It includes the boot id: counters restart with the adapter.
    """
    now = datetime.now(timezone.utc).isoformat(timespec="seconds")  # noqa: UP017 Python 3.8
    boot_id = read_file(root + BOOT_ID)
    stored = stored_snapshot(root, boot_id) if what == "keep" else {}
    found: dict[str, dict[str, int]] = {}
    for row in declared["ports"]:
        port = f"{row['device']}/{row['port']}"
        if what == "clear":
            run("perfquery", "-R", "-C", row["device"], "-P", str(row["port"]))
        folder = Path(f"{root}/sys/class/infiniband/{row['device']}/ports/{row['port']}")
        files = [*folder.glob("counters/*"), *folder.glob("hw_counters/*")]
        if not files:
            raise UnansweredError(f"{port} has no counters")
        texts = {f.name: read_file(str(f)) for f in sorted(files)}
        found[port] = {name: int(text) for name, text in texts.items() if text.isdigit()}
    kept = {port for port, values in stored.get("ports", {}).items() if port in found and not was_reset(values, found[port])}
    times = {port: stored["times"].get(port, stored["taken_at"]) if port in kept else now for port in found}
    found.update((port, stored["ports"][port]) for port in kept)
    snapshot = {
        "taken_at": min(times.values(), default=now),
        "times": times,
        "boot_id": boot_id,
        "cleared": what == "clear",
        "ports": found,
    }
    target = Path(root + SNAPSHOT)
    target.parent.mkdir(parents=True, exist_ok=True)
    fresh = target.with_suffix(".new")
    fresh.write_text(json.dumps(snapshot, indent=1) + "\n", encoding="utf-8")
    fresh.replace(target)


def stored_snapshot(root: str, boot_id: str) -> dict[str, Any]:
    """The snapshot of this boot; empty if there is none, or none that can be read."""
    try:
        data = json.loads(Path(root + SNAPSHOT).read_text(encoding="utf-8"))
        ports = {str(p): {str(n): int(v) for n, v in counted.items()} for p, counted in data["ports"].items()}
        times = {str(p): str(at) for p, at in data.get("times", {}).items()}
        same = data["boot_id"] == boot_id
        return {"taken_at": str(data["taken_at"]), "times": times, "ports": ports} if same else {}
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        return {}


def was_reset(then: dict[str, int], now: dict[str, int]) -> bool:
    """Whether counters of a port began anew: one went down, or is gone."""
    return any(now.get(name, -1) < value for name, value in then.items())


def main() -> int:
    """Check, apply, or take a snapshot. Returns 1 if a setting differs from the declared one."""
    parser = argparse.ArgumentParser(prog="clusterctl-infiniband")
    parser.add_argument("mode", choices=["apply", "check", "counters"])
    parser.add_argument("what", nargs="?", choices=["clear", "snapshot", "keep"])
    parser.add_argument("--wait-s", type=float, default=0)
    parser.add_argument("--root", default="")
    parser.add_argument("--declared", default="", help="this state, as JSON, instead of that of the file")
    options = parser.parse_args()
    if (options.mode == "counters") != bool(options.what):
        parser.error("counters clear, counters snapshot, or counters keep")
    declared = json.loads(options.declared or read_file(options.root + CONFIG))
    if options.mode == "counters":
        counters(declared, options.root, options.what)
        return 0
    wait_for_interfaces(declared, options.root, options.wait_s)
    lines = list(differences(declared, options.mode, options.root))
    sys.stdout.writelines(f"{line}\n" for line in lines)
    return 1 if lines else 0


if __name__ == "__main__":
    try:
        sys.exit(main())
    except UnansweredError as error:
        sys.exit(f"clusterctl-infiniband: {error}")
