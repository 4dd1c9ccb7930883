"""Computations of the role os_tuning, as pure functions."""

from __future__ import annotations

import re
from typing import Any

_KEY = re.compile(r"[a-z0-9_]+([./][A-Za-z0-9_-]+)+")
_LIMIT = re.compile(r"-1|\d+|unlimited|infinity")
_SYSTEMD_LIMITS = frozenset(
    (
        "CPU",
        "FSIZE",
        "DATA",
        "STACK",
        "CORE",
        "RSS",
        "NOFILE",
        "AS",
        "NPROC",
        "MEMLOCK",
        "LOCKS",
        "SIGPENDING",
        "MSGQUEUE",
        "NICE",
        "RTPRIO",
        "RTTIME",
    )
)
_SYSTEMD_VALUE = re.compile(r"(infinity|\d+[KMGTPE]?)(:(infinity|\d+[KMGTPE]?))?")
_ASSIGNMENT = re.compile(r"^(?P<path>[^:]+):(?P<line>\s*-?(?P<key>[^#;=\s][^=]*?)\s*=\s*(?P<value>.*?)\s*)$")
_LIMIT_LINE = re.compile(
    r"^(?P<path>[^:]+):(?P<line>\s*(?P<domain>[^#\s]\S*)\s+(?P<type>soft|hard|-)\s+(?P<item>\w+)\s+(?P<value>[^#\s]+)\s*(#.*)?)$"
)
_OWN = "90-clusterctl.conf"


def sysctl_errors(declared: dict[str, Any]) -> list[str]:
    """Errors in os_tuning_sysctl, one line per setting.

    Args:
        declared: os_tuning_sysctl: setting -> value.
    """
    errors = []
    for key, value in declared.items():
        where = f"os_tuning_sysctl.{key}"
        if not _KEY.fullmatch(str(key)):
            errors.append(f"{where}: is not the name of a kernel setting")
        if isinstance(value, bool):
            errors.append(f"{where}: is a boolean; use 0 or 1")
        elif not isinstance(value, (int, float, str)):
            errors.append(f"{where}: is neither a number nor text")
        elif str(value).strip() == "" or "\n" in str(value):
            errors.append(f"{where}: is empty or has more than one line")
        if re.match(r"vm\.nr_hugepages|vm\.nr_overcommit", str(key)):
            errors.append(f"{where}: belongs to the role hugepages")
        if dotted(str(key)) == "vm.min_free_kbytes":
            errors.append(f"{where}: is a fixed value, which may be lower than the kernel's own; declare os_tuning_min_free_kib")
    return errors


def limit_errors(limits: list[dict[str, Any]], systemd: dict[str, Any]) -> list[str]:
    """Errors in the limits; types and choices are checked before.

    Args:
        limits: rows of os_tuning_limits.
        systemd: os_tuning_systemd_limits: limit -> value.
    """
    errors = [
        f"os_tuning_limits[{i}].value: {limit['value']!r} is neither a number nor unlimited"
        for i, limit in enumerate(limits)
        if not _LIMIT.fullmatch(str(limit["value"]))
    ]
    errors += [
        f"os_tuning_limits[{i}].domain: {limit['domain']!r} contains blanks"
        for i, limit in enumerate(limits)
        if re.search(r"\s", limit["domain"])
    ]
    errors += [f"os_tuning_systemd_limits.{name}: is not a limit of systemd" for name in systemd if name not in _SYSTEMD_LIMITS]
    errors += [
        f"os_tuning_systemd_limits.{name}: {value!r} is neither a number nor infinity"
        for name, value in systemd.items()
        if isinstance(value, bool) or not _SYSTEMD_VALUE.fullmatch(str(value))
    ]
    return errors


def sysctl_lines(values: dict[str, Any]) -> list[str]:
    """`key = value` with single blanks, as sysctl(8) prints them.

    Args:
        values: setting -> value.
    """
    return [f"{dotted(key)} = {' '.join(str(value).split())}" for key, value in values.items()]


def dotted(key: str) -> str:
    """The dotted spelling of a key; if the first separator is a slash, dots and slashes swap."""
    head = re.search(r"[./]", key)
    return key.translate(str.maketrans("./", "/.")) if head and head.group() == "/" else key


def sysctl_conflicts(grepped: list[str], declared: dict[str, Any]) -> list[dict[str, str]]:
    """Conflicting assignments in files that are read after the role's; `grepped` has `path:line`.

    Args:
        grepped: lines of `grep` over the settings files: `path:line`.
        declared: os_tuning_sysctl: setting -> value.
    """
    own = {dotted(key): " ".join(str(value).split()) for key, value in declared.items()}
    conflicts = []
    for text in grepped:
        match = _ASSIGNMENT.match(text)
        if not match or not _is_later(match["path"]):
            continue
        key = dotted(match["key"])
        if key in own and own[key] != " ".join(match["value"].split()):
            conflicts.append({"path": match["path"], "line": match["line"]})
    return conflicts


