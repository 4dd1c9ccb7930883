"""Parses ansible_ssh_common_args for a client that is not OpenSSH. Pure."""

from __future__ import annotations

import getopt
import re
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from clusterctl.model.errors import ConfigError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

_FLAGS = "1246AaCfGgKkMNnqsTtVvXxYy"
_WITH_VALUE = "BbcDEeFIiJLlmOopQRSWw"
_SUPPORTED = frozenset(
    [
        "userknownhostsfile",
        "globalknownhostsfile",
        "stricthostkeychecking",
        "proxyjump",
        "proxycommand",
        "identityfile",
        "identitiesonly",
        "connecttimeout",
        "hostkeyalias",
        "kexalgorithms",
        "port",
        "user",
    ]
)
# options for speed, multiplexing, logging or features that a single command does not use
_IGNORED = frozenset(
    [
        "controlmaster",
        "controlpath",
        "controlpersist",
        "compression",
        "loglevel",
        "batchmode",
        "tcpkeepalive",
        "serveraliveinterval",
        "serveralivecountmax",
        "addkeystoagent",
        "forwardagent",
        "forwardx11",
        "gssapiauthentication",
        "gssapidelegatecredentials",
        "preferredauthentications",
        "pubkeyauthentication",
        "passwordauthentication",
        "kbdinteractiveauthentication",
        "numberofpasswordprompts",
        "updatehostkeys",
        "visualhostkey",
        "checkhostip",
        "requesttty",
        "hashknownhosts",
        "connectionattempts",
        "ipqos",
        "addressfamily",
        "exitonforwardfailure",
    ]
)


@dataclass(frozen=True, slots=True)
class JumpHost:
    """A jump host; with an empty `user`, the ssh configuration decides."""

    user: str
    host: str
    port: int


@dataclass(frozen=True, slots=True)
class SshArgs:
    """The supported options.

    Attributes:
        known_hosts: files with host keys; empty = those of the user and the system.
        check_host_key: False only if the inventory has StrictHostKeyChecking=no.
        jumps: jump hosts, nearest first.
        proxy_command: a command whose stdin and stdout are connected to the node, with the placeholders %h, %p and %r.
        config_file: -F; None = the ssh configuration of the user.
    """

    known_hosts: tuple[Path, ...] = ()
    check_host_key: bool = True
    jumps: tuple[JumpHost, ...] = ()
    proxy_command: str = ""
    key_paths: tuple[Path, ...] = ()
    identities_only: bool = False
    connect_timeout_s: int | None = None
    host_key_alias: str = ""
    kex: str = ""
    port: int | None = None
    user: str = ""
    config_file: Path | None = None


def parse_ssh_args(args: Sequence[str]) -> SshArgs:
    """Parse the words of an ssh command line.

    Raises:
        ConfigError: a word is not supported; a guess could disable a check.
    """
    try:
        flags, rest = getopt.getopt(list(args), _FLAGS + "".join(f"{c}:" for c in _WITH_VALUE))
    except getopt.GetoptError as e:
        raise _unsupported(f"-{e.opt}") from e
    if rest:
        raise _unsupported(rest[0])
    options: dict[str, str] = {}
    keys: list[Path] = []
    for flag, value in flags:
        name, text = _option(value) if flag == "-o" else (_SHORT.get(flag, ""), value)
        if name == "identityfile":
            keys.append(user_path(text))
        elif name:
            options.setdefault(name, text)  # as in OpenSSH, the first value counts
        elif flag[1] in _WITH_VALUE:
            raise _unsupported(f"{flag} {value}")
    return _build(options, tuple(keys))


_SHORT = {"-J": "proxyjump", "-p": "port", "-l": "user", "-i": "identityfile", "-F": "configfile", "-S": "controlpath"}


def _option(text: str) -> tuple[str, str]:
    name, separator, value = text.strip().partition("=")
    if not separator:
        name, _, value = text.strip().partition(" ")
    name = name.strip().lower()
    if name not in _SUPPORTED | _IGNORED:
        raise _unsupported(f"-o {text}")
    return name, value.strip().strip('"')


def _build(options: Mapping[str, str], keys: tuple[Path, ...]) -> SshArgs:
    files = f"{options.get('userknownhostsfile', '')} {options.get('globalknownhostsfile', '')}".split()
    jump = options.get("proxyjump", "")
    command = options.get("proxycommand", "")
    return SshArgs(
        known_hosts=tuple(user_path(f) for f in files if f != "none"),
        check_host_key=options.get("stricthostkeychecking", "yes").lower() not in ("no", "off"),
        jumps=tuple(_jump(j) for j in jump.split(",")) if jump and jump != "none" else (),
        proxy_command="" if command == "none" else command,
        key_paths=keys,
        identities_only=options.get("identitiesonly", "no").lower() == "yes",
        connect_timeout_s=_number(options, "connecttimeout"),
        host_key_alias=options.get("hostkeyalias", ""),
        kex=options.get("kexalgorithms", ""),
        port=_number(options, "port"),
        user=options.get("user", ""),
        config_file=user_path(options["configfile"]) if options.get("configfile") else None,
    )


def _jump(text: str) -> JumpHost:
    """Parse `[user@]host[:port]`, with IPv6 addresses in brackets."""
    found = re.fullmatch(r"(?:ssh://)?(?:(.*)@)?(?:\[([^]]+)\]|([^:\[\]]+))(?::(\d+))?", text.strip())
    if found is None:
        raise _unsupported(f"ProxyJump {text}")
    return JumpHost(found[1] or "", found[2] or found[3], int(found[4] or 22))


def _number(options: Mapping[str, str], name: str) -> int | None:
    text = options.get(name)
    if text is None:
        return None
    if not text.isdecimal():
        raise _unsupported(f"-o {name}={text}")
    return int(text)


def user_path(text: str) -> Path:
    """A path with `~` expanded."""
    return Path(text.strip('"')).expanduser()


def _unsupported(word: str) -> ConfigError:
    return ConfigError(
        detail=f"ansible_ssh_common_args / ansible_ssh_extra_args: {word!r} is not supported",
        hint="put it into ~/.ssh/config, or set another ansible_connection for these nodes, so that Ansible connects to them",
    )
