"""mpirun: starts a daemon on the other nodes of --host, queries all nodes for their properties and prints the output of rank 0."""

from __future__ import annotations

import os
import sys
from pathlib import Path

from . import nccl_tests, peers
from .mpi_daemons import DaemonError, Daemons, is_local

_OPTIONS_WITH_ONE_VALUE = {"-np", "-n", "--np", "--host", "-H", "-x", "--bind-to", "--map-by", "--hostfile", "-hostfile", "--rank-by", "-N"}
_OPTIONS_WITH_TWO_VALUES = {"--mca", "-mca"}


def main(argv: list[str], version: str) -> int:
    """Run an nccl-tests program on several nodes."""
    if {"--version", "-V"} & set(argv):
        print(f"mpirun (Open MPI) {version}\n\nReport bugs to http://www.open-mpi.org/community/help/\n(simulated)")
        return 0
    options, program = split_options(argv[1:])
    name = program[0].rpartition("/")[2].removesuffix("_perf") if program else ""
    if name not in nccl_tests.COLLECTIVES or not parse_hosts(options):
        print(f"mpirun: not simulated: {' '.join(argv[1:])}", file=sys.stderr)
        return 1
    hosts = parse_hosts(options)
    others = [address for address, _ in hosts if not is_local(address)]
    try:
        with Daemons(others, options.get("plm_rsh_agent", [""])[-1]) as daemons:
            return _run_ranks(options, name, program, daemons)
    except DaemonError as e:
        print(e, file=sys.stderr)
        return 1


def _run_ranks(options: dict[str, list[str]], name: str, program: list[str], daemons: Daemons) -> int:
    group: list[tuple[peers.Peer, int]] = []
    for address, slots in parse_hosts(options):
        try:
            description = peers.query_peer(address)
        except peers.PeerError as e:
            print(f"ORTE was unable to reliably start one or more daemons.\n* {e}", file=sys.stderr)
            return 1
        if not description.tests:
            print(f"mpirun was unable to find the specified executable file: {program[0]}\nNode: {description.node}", file=sys.stderr)
            return 134
        group.append((description, slots))
    exported = dict(word.split("=", 1) for word in options.get("-x", []) if "=" in word)

    def write(orders: dict[str, dict[str, str]]) -> None:
        daemons.order(orders)
        for file, text in orders.get(os.uname().nodename, {}).items():
            Path(file).write_text(text, encoding="utf-8")

    return nccl_tests.run_group(name, program[1:], group[0][0].tests, group, {**os.environ, **exported}, write=write)


def split_options(words: list[str]) -> tuple[dict[str, list[str]], list[str]]:
    """Split a command line into options (name -> values), with MCA parameters by their own names, and the program with its arguments."""
    options: dict[str, list[str]] = {}
    i = 0
    while i < len(words) and words[i].startswith("-"):
        name, equals, value = words[i].partition("=")
        if name in _OPTIONS_WITH_ONE_VALUE and not equals:
            options.setdefault(name, []).append(words[i + 1] if i + 1 < len(words) else "")
            i += 1
        elif name in _OPTIONS_WITH_TWO_VALUES:
            parameter, value = [*words[i + 1 : i + 3], "", ""][:2]
            options.setdefault(parameter, []).append(value)
            i += 2
        elif equals:
            options.setdefault(name, []).append(value)
        i += 1
    return options, words[i:]


def parse_hosts(options: dict[str, list[str]]) -> list[tuple[str, int]]:
    """The hosts of --host in order, as (address, slots)."""
    named = ",".join(options.get("--host", []) + options.get("-H", []))
    parts = [part.rpartition(":") for part in named.split(",") if part]
    return [(host, int(slots)) if host else (slots, 1) for host, _, slots in parts]
