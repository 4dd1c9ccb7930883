#!/usr/bin/python3
"""Written by clusterctl, role roce; changes are overwritten. What is asked is in /etc/clusterctl/roce.json.

clusterctl-roce apply|check [--wait-s N]: one line per setting of a rail that is not as asked; exit 1 if there is any.
"""

from __future__ import annotations

import argparse
import fcntl
import ipaddress
import json
import re
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

CONFIG = "/etc/clusterctl/roce.json"
LOCK = "/run/clusterctl-roce.lock"
PRIORITIES = range(8)


class UnansweredError(Exception):
    """The node does not say, or does not take it."""


@dataclass(frozen=True)
class Setting:
    """One thing to hold: what is asked, how it reads now, how to change it."""

    name: str
    wanted: str
    read: Callable[[], str]
    write: Callable[[], None]


def run(*argv: str) -> str:
    """The output of a command; UnansweredError if it fails."""
    try:
        done = subprocess.run(argv, capture_output=True, text=True, timeout=60, check=False)
    except (OSError, subprocess.TimeoutExpired) as e:
        raise UnansweredError(f"{argv[0]}: {e}") from e
    if done.returncode:
        raise UnansweredError("{}: {}".format(" ".join(argv), " ".join((done.stderr or done.stdout).split()) or done.returncode))
    return done.stdout


_said: dict[tuple[str, ...], str] = {}


def ask(*argv: str) -> str:
    """As `run`, for questions: asked once until something is changed, as one answer of a tool holds many settings."""
    if argv not in _said:
        _said[argv] = run(*argv)
    return _said[argv]


def answer(*argv: str) -> list[dict[str, Any]]:
    """The JSON of a command of iproute2; nothing is an empty list."""
    rows: list[dict[str, Any]] = json.loads(ask(*argv) or "[]")
    return [row for row in rows if row]


def read_file(path: str) -> str:
    """The stripped text of a file; UnansweredError if it cannot be read."""
    try:
        return Path(path).read_text(encoding="utf-8").strip()
    except OSError as e:
        raise UnansweredError(f"{path}: {e.strerror}") from e


def write_file(path: str, value: str) -> None:
    """Write a file of the kernel; UnansweredError if it does not take it."""
    try:
        Path(path).write_text(value, encoding="utf-8")
    except OSError as e:
        raise UnansweredError(f"{path}: {e.strerror}") from e


def found(pattern: str, text: str) -> str:
    """The first group of `pattern` in `text`; empty if it is not there."""
    match = re.search(pattern, text, re.MULTILINE)
    return match.group(1).strip() if match else ""


def flags(on: list[int]) -> str:
    """Priorities as the tools take them: `0,0,0,1,0,0,0,0`."""
    return ",".join(str(int(p in on)) for p in PRIORITIES)


