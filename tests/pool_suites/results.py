"""What a suite came to, from the JUnit file of pytest."""

from __future__ import annotations

from collections import Counter
from dataclasses import asdict, dataclass
from typing import Any
from xml.etree import ElementTree as ET

_BAD = frozenset({"failure", "error"})


@dataclass(frozen=True, slots=True)
class Case:
    """One test: passed, failed or skipped, and why."""

    name: str
    outcome: str
    reason: str = ""


@dataclass(frozen=True, slots=True)
class Suite:
    """The tests of one pool."""

    name: str
    cases: tuple[Case, ...]
    broken: str = ""

    @property
    def failed(self) -> bool:
        """Whether a test failed, or none could be collected."""
        return bool(self.broken) or any(c.outcome == "failed" for c in self.cases)

    def document(self) -> dict[str, Any]:
        """As build/pools.json has it."""
        return {"suite": self.name, "broken": self.broken, **self._counts(), "cases": [asdict(c) for c in self.cases]}

    def __str__(self) -> str:
        reasons = sorted({c.reason for c in self.cases if c.outcome == "skipped"})
        counts = ", ".join(f"{n} {outcome}" for outcome, n in self._counts().items())
        return f"{self.name}: {counts}" + "".join(f"\n  {r}" for r in (*reasons, self.broken) if r)

    def _counts(self) -> dict[str, int]:
        counts = Counter(c.outcome for c in self.cases)
        return {outcome: counts[outcome] for outcome in ("passed", "failed", "skipped")}


def read_junit(name: str, text: str, code: int) -> Suite:
    """The suite of a JUnit file; `code` is the exit status of pytest."""
    cases = tuple(_case(x) for x in ET.fromstring(text).iter("testcase")) if text else ()  # noqa: S314 our own file
    broken = f"pytest ended with {code}" if code not in (0, 1) or not cases else ""
    return Suite(name, cases, broken)


def _case(node: ET.Element) -> Case:
    outcome = "failed" if any(child.tag in _BAD for child in node) else "skipped" if node.find("skipped") is not None else "passed"
    messages = [str(child.get("message", "")) for child in node if child.tag in {*_BAD, "skipped"}]
    return Case(str(node.get("name")), outcome, messages[0].split("\n", 1)[0][:300] if messages else "")
