#!/usr/bin/python3
"""Written by clusterctl, role roce; changes are overwritten. The declared state is in /etc/clusterctl/roce.json.

clusterctl-roce apply|check [--wait-s N]: one line per setting of a rail that differs from the declared one; exit 1 if any does.
"""

from __future__ import annotations

import argparse
import fcntl
import ipaddress
import json
import os
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
    """The node does not answer, or rejects a setting."""


@dataclass(frozen=True)
class Setting:
    """A declared setting: its value, how to read it, how to write it."""

    name: str
    expected: str
    read: Callable[[], str]
    write: Callable[[], None]


def run(*argv: str) -> str:
    """The output of a command. Raises UnansweredError if it fails."""
    try:
        done = subprocess.run(argv, capture_output=True, text=True, timeout=60, check=False)
    except (OSError, subprocess.TimeoutExpired) as e:
        raise UnansweredError(f"{argv[0]}: {e}") from e
    if done.returncode:
        raise UnansweredError("{}: {}".format(" ".join(argv), " ".join((done.stderr or done.stdout).split()) or done.returncode))
    return done.stdout


_cache: dict[tuple[str, ...], str] = {}


def query(*argv: str) -> str:
    """As `run`, cached until a setting is written, because one output of a tool contains many settings."""
    if argv not in _cache:
        _cache[argv] = run(*argv)
    return _cache[argv]


def json_rows(*argv: str) -> list[dict[str, Any]]:
    """The JSON output of an iproute2 command; no output is an empty list."""
    rows: list[dict[str, Any]] = json.loads(query(*argv) or "[]")
    return [row for row in rows if row]


def read_file(path: str) -> str:
    """The stripped text of a file. Raises UnansweredError if it cannot be read."""
    try:
        return Path(path).read_text(encoding="utf-8").strip()
    except OSError as e:
        raise UnansweredError(f"{path}: {e.strerror}") from e


def write_file(path: str, value: str) -> None:
    """Write a kernel file. Raises UnansweredError if the kernel rejects the value."""
    try:
        Path(path).write_text(value, encoding="utf-8")
    except OSError as e:
        raise UnansweredError(f"{path}: {e.strerror}") from e


def found(pattern: str, text: str) -> str:
    """The first group of `pattern` in `text`; empty if there is no match."""
    match = re.search(pattern, text, re.MULTILINE)
    return match.group(1).strip() if match else ""


def flags(on: list[int]) -> str:
    """Priorities in the form of the tools: `0,0,0,1,0,0,0,0`."""
    return ",".join(str(int(p in on)) for p in PRIORITIES)


def is_made_of_it(path: Path) -> bool:
    """Whether an interface represents a virtual function (`pf0vf3`, `c1pf0sf88`; the port itself is `p0`), or is a child of IPoIB."""
    try:
        name = read_file(f"{path}/phys_port_name")
    except UnansweredError:
        name = ""
    return bool(re.match(r"(c\d+)?pf\d", name)) or (path / "parent").exists()


