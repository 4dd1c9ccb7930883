"""Waivers: accepted deviations with an owner and an expiry date. Pure."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from datetime import date
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from clusterctl.model.errors import ConfigError
from clusterctl_validators.finding import GOOD, Finding, Outcome

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

_NEEDED = ("check", "reason", "owner", "expires")


@dataclass(frozen=True, slots=True)
class Waiver:
    """A deviation of one node.

    Attributes:
        check: glob over check ids; only * and ? are special, for ids hold brackets.
        expires: the last day on which it counts (UTC).
    """

    check: str
    reason: str
    owner: str
    expires: date


@lru_cache(maxsize=1024)
def _pattern(glob: str) -> re.Pattern[str]:
    return re.compile(re.escape(glob).replace(r"\*", ".*").replace(r"\?", "."), re.DOTALL)


def matches(glob: str, check: str) -> bool:
    """Whether the waiver covers a check id: * is any text, ? one character, everything else literal."""
    return _pattern(glob).fullmatch(check) is not None


def may_match(glob: str, role: str) -> bool:
    """Whether a glob over check ids can mean a check of this role; the empty glob means all."""
    literal = glob.replace("?", "*").partition("*")[0]
    name, dot, _ = literal.partition(".")
    return role == name if dot else role.startswith(name)


def parse_waivers(entries: Iterable[Mapping[str, Any]], node: str) -> tuple[Waiver, ...]:
    """The waivers of a node.

    Raises:
        ConfigError: one lacks its check, reason, owner or a valid date: nobody would answer for it, or forever.
    """
    return tuple(_one(entry, node) for entry in entries)


def _one(entry: Mapping[str, Any], node: str) -> Waiver:
    missing = [k for k in _NEEDED if not str(entry.get(k) or "").strip()]
    if missing:
        raise _invalid(node, f"{dict(entry)} has no {', '.join(missing)}")
    check, reason, owner, expires = (str(entry[k]).strip() for k in _NEEDED)
    try:
        return Waiver(check, reason, owner, date.fromisoformat(expires))
    except ValueError as e:
        raise _invalid(node, f"{check}: expires: {expires!r} is not a date like 2026-12-31") from e


def _invalid(node: str, problem: str) -> ConfigError:
    return ConfigError(
        detail=f"{node}: waivers: {problem}", hint="write {check: <glob>, reason: <why>, owner: <who>, expires: <YYYY-MM-DD>}"
    )


def apply_waivers(findings: Iterable[Finding], waivers: Iterable[Waiver], today: date) -> tuple[Finding, ...]:
    """The findings with waived ones marked; a finding whose waiver has expired still fails, and names the expired waiver."""
    known = tuple(waivers)
    return tuple(f if f.outcome in GOOD else _judge(f, known, today) for f in findings) if known else tuple(findings)


def _judge(finding: Finding, waivers: tuple[Waiver, ...], today: date) -> Finding:
    mine = [w for w in waivers if matches(w.check, finding.check)]
    if not mine:
        return finding
    latest = max(mine, key=lambda w: w.expires)
    before = f" ({finding.reason})" if finding.reason else ""
    if latest.expires < today:
        return replace(finding, reason=f"the waiver of {latest.owner} expired on {latest.expires}: {latest.reason}{before}")
    return replace(finding, outcome=Outcome.WAIVED, reason=f"waived by {latest.owner} until {latest.expires}: {latest.reason}{before}")
