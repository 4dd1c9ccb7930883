"""The configuration and the nodes file of IMEX, and the address of this machine among the nodes."""

from __future__ import annotations

import socket
from dataclasses import dataclass

from . import state

CONFIG_FILE = "/etc/nvidia-imex/config.cfg"
# The daemon accepts commands at this address.
COMMAND_ADDRESS = "127.0.0.1"


class ImexConfigError(Exception):
    """The files are invalid; IMEX does not start."""


@dataclass(frozen=True)
class ImexConfig:
    """The simulated settings with their defaults; other settings are ignored."""

    server_port: int = 50000
    cmd_enabled: bool = False
    cmd_port: int = 50005
    nodes_file: str = "/etc/nvidia-imex/nodes_config.cfg"
    daemonize: bool = True


def read_config(path: str) -> ImexConfig:
    """The settings in a file; defaults if the file does not exist.

    Raises:
        ImexConfigError: a port is invalid, or encryption is on without readable key and certificates.
    """
    found = {key.strip(): value.strip() for key, _, value in (line.partition("=") for line in _lines(path))}
    _require_credentials(found)
    default = ImexConfig()
    return ImexConfig(
        server_port=_port("SERVER_PORT", found.get("SERVER_PORT"), default.server_port),
        cmd_enabled=found.get("IMEX_CMD_ENABLED") == "1",
        cmd_port=_port("IMEX_CMD_PORT", found.get("IMEX_CMD_PORT"), default.cmd_port),
        nodes_file=found.get("IMEX_NODE_CONFIG_FILE", default.nodes_file),
        daemonize=found.get("DAEMONIZE", "1") != "0",
    )


def _require_credentials(found: dict[str, str]) -> None:
    if found.get("IMEX_ENABLE_AUTH_ENCRYPTION", "0") != "1":
        return
    mode, source = found.get("IMEX_AUTH_ENCRYPTION_MODE", "SSL_TLS"), found.get("IMEX_AUTH_SOURCE", "")
    if (mode, source) != ("SSL_TLS", "FILE"):
        raise ImexConfigError(f"authentication by {mode} from {source or 'nothing'} is not simulated")
    for name in (f"IMEX_{end}_{part}" for end in ("SERVER", "CLIENT") for part in ("KEY", "CERT", "CERT_AUTH")):
        if "-----BEGIN " not in state.read(found.get(name, "")):
            raise ImexConfigError(f"{name}: no such file, or not PEM: {found.get(name, '')}")


def read_members(path: str) -> tuple[str, ...]:
    """The addresses in a nodes file, in order.

    Raises:
        ImexConfigError: the file is missing or empty, or a line is not an address.
    """
    members = tuple(_lines(path))
    if not members:
        raise ImexConfigError(f"node configuration file {path} is missing or names no node")
    for address in members:
        try:
            socket.inet_pton(address_family(address), address)
        except OSError as e:
            raise ImexConfigError(f"node configuration file {path}: not an address: {address}") from e
    return members


def own_address(members: tuple[str, ...]) -> str:
    """The first member that is an address of this machine.

    Raises:
        ImexConfigError: none is.
    """
    for address in members:
        with socket.socket(address_family(address)) as probe:
            try:
                probe.bind((address, 0))
            except OSError:  # an address of another machine
                continue
            return address
    raise ImexConfigError(f"none of the nodes is an address of this machine: {', '.join(members)}")


def address_family(address: str) -> socket.AddressFamily:
    """AF_INET or AF_INET6, depending on the notation of the address."""
    return socket.AF_INET6 if ":" in address else socket.AF_INET


def _lines(path: str) -> list[str]:
    lines = (line.strip() for line in state.read(path).splitlines())
    return [line for line in lines if line and not line.startswith("#")]


def _port(key: str, value: str | None, default: int) -> int:
    if value is None:
        return default
    if not (value.isdecimal() and 0 < int(value) < 65536):
        raise ImexConfigError(f"{key}={value}: not a port")
    return int(value)
