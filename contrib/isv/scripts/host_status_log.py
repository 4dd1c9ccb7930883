"""BMAAS07-01: what the hosts logged in the last minutes, in the journal and in the kernel's log. A source passes if every host has an entry."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

from site_answers import NotAnsweredError, Option, Site, report

if TYPE_CHECKING:
    import argparse

_SOURCES = {"journalctl_recent": ("--journal",), "dmesg_recent": ()}


def read(site: Site, given: argparse.Namespace) -> dict[str, Any]:
    """Both sources; one of them is enough for the suite."""
    if not given.max_age_minutes.isdecimal():
        raise NotAnsweredError(f"--max-age-minutes is not a number: {given.max_age_minutes!r}")
    words = ("logs", given.target, "--since", f"{given.max_age_minutes}m", "--lines", "500")
    tests = {source: _sampled(site.ask(*words, *more)["nodes"], given.max_age_minutes) for source, more in _SOURCES.items()}
    if not any(one["passed"] for one in tests.values()):
        raise NotAnsweredError("; ".join(f"{source}: {one['message']}" for source, one in tests.items()), tests=tests)
    return {"tests": tests}


def _sampled(nodes: list[dict[str, Any]], minutes: str) -> dict[str, Any]:
    """`latest_timestamp` is that of the host whose newest entry is the oldest; `entry_count` is of all hosts."""
    silent = [f"{n['name']} ({n['problem'] or 'no entries'})" for n in nodes if not n["entries"]]
    number = sum(len(n["entries"]) for n in nodes)
    latest = min((n["entries"][-1]["at"] for n in nodes if n["entries"]), default="")
    message = f"{number} entries of {len(nodes)} hosts in the last {minutes} min, each has one since {latest}"
    if silent:
        message = f"no entries of {len(silent)} of {len(nodes)} hosts in the last {minutes} min: {', '.join(silent)}"
    passed = bool(nodes) and not silent
    return {"passed": passed, "message": message, "entry_count": number, "latest_timestamp": latest}


if __name__ == "__main__":
    options = (Option("target", "nodes to query", "all"), Option("max-age-minutes", "how old an entry may be", "5"))
    sys.exit(report("host_status_log", __doc__, read, *options))