class Rail:
    """One rail and its declared settings."""

    def __init__(self, declared: dict[str, Any], rail: dict[str, Any], root: str) -> None:
        self.declared = declared
        self.rail = rail
        self.root = root
        self.device = str(rail["device"])
        self.port = str(rail["port"])
        self.sysfs = f"{root}/sys/class/infiniband/{self.device}"
        self.interface = rail["interface"] or self._interface()

    def _interface(self) -> str:
        """The interface of the port: of several on one PCI function, the one with the matching dev_port, else that of the port's first GID."""
        found_here = sorted(Path(self.sysfs, "device", "net").glob("*"))
        alone = len(found_here) == 1
        same = [p for p in found_here if (alone and self.port == "1") or read_file(f"{p}/dev_port") == str(int(self.port) - 1)]
        own = [p for p in same if not is_made_of_it(p)] if len(same) > 1 else same
        if same:
            return (own or same)[0].name
        return self._of_first_gid() or (found_here[0].name if alone else "")

    def _of_first_gid(self) -> str:
        try:
            return read_file(f"{self.sysfs}/ports/{self.port}/gid_attrs/ndevs/0")
        except UnansweredError:
            return ""  # the kernel refuses to show that of an empty GID

    def settings(self) -> Iterator[Setting]:
        """All declared settings, in the order in which they can be written."""
        for part in (self._link, self._qos, self._congestion, self._marks, self._ip):
            yield from part()

    def _link(self) -> Iterator[Setting]:
        name, declared = self.interface, self.declared
        yield Setting("up", "up", lambda: "up" if "UP" in self._shown()["flags"] else "down", lambda: self._ip_link("up"))
        yield Setting("mtu", str(declared["mtu"]), lambda: str(self._shown()["mtu"]), lambda: self._ip_link("mtu", str(declared["mtu"])))
        for way in ("rx", "tx"):
            if declared["ring_" + way]:
                size = str(declared["ring_" + way])
                pattern = rf"Current hardware settings:(?:\n.*)*?\n{way.upper()}:\s*(\S+)"
                yield Setting(
                    "ring_" + way,
                    size,
                    lambda p=pattern: found(p, query("ethtool", "-g", name)),
                    lambda w=way, s=size: _run("ethtool", "-G", name, w, s),
                )
        pause = "on" if declared["global_pause"] else "off"
        for way in ("rx", "tx"):
            pattern = rf"^{way.upper()}:\s*(\S+)"
            yield Setting(
                "pause_" + way,
                pause,
                lambda p=pattern: found(p, query("ethtool", "-a", name)),
                lambda w=way: _run("ethtool", "-A", name, w, pause),
            )

    def _map(self) -> dict[int, int]:
        """The managed priorities: those of data and CNPs, and the declared deviations."""
        declared = self.declared
        marked = {declared["dscp"]: declared["priority"], declared["cnp_dscp"]: declared["cnp_priority"]}
        return marked | {int(dscp): int(priority) for dscp, priority in declared["dscp_to_priority"].items()}

    def _qos(self) -> Iterator[Setting]:
        name, declared = self.interface, self.declared

        def shown() -> str:
            return query("mlnx_qos", "-i", name)

        def setting(what: str, expected: str, pattern: str, *option: str) -> Setting:
            return Setting(what, expected, lambda: ",".join(found(pattern, shown()).split()), lambda: _run("mlnx_qos", "-i", name, *option))

        if declared["dcbx"]:
            owner = {"os": "OS", "fw": "Firmware"}[declared["dcbx"]]
            yield setting("dcbx", owner, r"^DCBX mode: (\w+) controlled", "--dcbx", declared["dcbx"])
        if not declared["trust"]:
            return
        yield setting("trust", declared["trust"], r"^Priority trust state: (\w+)", "--trust", declared["trust"])
        for dscp, priority in sorted(self._map().items()) if declared["trust"] == "dscp" else []:
            pattern = rf"prio:(\d) dscp:(?:\d\d,)*{dscp:02d},"
            yield setting(f"dscp_to_priority[{dscp}]", str(priority), pattern, "--dscp2prio", f"set,{dscp},{priority}")
        yield setting(
            "pfc_priorities", flags(declared["pfc_priorities"]), r"^\s*enabled((?:\s+[01]){8})", "--pfc", flags(declared["pfc_priorities"])
        )
        sizes, buffers = (",".join(map(str, declared[k])) for k in ("buffer_size_bytes", "priority_to_buffer"))
        if sizes:
            yield setting("buffer_size_bytes", sizes, r"^Receive buffer size \(bytes\): ((?:\d+,){7}\d+)", "--buffer_size", sizes)
        if buffers:
            yield setting("priority_to_buffer", buffers, r"^\s*buffer((?:\s+\d){8})", "--prio2buffer", buffers)

    def _congestion(self) -> Iterator[Setting]:
        ecn = f"{self.root}/sys/class/net/{self.interface}/ecn/"
        for point in ("roce_np", "roce_rp"):
            for priority in PRIORITIES:
                expected = str(int(priority in self.declared["ecn_priorities"]))
                yield self._file(f"ecn_priorities.{point}[{priority}]", f"{ecn}{point}/enable/{priority}", expected)
        yield self._file("cnp_dscp", ecn + "roce_np/cnp_dscp", str(self.declared["cnp_dscp"]))
        yield self._file("cnp_priority", ecn + "roce_np/cnp_802p_prio", str(self.declared["cnp_priority"]))
        for point in ("np", "rp"):
            for name, value in sorted(self.declared[point + "_parameters"].items()):
                yield self._file(f"{point}_parameters.{name}", f"{ecn}roce_{point}/{name}", str(value))

    def _marks(self) -> Iterator[Setting]:
        path = f"{self.sysfs}/tc/{self.port}/traffic_class"
        expected = str(self.declared["traffic_class"])
        yield Setting(
            "traffic_class",
            expected,
            lambda: found(r"^(?:Global tclass=)?(\d+)", read_file(path)) or "none",
            lambda: write_file(path, expected),
        )
        at = ("-d", self.device, "-p", self.port)
        version, tos = str(self.declared["version"]), str(self.declared["cma_tos"])
        yield Setting(
            "version", version, lambda: found(r"RoCE v(\d)", query("cma_roce_mode", *at)), lambda: _run("cma_roce_mode", *at, "-m", version)
        )
        yield Setting(
            "cma_tos", tos, lambda: found(r"(?:^|\s)(\d+)\s*$", query("cma_roce_tos", *at)), lambda: _run("cma_roce_tos", *at, "-t", tos)
        )

    def _ip(self) -> Iterator[Setting]:
        for name in ("arp_ignore", "arp_announce", "rp_filter"):
            if self.declared[name] >= 0:
                path = f"{self.root}/proc/sys/net/ipv4/conf/{self.interface}/{name}"
                yield self._file(name, path, str(self.declared[name]))
        if not self.rail["address"]:
            return
        own = ipaddress.ip_interface(self.rail["address"])
        family, dev = f"-{own.version}", self.interface
        # nodad: a route cannot use an IPv6 address as its source during duplicate address detection.
        words = ["ip", "addr", "add", str(own), "dev", dev] + (["nodad"] if own.version == 6 else [])  # noqa: PLR2004
        yield Setting("address", str(own), lambda: self._address(str(own)), lambda: _run(*words))
        if not self.declared["table_base"]:
            return
        table, priority = (str(self.declared[k] + self.rail["rail"]) for k in ("table_base", "rule_priority_base"))
        rule = f"from {own.ip} lookup {table}"
        yield Setting("rule", rule, lambda: rules(family, priority), lambda: set_rule(family, priority, str(own.ip), table))
        expected = [f"{own.network} dev {dev} src {own.ip}"]
        if self.rail["gateway"]:
            expected.append(f"default via {ipaddress.ip_address(self.rail['gateway'])} dev {dev}")
        yield Setting("routes", "; ".join(sorted(expected)), lambda: routes(family, table), lambda: set_routes(family, table, expected))

    def _file(self, name: str, path: str, expected: str) -> Setting:
        return Setting(name, expected, lambda: read_file(path), lambda: write_file(path, expected))

    def _shown(self) -> dict[str, Any]:
        return json_rows("ip", "-j", "link", "show", "dev", self.interface)[0]

    def _ip_link(self, *words: str) -> None:
        run("ip", "link", "set", "dev", self.interface, *words)

    def _address(self, expected: str) -> str:
        present = [
            "{}/{}".format(a["local"], a["prefixlen"]) for a in json_rows("ip", "-j", "addr", "show", "dev", self.interface)[0]["addr_info"]
        ]
        return expected if expected in present else ", ".join(present) or "none"


