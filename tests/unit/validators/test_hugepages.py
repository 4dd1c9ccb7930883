from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from clusterctl_validators import test_hugepages as module
from clusterctl_validators.finding import GOOD
from support.os_node import Case, cases, findings
from support.roles import ROOT, load_role

if TYPE_CHECKING:
    from pathlib import Path

ROLE = load_role(ROOT / "roles" / "hugepages")


@pytest.mark.parametrize("case", cases("hugepages"), ids=lambda c: c.name)
def test_findings_of_a_node(case: Case, tmp_path: Path) -> None:
    found = findings(case, module, tmp_path)
    assert {check: f.outcome.value for check, f in found.items() if f.outcome not in GOOD} == case.outcomes


def test_the_healthy_node_declares_every_argument() -> None:
    assert cases("hugepages")[0].declared == set(ROLE.options)


def test_every_finding_has_a_hint(tmp_path: Path) -> None:
    for case in cases("hugepages"):
        found = findings(case, module, tmp_path / case.name)
        assert [c for c, f in found.items() if f.outcome.value == "fail" and not f.hint] == []


def test_a_node_without_pages_needs_no_words(tmp_path: Path) -> None:
    pages = [{"size": size, "node": 0, "count": 0} for size in ("1G", "2M")]
    spec = {**ROLE.defaults, "hugepages_pages": pages, "hugepages_cmdline": True}
    found = findings(Case("hugepages", "none", {"spec": spec}, {}), module, tmp_path)
    assert found["hugepages.cmdline"].outcome.value == "not_applicable"
    assert {"hugepages.pages[1G].node0.running", "hugepages.pages[2M].node0.running"} <= set(found)


def test_defaults_declare_nothing(tmp_path: Path) -> None:
    found = findings(Case("hugepages", "defaults", {"spec": ROLE.defaults}, {}), module, tmp_path)
    assert {f.outcome.value for f in found.values()} == {"not_applicable"}