def limit_conflicts(grepped: list[str], limits: list[dict[str, Any]]) -> list[dict[str, str]]:
    """Lines that set a declared limit to another value, in files that pam_limits reads after the role's; `grepped` has `path:line`.

    Args:
        grepped: lines of `grep` over the files of limits: `path:line`.
        limits: rows of os_tuning_limits.
    """
    own = {(row["domain"], kind, row["item"]): _unlimited(row["value"]) for row in limits for kind in _kinds(row["type"])}
    conflicts = []
    for text in grepped:
        match = _LIMIT_LINE.match(text)
        if not match or not _is_later(match["path"]):
            continue
        declared = {own.get((match["domain"], kind, match["item"])) for kind in _kinds(match["type"])}
        if declared - {None, _unlimited(match["value"])}:
            conflicts.append({"path": match["path"], "line": match["line"]})
    return conflicts


def _kinds(kind: str) -> tuple[str, ...]:
    return ("soft", "hard") if kind == "-" else (kind,)


def _unlimited(value: Any) -> str:
    return "unlimited" if str(value) in {"unlimited", "infinity", "-1"} else str(value)


def _is_later(path: str) -> bool:
    return path == "/etc/sysctl.conf" or path.rsplit("/", 1)[-1] > _OWN


def unit_states(shown: str, names: list[str]) -> dict[str, dict[str, str]]:
    """The blocks of `systemctl show -p LoadState,ActiveState,UnitFileState`, one per name in the order of `names`.

    Args:
        shown: what `systemctl` printed.
        names: the units that were requested.
    """
    blocks = shown.strip().split("\n\n")
    properties = [dict(line.split("=", 1) for line in block.splitlines() if "=" in line) for block in blocks]
    return dict(zip(names, properties, strict=True)) if names else {}


def units_to_start(states: dict[str, dict[str, str]], names: list[str]) -> list[str]:
    """Those of `names` that do not run or are not enabled.

    Args:
        states: unit -> properties, from `unit_states`.
        names: units.
    """
    return [n for n in names if states[n]["ActiveState"] != "active" or not states[n]["UnitFileState"].startswith("enabled")]


def units_running(states: dict[str, dict[str, str]], names: list[str]) -> list[str]:
    """Those of `names` that run and have a unit file.

    Args:
        states: unit -> properties, from `unit_states`.
        names: units.
    """
    return [n for n in names if _runs(states[n]) and not _orphaned(states[n])]


def units_orphaned(states: dict[str, dict[str, str]], names: list[str]) -> list[str]:
    """Those of `names` that run without a unit file; Ansible's module does not find such a service.

    Args:
        states: unit -> properties, from `unit_states`.
        names: units.
    """
    return [n for n in names if _orphaned(states[n])]


def units_to_stop(states: dict[str, dict[str, str]], names: list[str]) -> list[str]:
    """Those of `names` that have a unit file, and run or start at boot.

    Args:
        states: unit -> properties, from `unit_states`.
        names: units.
    """
    return [n for n in names if (_runs(states[n]) and not _orphaned(states[n])) or states[n]["UnitFileState"].startswith("enabled")]


def units_to_mask(states: dict[str, dict[str, str]], names: list[str]) -> list[str]:
    """Those of `names` that are not masked.

    Args:
        states: unit -> properties, from `unit_states`.
        names: units.
    """
    return [n for n in names if states[n]["UnitFileState"] != "masked"]


def _runs(state: dict[str, str]) -> bool:
    return state["ActiveState"] not in {"inactive", "failed"}


def _orphaned(state: dict[str, str]) -> bool:
    return _runs(state) and state["LoadState"] == "not-found"


class FilterModule:
    """The filters of this role."""

    def filters(self) -> dict[str, Any]:
        """Filter name -> function."""
        return {
            "os_tuning_limit_conflicts": limit_conflicts,
            "os_tuning_limit_errors": limit_errors,
            "os_tuning_sysctl_conflicts": sysctl_conflicts,
            "os_tuning_sysctl_errors": sysctl_errors,
            "os_tuning_sysctl_lines": sysctl_lines,
            "os_tuning_unit_states": unit_states,
            "os_tuning_units_orphaned": units_orphaned,
            "os_tuning_units_running": units_running,
            "os_tuning_units_to_mask": units_to_mask,
            "os_tuning_units_to_start": units_to_start,
            "os_tuning_units_to_stop": units_to_stop,
        }
