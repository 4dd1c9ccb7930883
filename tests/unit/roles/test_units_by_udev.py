"""Units that udev starts: eight adapters appear within a second, and systemd refuses the sixth start within ten (systemd.unit, StartLimitBurst)."""

from __future__ import annotations

import pytest

from support.roles import ROOT

STARTED = sorted(
    rules.parents[1].name for rules in ROOT.glob("roles/*/templates/*rules.j2") if "_unit }}" in rules.read_text(encoding="utf-8")
)


def test_there_are_such_roles() -> None:
    assert {"infiniband", "roce", "ofed", "pcie"} <= set(STARTED)


@pytest.mark.parametrize("role", STARTED)
def test_a_unit_that_udev_starts_is_never_started_too_often(role: str) -> None:
    (unit,) = (ROOT / "roles" / role / "templates").glob("clusterctl-*.service.j2")
    assert "\nStartLimitIntervalSec=0\n" in unit.read_text(encoding="utf-8").partition("[Service]")[0]
