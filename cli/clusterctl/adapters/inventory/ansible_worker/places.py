"""What is said of one host alone: how to reach it, where it stands, its BMC, its waivers."""

from __future__ import annotations

import getpass
import shlex
from datetime import date
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit, urlunsplit

from ansible import constants
from ansible.module_utils.parsing.convert_bool import boolean

from clusterctl.core.observe import entry_problems

if TYPE_CHECKING:
    from collections.abc import Mapping

CONNECTION = (
    "ansible_host",
    "ansible_ssh_host",
    "ansible_port",
    "ansible_ssh_port",
    "ansible_user",
    "ansible_ssh_user",
    "ansible_ssh_private_key_file",
    "ansible_private_key_file",
    "ansible_ssh_common_args",
    "ansible_ssh_extra_args",
    "ansible_become",
    "ansible_become_user",
    "ansible_become_method",
    "ansible_python_interpreter",
    "ansible_connection",
)
# in the order in which the later one counts, as in Ansible's sudo plug-in
BECOME_PASSWORDS = ("ansible_become_password", "ansible_become_pass", "ansible_sudo_pass")
PLACE = ("rack", "row", "su", "leaf", "nvlink_domain", "rack_slot", "rail_leaves", "spine", "site", "node_labels", "bmc_url")
OWN_VARIABLES = "own_variables"
NAMES = ("node_roles", "waivers", "observe", OWN_VARIABLES, *CONNECTION, *PLACE)
_WAIVER_KEYS = ("check", "reason", "owner", "expires")
_MAX_PORT = 65535


def connection(name: str, v: Mapping[str, Any]) -> dict[str, Any]:
    """The fields of `node.Connection`.

    Raises:
        ValueError: a port is not a number, arguments cannot be split, a flag is not a boolean; the text names the variable.
    """
    key = v.get("ansible_ssh_private_key_file") or v.get("ansible_private_key_file") or constants.DEFAULT_PRIVATE_KEY_FILE
    python = str(v.get("ansible_python_interpreter") or "auto")
    kind = str(v.get("ansible_connection") or "ssh")
    return {
        "host": str(v.get("ansible_host") or v.get("ansible_ssh_host") or name),
        "port": _port(v.get("ansible_port") or v.get("ansible_ssh_port") or constants.DEFAULT_REMOTE_PORT or 22),
        "user": str(v.get("ansible_user") or v.get("ansible_ssh_user") or constants.DEFAULT_REMOTE_USER or getpass.getuser()),
        "key_path": str(Path(str(key)).expanduser()) if key else None,
        "ssh_args": [a for n in ("ansible_ssh_common_args", "ansible_ssh_extra_args") for a in _split(n, v.get(n))],
        "become": _flag("ansible_become", v.get("ansible_become", constants.DEFAULT_BECOME)),
        "become_user": str(v.get("ansible_become_user") or constants.DEFAULT_BECOME_USER or "root"),
        "become_method": str(v.get("ansible_become_method") or constants.DEFAULT_BECOME_METHOD or "sudo").removeprefix("ansible.builtin."),
        "python": "/usr/bin/python3" if python.startswith("auto") else python,
        "kind": "ssh" if kind in ("ssh", "smart", "ansible.builtin.ssh") else kind.removeprefix("ansible.builtin."),
    }


def place(v: Mapping[str, Any]) -> dict[str, Any]:
    """The fields of `node.Place`.

    Raises:
        ValueError: rack_slot is not a number.
    """
    texts = {k: str(v.get(k) or "") for k in ("rack", "row", "su", "leaf", "spine", "nvlink_domain", "site")}
    slot = v.get("rack_slot") or 0
    if not str(slot).isdigit():
        raise ValueError(f"rack_slot: {slot!r} is not an int")
    return {**texts, "slot": int(slot)}


def rail_leaves(v: Mapping[str, Any]) -> dict[str, str]:
    """Rail -> the switch that it is cabled to.

    Raises:
        ValueError: rail_leaves is not a mapping.
    """
    return _texts("rail_leaves", v.get("rail_leaves") or {}, "rail to leaf")


def labels(v: Mapping[str, Any]) -> dict[str, str]:
    """What the site notes of the node for its schedulers and pages, from `node_labels`.

    Raises:
        ValueError: node_labels is not a mapping.
    """
    return _texts("node_labels", v.get("node_labels") or {}, "name to value")


def bmc_url(v: Mapping[str, Any]) -> dict[str, str]:
    """The URL of the BMC, without an account that somebody wrote into it."""
    url = urlsplit(str(v.get("bmc_url") or ""))
    return {"bmc_url": urlunsplit(url._replace(netloc=url.netloc.rpartition("@")[2]))}


def _texts(name: str, value: Any, what: str) -> dict[str, str]:
    if not isinstance(value, dict):
        raise ValueError(f"{name}: {value!r} is not a mapping of {what}")  # noqa: TRY004 one kind of error per value
    return {str(k): str(v) for k, v in value.items()}


def waivers(value: Any) -> tuple[list[dict[str, str]], list[tuple[tuple[int, ...], str]]]:
    """The waivers of a host, and what is wrong with them (way into the list, message): each must say what, why, who and until when."""
    if value is None:
        return [], []
    if not isinstance(value, list):
        return [], [((), f"{value!r} is not a list")]
    problems: list[tuple[tuple[int, ...], str]] = [((i,), message) for i, item in enumerate(value) for message in _waiver_problems(item)]
    wrong = {way[0] for way, _ in problems}
    return [{k: str(item[k]) for k in _WAIVER_KEYS} for i, item in enumerate(value) if i not in wrong], problems


def observed(value: Any) -> tuple[list[dict[str, str]], list[tuple[tuple[int, ...], str]]]:
    """What is observed on a host, and what is wrong with that (way into the list, message)."""
    if value is None:
        return [], []
    if not isinstance(value, list):
        return [], [((), f"{value!r} is not a list")]
    problems: list[tuple[tuple[int, ...], str]] = [((i,), message) for i, item in enumerate(value) for message in entry_problems(item)]
    wrong = {way[0] for way, _ in problems}
    return [{str(k): str(v) for k, v in item.items()} for i, item in enumerate(value) if i not in wrong], problems


def _waiver_problems(item: Any) -> list[str]:
    if not isinstance(item, dict):
        return [f"{item!r} is not a mapping with check, reason, owner, expires"]
    missing = [f"{k} is missing" for k in sorted(_WAIVER_KEYS) if not item.get(k)]
    unknown = [f"{k} is not a key of a waiver" for k in item if k not in _WAIVER_KEYS]
    expires = str(item.get("expires") or "9999-12-31")
    return missing + unknown + ([] if _is_date(expires) else [f"expires: {expires!r} is not a date (YYYY-MM-DD)"])


def _is_date(text: str) -> bool:
    try:
        date.fromisoformat(text)
    except ValueError:
        return False
    return True


def _port(value: Any) -> int:
    if not str(value).isdigit() or not 0 < int(value) <= _MAX_PORT:
        raise ValueError(f"ansible_port: {value!r} is not a port")
    return int(value)


def _split(name: str, value: Any) -> list[str]:
    try:
        return shlex.split(str(value or ""))
    except ValueError as e:
        raise ValueError(f"{name}: {e}") from e


def _flag(name: str, value: Any) -> bool:
    try:
        return bool(boolean(value))
    except TypeError as e:
        raise ValueError(f"{name}: {value!r} is not a bool") from e