def _run(*argv: str) -> None:
    run(*argv)


def rules(family: str, priority: str) -> str:
    """The rules of that priority, with everything else that they select by or do."""
    rows = [r for r in json_rows("ip", family, "-N", "-j", "rule", "show") if str(r["priority"]) == priority]
    return "; ".join(_rule(r) for r in rows) or "none"


def _rule(row: dict[str, Any]) -> str:
    source = f"{row['src']}/{row['srclen']}" if "srclen" in row else row["src"]
    others = [f"{k} {row[k]}" for k in sorted(row) if k not in ("priority", "src", "srclen", "table", "protocol")]
    return " ".join(["from", source, *others, "lookup", row.get("table", "none")])


def set_rule(family: str, priority: str, source: str, table: str) -> None:
    """Make this the only rule of that priority."""
    for _ in [r for r in json_rows("ip", family, "-N", "-j", "rule", "show") if str(r["priority"]) == priority]:
        run("ip", family, "rule", "del", "priority", priority)
    run("ip", family, "rule", "add", "from", source, "table", table, "priority", priority)


def routes(family: str, table: str) -> str:
    """The routes of a table, sorted; the kernel has no table without routes."""
    try:
        rows = json_rows("ip", family, "-N", "-j", "route", "show", "table", table)
    except UnansweredError as e:
        if "FIB table does not exist" in str(e):
            return "none"
        raise
    words = {"gateway": "via", "dev": "dev", "prefsrc": "src"}
    lines = [" ".join([r["dst"]] + [f"{word} {r[key]}" for key, word in words.items() if key in r]) for r in rows]
    return "; ".join(sorted(lines)) or "none"