class Rail:
    """One rail and what is asked of it."""

    def __init__(self, asked: dict[str, Any], rail: dict[str, Any], root: str) -> None:
        self.asked = asked
        self.rail = rail
        self.root = root
        self.device = str(rail["device"])
        self.port = str(rail["port"])
        self.sysfs = f"{root}/sys/class/infiniband/{self.device}"
        self.interface = rail["interface"] or self._interface()

    def _interface(self) -> str:
        """The interface of the port: of several functions' netdevs the one whose dev_port counts the same."""
        found_here = sorted(Path(self.sysfs, "device", "net").glob("*"))
        same = [p for p in found_here if len(found_here) == 1 or read_file(f"{p}/dev_port") == str(int(self.port) - 1)]
        return same[0].name if same else ""

    def settings(self) -> Iterator[Setting]:
        """Everything to hold, in the order in which it can be set."""
        for part in (self._link, self._qos, self._congestion, self._marks, self._ip):
            yield from part()

    def _link(self) -> Iterator[Setting]:
        name, asked = self.interface, self.asked
        yield Setting("up", "up", lambda: "up" if "UP" in self._shown()["flags"] else "down", lambda: self._ip_link("up"))
        yield Setting("mtu", str(asked["mtu"]), lambda: str(self._shown()["mtu"]), lambda: self._ip_link("mtu", str(asked["mtu"])))
        for way in ("rx", "tx"):
            if asked["ring_" + way]:
                size = str(asked["ring_" + way])
                pattern = rf"Current hardware settings:(?:\n.*)*?\n{way.upper()}:\s*(\S+)"
                yield Setting(
                    "ring_" + way,
                    size,
                    lambda p=pattern: found(p, ask("ethtool", "-g", name)),
                    lambda w=way, s=size: _run("ethtool", "-G", name, w, s),
                )
        pause = "on" if asked["global_pause"] else "off"
        for way in ("rx", "tx"):
            pattern = rf"^{way.upper()}:\s*(\S+)"
            yield Setting(
                "pause_" + way,
                pause,
                lambda p=pattern: found(p, ask("ethtool", "-a", name)),
                lambda w=way: _run("ethtool", "-A", name, w, pause),
            )

    def _map(self) -> dict[int, int]:
        """What must not move: the priorities of data and of CNPs, and what is declared besides."""
        asked = self.asked
        marked = {asked["dscp"]: asked["priority"], asked["cnp_dscp"]: asked["cnp_priority"]}
        return marked | {int(dscp): int(priority) for dscp, priority in asked["dscp_to_priority"].items()}

    def _qos(self) -> Iterator[Setting]:
        name, asked = self.interface, self.asked

        def shown() -> str:
            return ask("mlnx_qos", "-i", name)

        def setting(what: str, wanted: str, pattern: str, *option: str) -> Setting:
            return Setting(what, wanted, lambda: ",".join(found(pattern, shown()).split()), lambda: _run("mlnx_qos", "-i", name, *option))

        if asked["dcbx"]:
            owner = {"os": "OS", "fw": "Firmware"}[asked["dcbx"]]
            yield setting("dcbx", owner, r"^DCBX mode: (\w+) controlled", "--dcbx", asked["dcbx"])
        if not asked["trust"]:
            return
        yield setting("trust", asked["trust"], r"^Priority trust state: (\w+)", "--trust", asked["trust"])
        for dscp, priority in sorted(self._map().items()) if asked["trust"] == "dscp" else []:
            pattern = rf"prio:(\d) dscp:(?:\d\d,)*{dscp:02d},"
            yield setting(f"dscp_to_priority[{dscp}]", str(priority), pattern, "--dscp2prio", f"set,{dscp},{priority}")
        yield setting(
            "pfc_priorities", flags(asked["pfc_priorities"]), r"^\s*enabled((?:\s+[01]){8})", "--pfc", flags(asked["pfc_priorities"])
        )
        sizes, buffers = (",".join(map(str, asked[k])) for k in ("buffer_size_bytes", "priority_to_buffer"))
        if sizes:
            yield setting("buffer_size_bytes", sizes, r"^Receive buffer size \(bytes\): ((?:\d+,){7}\d+)", "--buffer_size", sizes)
        if buffers:
            yield setting("priority_to_buffer", buffers, r"^\s*buffer((?:\s+\d){8})", "--prio2buffer", buffers)

    def _congestion(self) -> Iterator[Setting]:
        ecn = f"{self.root}/sys/class/net/{self.interface}/ecn/"
        for point in ("roce_np", "roce_rp"):
            for priority in PRIORITIES:
                wanted = str(int(priority in self.asked["ecn_priorities"]))
                yield self._file(f"ecn_priorities.{point}[{priority}]", f"{ecn}{point}/enable/{priority}", wanted)
        yield self._file("cnp_dscp", ecn + "roce_np/cnp_dscp", str(self.asked["cnp_dscp"]))
        yield self._file("cnp_priority", ecn + "roce_np/cnp_802p_prio", str(self.asked["cnp_priority"]))
        for point in ("np", "rp"):
            for name, value in sorted(self.asked[point + "_parameters"].items()):
                yield self._file(f"{point}_parameters.{name}", f"{ecn}roce_{point}/{name}", str(value))

    def _marks(self) -> Iterator[Setting]:
        path = f"{self.sysfs}/tc/{self.port}/traffic_class"
        wanted = str(self.asked["traffic_class"])
        yield Setting(
            "traffic_class",
            wanted,
            lambda: found(r"^(?:Global tclass=)?(\d+)", read_file(path)) or "none",
            lambda: write_file(path, wanted),
        )
        at = ("-d", self.device, "-p", self.port)
        version, tos = str(self.asked["version"]), str(self.asked["cma_tos"])
        yield Setting(
            "version", version, lambda: found(r"RoCE v(\d)", ask("cma_roce_mode", *at)), lambda: _run("cma_roce_mode", *at, "-m", version)
        )
        yield Setting("cma_tos", tos, lambda: found(r"(\d+)\s*$", ask("cma_roce_tos", *at)), lambda: _run("cma_roce_tos", *at, "-t", tos))

    def _ip(self) -> Iterator[Setting]:
        for name in ("arp_ignore", "arp_announce", "rp_filter"):
            if self.asked[name] >= 0:
                path = f"{self.root}/proc/sys/net/ipv4/conf/{self.interface}/{name}"
                yield self._file(name, path, str(self.asked[name]))
        if not self.rail["address"]:
            return
        own = ipaddress.ip_interface(self.rail["address"])
        family, dev = f"-{own.version}", self.interface
        # A route may name an IPv6 address as its source only when nobody is asked first whether he has it.
        words = ["ip", "addr", "add", str(own), "dev", dev] + (["nodad"] if own.version == 6 else [])  # noqa: PLR2004
        yield Setting("address", str(own), lambda: self._address(str(own)), lambda: _run(*words))
        if not self.asked["table_base"]:
            return
        table, priority = (str(self.asked[k] + self.rail["rail"]) for k in ("table_base", "rule_priority_base"))
        rule = f"from {own.ip} lookup {table}"
        yield Setting("rule", rule, lambda: rules(family, priority), lambda: set_rule(family, priority, str(own.ip), table))
        wanted = [f"{own.network} dev {dev} src {own.ip}"]
        if self.rail["gateway"]:
            wanted.append("default via {} dev {}".format(self.rail["gateway"], dev))
        yield Setting("routes", "; ".join(sorted(wanted)), lambda: routes(family, table), lambda: set_routes(family, table, wanted))

    def _file(self, name: str, path: str, wanted: str) -> Setting:
        return Setting(name, wanted, lambda: read_file(path), lambda: write_file(path, wanted))

    def _shown(self) -> dict[str, Any]:
        return answer("ip", "-j", "link", "show", "dev", self.interface)[0]

    def _ip_link(self, *words: str) -> None:
        run("ip", "link", "set", "dev", self.interface, *words)

    def _address(self, wanted: str) -> str:
        held = [
            "{}/{}".format(a["local"], a["prefixlen"]) for a in answer("ip", "-j", "addr", "show", "dev", self.interface)[0]["addr_info"]
        ]
        return wanted if wanted in held else ", ".join(held) or "none"


