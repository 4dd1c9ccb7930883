"""A validator whose tool takes longer than a check usually may."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from clusterctl_validators.record import Record

ROLE = "patient"
LIMIT_S = 2


def test_slow_tool(record: Record) -> None:
    time.sleep(1)
    record.ok("patient.tool", condition=True)


def test_hung_tool(record: Record) -> None:
    time.sleep(60)
    record.ok("patient.hung", condition=True)