def set_routes(family: str, table: str, expected: list[str]) -> None:
    """Make these the only routes of the table."""
    if routes(family, table) != "none":
        run("ip", family, "route", "flush", "table", table)
    for line in expected:
        run("ip", family, "route", "add", *line.split(), "table", table)


def remaining_difference(setting: Setting, mode: str) -> str:
    """Read a setting; in mode apply, write it if it differs and read it again. Returns the remaining difference, or an empty string."""
    try:
        now = setting.read()
        if now != setting.expected and mode == "apply":
            setting.write()
            _cache.clear()
            now = setting.read()
    except UnansweredError as e:
        return str(e)
    return "" if now == setting.expected else "{}, declared {}".format(now or "(nothing)", setting.expected)


def rails(declared: dict[str, Any], root: str, wait_s: float) -> list[Rail]:
    """The rails, once all have an interface or the time is over: adapters come back one by one after a reset."""
    deadline = time.monotonic() + wait_s
    while True:
        known = [Rail(declared, rail, root) for rail in declared["rails"]]
        if all(r.interface for r in known) or time.monotonic() >= deadline:
            return known
        time.sleep(0.2)


def main() -> int:
    """Check or apply. Returns 1 if a setting differs from the declared one."""
    parser = argparse.ArgumentParser(prog="clusterctl-roce")
    parser.add_argument("mode", choices=["apply", "check"])
    parser.add_argument("--wait-s", type=float, default=0)
    parser.add_argument("--root", default="")
    parser.add_argument("--declared", default="", help="this state, as JSON, instead of that of the file")
    options = parser.parse_args()
    declared = json.loads(options.declared or read_file(options.root + CONFIG))
    wrong = 0
    # Root's alone: whoever may read the file may hold its lock.
    with os.fdopen(
        os.open(options.root + LOCK, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600), "w", encoding="utf-8"
    ) as lock:
        os.fchmod(lock.fileno(), 0o600)
        fcntl.flock(lock, fcntl.LOCK_EX)
        for rail in rails(declared, options.root, options.wait_s):
            if not rail.interface:
                lines = ["interface: none, declared one"]
            else:
                differences = ((s.name, remaining_difference(s, options.mode)) for s in rail.settings())
                lines = [f"{name}: {text}" for name, text in differences if text]
            wrong += len(lines)
            for line in lines:
                sys.stdout.write(f"{rail.device} {line}\n")
    return 1 if wrong else 0


if __name__ == "__main__":
    try:
        sys.exit(main())
    except UnansweredError as error:
        sys.exit(f"clusterctl-roce: {error}")
