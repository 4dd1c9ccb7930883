"""Waivers without effect."""

from __future__ import annotations

from dataclasses import replace
from datetime import date

import pytest

from clusterctl.core.waiver_problems import waiver_problems
from clusterctl.model.node import Connection, Node, NodeSpec, Place

TODAY = date(2026, 5, 31)
CHECKS = ("hugepages.pages[1G].node0.running", "kernel.cmdline.running")


def texts(*checks: str, expires: str = "2026-05-31", known: tuple[str, ...] = ()) -> list[str]:
    waivers = tuple({"check": c, "reason": "disk on order", "owner": "storage", "expires": expires} for c in checks)
    spec = replace(NodeSpec({"hugepages": {}, "kernel": {}}, {}, (), "sha256:0"), waivers=waivers)
    return [p.text() for p in waiver_problems(Node("n1", (), Connection(""), Place(), spec), known, TODAY)]


@pytest.mark.parametrize("glob", ["kernel.*", "hugepages.pages[1G].node?.running", "huge*running", "k*"])
def test_an_effective_waiver_is_not_a_problem(glob: str) -> None:
    assert texts(glob) == []
    assert texts(glob, known=CHECKS) == []


def test_an_expired_waiver_is_reported_with_owner_and_date() -> None:
    found = texts("kernel.*", "hugepages.*", expires="2026-05-30")
    assert found == [
        "waivers[0]: 'kernel.*' of storage expired on 2026-05-30 (disk on order): renew or remove it (n1)",
        "waivers[1]: 'hugepages.*' of storage expired on 2026-05-30 (disk on order): renew or remove it (n1)",
    ]


@pytest.mark.parametrize("known", [(), CHECKS])
def test_a_waiver_for_a_role_that_the_node_lacks_is_reported(known: tuple[str, ...]) -> None:
    (text,) = texts("hugepage.pages*", known=known)
    assert text == "waivers[0]: 'hugepage.pages*' matches no check: the node has no such role; did you mean 'hugepages'? (n1)"
    assert "no such role" in texts("roce.*", known=known)[0]


def test_a_waiver_without_matching_check_is_reported() -> None:
    assert texts("hugepages.page[1G]*") == []
    (text,) = texts("hugepages.pages[1G].node0.runnig", known=CHECKS)
    assert "matches none of the 2 checks of its last validation; did you mean 'hugepages.pages[1G].node0.running'?" in text


@pytest.mark.parametrize("glob", ["*", "*.running", "?*"])
def test_a_waiver_of_everything_is_reported(glob: str) -> None:
    (text,) = texts(glob)
    assert text.startswith(f"waivers[0]: {glob!r} hides checks of every role")


def test_a_waiver_that_outlives_a_year_is_reported() -> None:
    assert texts("kernel.*", expires="2027-06-01") == []
    (text,) = texts("kernel.*", expires="2099-01-01")
    assert "lasts until 2099-01-01, more than a year" in text
