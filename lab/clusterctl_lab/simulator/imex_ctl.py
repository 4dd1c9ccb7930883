"""nvidia-imex-ctl: -q, -N [-j], -c PATH, --version."""

from __future__ import annotations

import argparse
import sys

from .imex_config import COMMAND_ADDRESS, CONFIG_FILE, ImexConfigError, read_config
from .imex_protocol import CONNECTED, INVALID, NEVER_CONNECTED, Domain, MemberReport, NoReplyError, Request, RequestKind, send_request

_LETTERS = {INVALID: "I", NEVER_CONNECTED: "N", CONNECTED: "C"}
_LEGEND = """Connectivity Table Legend:
I - Invalid - Node wasn't reachable, or refused
N - Never Connected
C - Connected - Ready for operation
"""


def main(argv: list[str], version: str) -> int:
    """Query the daemon of this machine and print its reply."""
    parser = argparse.ArgumentParser(prog="nvidia-imex-ctl", allow_abbrev=False)
    parser.add_argument("-c", dest="config", default=CONFIG_FILE)
    parser.add_argument("-q", dest="query", action="store_true")
    parser.add_argument("-N", dest="nodes", action="store_true")
    parser.add_argument("-j", dest="as_json", action="store_true")
    parser.add_argument("-v", "--version", action="store_true")
    options, others = parser.parse_known_args(argv[1:])
    if options.version and not others:
        print(f"IMEX ctl version is: {version} (simulated)")
        return 0
    if others or options.query == options.nodes or (options.query and options.as_json):
        print(f"nvidia-imex-ctl: not simulated: {' '.join(argv[1:])}", file=sys.stderr)
        return 2
    try:
        line = _query_daemon(options.config, Request(RequestKind.STATE if options.query else RequestKind.DOMAIN, version))
        if options.query:
            print(MemberReport.from_json(line).status)
        else:
            domain = Domain.from_json(line)
            print(domain.to_json() if options.as_json else domain_table(domain))
    except (ImexConfigError, NoReplyError) as e:
        print(f"Unable to connect to the IMEX server: {e}", file=sys.stderr)
        return 1
    return 0


def _query_daemon(path: str, request: Request) -> bytes:
    config = read_config(path)
    if not config.cmd_enabled:
        raise NoReplyError(f"IMEX_CMD_ENABLED is not 1 in {path}")
    return send_request(COMMAND_ADDRESS, config.cmd_port, request)


def domain_table(domain: Domain) -> str:
    """The output of `nvidia-imex-ctl -N`."""
    nodes = [f"Node #{i:<3} - {m.address:<15} - {m.status:<20} - Version: {m.version}" for i, m in enumerate(domain.members)]
    columns = "".join(f"{i:<4}" for i in range(len(nodes)))
    rows = [f"{i:>8}        " + "".join(f"{_LETTERS.get(s, '?'):<4}" for s in m.connections) for i, m in enumerate(domain.members)]
    matrix = [line.rstrip() for line in (f" Nodes From\\To  {columns}", *rows)]
    return "\n".join([_LEGEND, domain.timestamp, "Nodes:", *nodes, "", *matrix, f"Domain State: {domain.status}"])
