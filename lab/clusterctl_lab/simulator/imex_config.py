"""The configuration of IMEX, its nodes file, and which of the nodes this machine is."""

from __future__ import annotations

import socket
from dataclasses import dataclass

from . import state

CONFIG_FILE = "/etc/nvidia-imex/config.cfg"
# Where the daemon takes commands.
COMMAND_ADDRESS = "127.0.0.1"


class ImexConfigError(Exception):
    """With these files IMEX does not start."""


@dataclass(frozen=True)
class ImexConfig:
    """The settings that are simulated, with their defaults; the others are read over."""

    server_port: int = 50000
    cmd_enabled: bool = False
    cmd_port: int = 50005
    nodes_file: str = "/etc/nvidia-imex/nodes_config.cfg"


def read_config(path: str) -> ImexConfig:
    """The KEY=VALUE lines of a file; defaults where there is none. ImexConfigError if a port is none."""
    found = {key.strip(): value.strip() for key, _, value in (line.partition("=") for line in _lines(path))}
    default = ImexConfig()
    return ImexConfig(
        server_port=_port("SERVER_PORT", found.get("SERVER_PORT"), default.server_port),
        cmd_enabled=found.get("IMEX_CMD_ENABLED") == "1",
        cmd_port=_port("IMEX_CMD_PORT", found.get("IMEX_CMD_PORT"), default.cmd_port),
        nodes_file=found.get("IMEX_NODE_CONFIG_FILE", default.nodes_file),
    )


def read_members(path: str) -> tuple[str, ...]:
    """The addresses of a nodes file, in order. ImexConfigError if it is missing or empty, or a line is no address."""
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
    """The first member that is an address of this machine. ImexConfigError if none is."""
    for address in members:
        with socket.socket(address_family(address)) as probe:
            try:
                probe.bind((address, 0))
            except OSError:  # an address of another machine
                continue
            return address
    raise ImexConfigError(f"none of the nodes is an address of this machine: {', '.join(members)}")


def address_family(address: str) -> socket.AddressFamily:
    """IPv4 or IPv6, by how an address is written."""
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