def _run(*argv: str) -> None:
    run(*argv)


def rules(family: str, priority: str) -> str:
    """The rules of that priority."""
    rows = [r for r in answer("ip", family, "-N", "-j", "rule", "show") if str(r["priority"]) == priority]
    return (
        "; ".join("from {} lookup {}".format(r["src"] + ("/{}".format(r["srclen"]) if "srclen" in r else ""), r["table"]) for r in rows)
        or "none"
    )


def set_rule(family: str, priority: str, source: str, table: str) -> None:
    """Leave one rule of that priority."""
    for _ in [r for r in answer("ip", family, "-N", "-j", "rule", "show") if str(r["priority"]) == priority]:
        run("ip", family, "rule", "del", "priority", priority)
    run("ip", family, "rule", "add", "from", source, "table", table, "priority", priority)


def routes(family: str, table: str) -> str:
    """The routes of a table; a table without routes does not exist."""
    try:
        rows = answer("ip", family, "-N", "-j", "route", "show", "table", table)
    except UnansweredError as e:
        if "FIB table does not exist" in str(e):
            return "none"
        raise
    words = {"gateway": "via", "dev": "dev", "prefsrc": "src"}
    lines = [" ".join([r["dst"]] + [f"{word} {r[key]}" for key, word in words.items() if key in r]) for r in rows]
    return "; ".join(sorted(lines)) or "none"


def set_routes(family: str, table: str, wanted: list[str]) -> None:
    """Make the table hold these routes and no others."""
    if routes(family, table) != "none":
        run("ip", family, "route", "flush", "table", table)
    for line in wanted:
        run("ip", family, "route", "add", *line.split(), "table", table)


def hold(setting: Setting, mode: str) -> str:
    """Read, write if it differs and the mode is apply, read again. Returns what is still wrong, or an empty string."""
    try:
        now = setting.read()
        if now != setting.wanted and mode == "apply":
            setting.write()
            _said.clear()
            now = setting.read()
    except UnansweredError as e:
        return str(e)
    return "" if now == setting.wanted else "{}, declared {}".format(now or "(nothing)", setting.wanted)


def rails(asked: dict[str, Any], root: str, wait_s: float) -> list[Rail]:
    """The rails, as soon as all have an interface or the time is over: after a reset the adapters come back one by one."""
    deadline = time.monotonic() + wait_s
    while True:
        known = [Rail(asked, rail, root) for rail in asked["rails"]]
        if all(r.interface for r in known) or time.monotonic() >= deadline:
            return known
        time.sleep(0.2)


def main() -> int:
    """Check or apply; 1 if anything is not as asked."""
    parser = argparse.ArgumentParser(prog="clusterctl-roce")
    parser.add_argument("mode", choices=["apply", "check"])
    parser.add_argument("--wait-s", type=float, default=0)
    parser.add_argument("--root", default="")
    options = parser.parse_args()
    asked = json.loads(read_file(options.root + CONFIG))
    wrong = 0
    with Path(options.root + LOCK).open("w", encoding="utf-8") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        for rail in rails(asked, options.root, options.wait_s):
            if not rail.interface:
                lines = ["interface: none, declared one"]
            else:
                held = ((s.name, hold(s, options.mode)) for s in rail.settings())
                lines = [f"{name}: {text}" for name, text in held if text]
            wrong += len(lines)
            for line in lines:
                sys.stdout.write(f"{rail.device} {line}\n")
    return 1 if wrong else 0


if __name__ == "__main__":
    try:
        sys.exit(main())
    except UnansweredError as error:
        sys.exit(f"clusterctl-roce: {error}")
