"""What is declared for one host alone: how to reach it, where it stands, its BMC, its waivers."""

from __future__ import annotations

import getpass
import re
import shlex
from datetime import date
from ipaddress import ip_address
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit, urlunsplit

from ansible import constants
from ansible.module_utils.parsing.convert_bool import boolean

from clusterctl.core.observe import entry_problems

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from urllib.parse import SplitResult

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
NAMES = ("node_roles", "waivers", "observe", "roles_owned_elsewhere", OWN_VARIABLES, *CONNECTION, *PLACE)
_WAIVER_KEYS = ("check", "reason", "owner", "expires")
_OWNER_KEYS = ("owner", "change")
_MAX_PORT = 65535
_PLACE_TEXTS = ("rack", "row", "su", "leaf", "spine", "nvlink_domain", "site")
_ACCOUNT_TEXTS = (
    "ansible_user",
    "ansible_ssh_user",
    "ansible_become_user",
    "ansible_become_method",
    "ansible_python_interpreter",
    "ansible_connection",
)
# an interface: RFC 4007 leaves its form to the machine
_ZONE = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]*")
_NAME = re.compile(r"[A-Za-z0-9_]([A-Za-z0-9_.-]{0,252}[A-Za-z0-9_.])?")


def connection(name: str, v: Mapping[str, Any]) -> dict[str, Any]:
    """The fields of `node.Connection`.

    Raises:
        ValueError: no machine can have the address, a port is not a number, arguments cannot be split, a flag is not a boolean; the text names the variable.
    """
    key = v.get("ansible_ssh_private_key_file") or v.get("ansible_private_key_file") or constants.DEFAULT_PRIVATE_KEY_FILE
    python = str(v.get("ansible_python_interpreter") or "auto")
    kind = str(v.get("ansible_connection") or "ssh")
    host = v.get("ansible_host") or v.get("ansible_ssh_host")
    if host and not is_address(host):
        raise ValueError(f"ansible_host: {host!r} is not an address or a host name")
    return {
        "host": str(host or name),
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
    slot = v.get("rack_slot") or 0
    if not _is_number(slot):
        raise ValueError(f"rack_slot: {slot!r} is not an int")
    return {**{k: str(v.get(k) or "") for k in _PLACE_TEXTS}, "slot": int(slot)}


def not_texts(v: Mapping[str, Any]) -> Iterator[str]:
    """What is wrong with the names of places and accounts that are not text; each begins with the variable."""
    for name in (*_PLACE_TEXTS, *_ACCOUNT_TEXTS):
        if not _is_text(value := v.get(name) or ""):
            yield f"{name}: {value!r} is not text"


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


def bmc_url(v: Mapping[str, Any]) -> str:
    """The URL of the BMC, without an account that somebody wrote into it.

    Raises:
        ValueError: it names no machine; the text has no part of it, as it may have a password.
    """
    given = v.get("bmc_url") or ""
    url = _url_parts(given)
    if given and (url is None or url.scheme != "https" or not is_address(url.hostname) or url.query or url.fragment):
        raise ValueError("bmc_url: is not a URL like https://198.51.100.11")
    return urlunsplit(url._replace(netloc=url.netloc.rpartition("@")[2])) if url else ""


def bmc_url_to_use(v: Mapping[str, Any]) -> str:
    """The same, for a node whose BMC is to be reached.

    Raises:
        ValueError: it holds an account.
    """
    without = bmc_url(v)
    if without and "@" in str(v["bmc_url"]):
        raise ValueError("bmc_url: holds an account; set bmc_user and bmc_password instead")
    return without


def is_address(host: object) -> bool:
    """Whether it can be an IP address or the name of a machine; digits and dots alone are an address."""
    text, zoned, zone = host.partition("%") if isinstance(host, str) else ("", "", "")
    if zoned and not (":" in text and _ZONE.fullmatch(zone)):
        return False
    if _NAME.fullmatch(text) and text.strip("0123456789."):
        return True
    try:
        ip_address(text)
    except ValueError:
        return False
    return True


def _url_parts(value: object) -> SplitResult | None:
    """None where it is none: brackets without an IPv6 address, a port that is not a number."""
    try:
        url = urlsplit(value if isinstance(value, str) else "")
        _ = url.port
    except ValueError:
        return None
    return url


def _texts(name: str, value: Any, what: str) -> dict[str, str]:
    if not isinstance(value, dict):
        raise ValueError(f"{name}: {value!r} is not a mapping of {what}")  # noqa: TRY004 one kind of error per value
    wrong = next((k for k, one in value.items() if not _is_text(one)), None)
    if wrong is not None:
        raise ValueError(f"{name}: {wrong}: {value[wrong]!r} is not text")
    return {str(k): str(one) for k, one in value.items()}


def _is_text(value: object) -> bool:
    """YAML reads a name of digits as a number; a list or a truth value is not a name."""
    return isinstance(value, str | int | float) and not isinstance(value, bool)


def _is_number(value: object) -> bool:
    return str(value).isascii() and str(value).isdigit()


def waivers(value: Any) -> tuple[list[dict[str, str]], list[tuple[tuple[int, ...], str]]]:
    """The waivers of a host, and what is wrong with them (way into the list, message): each must name what, why, who and until when."""
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


def owned_roles(value: Any) -> tuple[list[dict[str, str]], list[tuple[tuple[str, ...], str]]]:
    """The roles of a host that are owned elsewhere, and what is wrong with them (way into the mapping, message)."""
    if value is None:
        return [], []
    if not isinstance(value, dict):
        return [], [((), f"{value!r} is not a mapping of role to owner and change")]
    problems: list[tuple[tuple[str, ...], str]] = [
        ((str(role),), message) for role, entry in value.items() for message in _owner_problems(entry)
    ]
    wrong = {way[0] for way, _ in problems}
    return [{"role": str(r), "owner": e["owner"], "change": e["change"]} for r, e in value.items() if str(r) not in wrong], problems


def _owner_problems(entry: object) -> list[str]:
    """What is wrong with the entry of a role in `roles_owned_elsewhere`."""
    if not isinstance(entry, dict):
        return [f"{entry!r} is not a mapping with owner and change"]
    problems = [f"{k} is not a key of it" for k in entry if k not in _OWNER_KEYS]
    return problems + [f"{k} is missing, or not text" for k in _OWNER_KEYS if not (isinstance(entry.get(k), str) and entry[k].strip())]


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
    if not _is_number(value) or not 0 < int(value) <= _MAX_PORT:
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
