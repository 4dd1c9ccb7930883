"""CNP10-01: how the BMC of each node can be reached. A test passes if every BMC shows it; the last two need `bmc_readonly_user` in the inventory."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

from site_answers import NotAnsweredError, Option, Site, report

if TYPE_CHECKING:
    import argparse
    from collections.abc import Callable, Mapping

    Node = Mapping[str, Any]


def _accounts(node: Node) -> Mapping[str, Any]:
    untried = {"refused": None, "logged": None, "answer": node["missing"].get("accounts", "not tried"), "privileged_answer": ""}
    return node["accounts"] or untried


# Of each test: what a node must show, and what it shows, for people.
_TESTS: dict[str, tuple[Callable[[Node], bool], Callable[[Node], str]]] = {
    "ipmi_disabled": (lambda n: n["ipmi_over_lan"] is False, lambda n: f"IPMI over LAN: {_said(n['ipmi_over_lan'])}"),
    "redfish_tls_enabled": (lambda n: n["tls_verified"], lambda n: f"certificate verified: {_said(n['tls_verified'])}"),
    "redfish_plain_http_disabled": (
        lambda n: n["http_without_tls"] is False,
        lambda n: f"HTTP without TLS: {_said(n['http_without_tls'])}",
    ),
    "redfish_authentication_required": (
        lambda n: n["redfish_without_account"] is False,
        lambda n: f"answers without an account: {_said(n['redfish_without_account'])}",
    ),
    "redfish_authorization_enforced": (
        lambda n: _accounts(n)["refused"] is True,
        lambda n: (
            f"change by an account that may only read: {_accounts(n)['answer']}; by bmc_user: {_accounts(n)['privileged_answer'] or 'not tried'}"
        ),
    ),
    "redfish_accounting_enabled": (
        lambda n: bool(_accounts(n)["logged"]),
        lambda n: f"no log entry names the account (change: {_accounts(n)['answer']})",
    ),
}


def read(site: Site, given: argparse.Namespace) -> dict[str, Any]:
    """All six tests, of every BMC."""
    nodes = site.ask("bmc", given.target, "--only", "protocols", "--only", "accounts")["nodes"]
    unread = [f"{n['name']} ({n['problem']})" for n in nodes if n["problem"]]
    if unread or not nodes:
        raise NotAnsweredError(f"BMCs that cannot be read: {', '.join(unread)}" if unread else "the target has no node")
    tests = {name: _tested(nodes, *test) for name, test in _TESTS.items()}
    answer = {"bmc_endpoints_tested": len(nodes), "tests": tests}
    failed = [f"{name}: {one['message']}" for name, one in tests.items() if not one["passed"]]
    if failed:
        raise NotAnsweredError("; ".join(failed), **answer)
    return answer


def _tested(nodes: list[dict[str, Any]], shows: Callable[[Node], bool], found: Callable[[Node], str]) -> dict[str, Any]:
    bad = [n for n in nodes if not shows(n)]
    if bad:
        return {"passed": False, "message": f"{len(bad)} of {len(nodes)} BMCs, the first is that of {bad[0]['name']}: {found(bad[0])}"}
    return {"passed": True, "message": f"{len(nodes)} BMCs"}


def _said(value: object) -> str:
    return {True: "yes", False: "no"}.get(value, "unknown") if isinstance(value, bool) else "unknown"


if __name__ == "__main__":
    sys.exit(report("bmc_protocol_security", __doc__, read, Option("target", "nodes to query", "all")))
