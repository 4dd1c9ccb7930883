"""Maintenance windows: read from clusterctl.yml, open in their own time zone."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING

import pytest

from clusterctl.adapters.config import read_config
from clusterctl.model.errors import ConfigError
from support.roles import ROOT

if TYPE_CHECKING:
    from pathlib import Path

    from clusterctl.core.maintenance_windows import MaintenanceWindows

NIGHTS = '{days: [tue, thu], from: "22:00", to: "04:00", time_zone: Europe/Berlin}'
DATED = '{from: "2026-12-27 08:00", to: "2026-12-27 18:00", time_zone: Europe/Berlin}'


def windows(folder: Path, *items: str) -> MaintenanceWindows:
    lines = "".join(f"  - {item}\n" for item in items)
    (folder / "clusterctl.yml").write_text(f"inventory: []\nmaintenance_windows:\n{lines or '  []'}")
    return read_config(start=folder).limits.windows


def at(text: str) -> datetime:
    return datetime.fromisoformat(text).replace(tzinfo=UTC)


@pytest.mark.parametrize(
    ("item", "moment", "is_open"),
    [
        (NIGHTS, "2026-11-24 20:59", False),  # Tuesday, 21:59 in Berlin
        (NIGHTS, "2026-11-24 21:00", True),
        (NIGHTS, "2026-11-25 02:59", True),  # Wednesday, of Tuesday's window
        (NIGHTS, "2026-11-25 03:00", False),
        (NIGHTS, "2026-11-25 21:30", False),  # Wednesday
        (NIGHTS, "2026-07-21 20:00", True),  # in summer the same clock on the wall is an hour earlier
        ('{from: "02:00", to: "03:00", time_zone: Europe/Berlin}', "2026-10-25 00:30", True),  # 02:30 in summer time
        ('{from: "02:00", to: "03:00", time_zone: Europe/Berlin}', "2026-10-25 01:30", True),  # 02:30 again, in winter time
        ('{days: [sun], from: "00:00", to: "00:00"}', "2026-11-22 23:59", True),  # a whole day
        ('{days: [sun], from: "00:00", to: "00:00"}', "2026-11-23 00:00", False),
        (DATED, "2026-12-27 07:00", True),
        (DATED, "2026-12-27 17:00", False),
        ("{from: 2026-12-27 08:00:00, to: 2026-12-27 18:00:00, time_zone: Europe/Berlin}", "2026-12-27 07:00", True),
        ("{from: 2026-12-27T08:00:00+01:00, to: 2026-12-27T18:00:00+01:00}", "2026-12-27 07:00", True),
    ],
)
def test_when_a_window_is_open(item: str, moment: str, is_open: bool, tmp_path: Path) -> None:
    assert windows(tmp_path, item).is_open(at(moment)) is is_open


def test_without_windows_planned_work_may_start_at_any_time(tmp_path: Path) -> None:
    assert windows(tmp_path).is_open(at("2026-11-24 12:00"))


@pytest.mark.parametrize(
    ("items", "moment", "text"),
    [
        ((NIGHTS, DATED), "2026-11-22 12:00", "opens Tue 2026-11-24 22:00 (Europe/Berlin)"),
        ((NIGHTS, DATED), "2026-11-24 21:00", "opens Thu 2026-11-26 22:00 (Europe/Berlin)"),
        ((DATED,), "2026-11-22 12:00", "opens Sun 2026-12-27 08:00 (Europe/Berlin)"),
        ((DATED,), "2026-12-28 12:00", "no maintenance window is left"),
    ],
)
def test_the_next_window_is_named(items: tuple[str, ...], moment: str, text: str, tmp_path: Path) -> None:
    assert text in windows(tmp_path, *items).next_text(at(moment))


@pytest.mark.parametrize(
    ("item", "says"),
    [
        ("nightly", "window 1 is not a mapping"),
        ('{from: "02:00", to: "06:00", zone: UTC}', "zone: unknown key"),
        ("{from: 22:00, to: 06:00}", "from: 1320 is neither"),  # YAML 1.1 reads 22:00 as a number of base 60
        ('{from: "02:00"}', "to: None is neither"),
        ('{from: "02:00", to: "25:00"}', "to: '25:00' is neither"),
        ('{from: "02:00", to: "2026-12-27 18:00"}', "must both be times of day"),
        ('{days: [tuesday], from: "02:00", to: "06:00"}', "is not a list of days"),
        ('{days: tue, from: "02:00", to: "06:00"}', "is not a list of days"),
        ('{days: [], from: "02:00", to: "06:00"}', "is not a list of days"),
        ('{days: [tue], from: "2026-12-27 08:00", to: "2026-12-27 18:00"}', "has no days"),
        ('{from: "2026-12-27 18:00", to: "2026-12-27 08:00"}', "is not after"),
        ('{from: "02:00", to: "06:00", time_zone: Europe/Berlim}', "is not a time zone"),
        ('{from: "02:00", to: "06:00", time_zone: ../../etc}', "is not a time zone"),
        ('{from: "02:00", to: "06:00", time_zone: 2}', "is not a time zone"),
    ],
)
def test_windows_that_are_declared_wrongly(item: str, says: str, tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=says) as caught:
        windows(tmp_path, item)
    assert "clusterctl.yml:2: maintenance_windows: " in str(caught.value)
    assert "Europe/Berlin" in caught.value.hint


def test_one_window_without_a_list(tmp_path: Path) -> None:
    (tmp_path / "clusterctl.yml").write_text(f"maintenance_windows: {NIGHTS}\n")
    with pytest.raises(ConfigError, match="is not a list"):
        read_config(start=tmp_path)


def test_the_example_of_the_reference_is_read(tmp_path: Path) -> None:
    page = (ROOT / "docs/reference/configuration.md").read_text()
    (tmp_path / "clusterctl.yml").write_text(
        page.split("```yaml\nmaintenance_windows")[1].split("```")[0].join(("maintenance_windows", ""))
    )
    assert read_config(start=tmp_path).limits.windows.windows == windows(tmp_path, NIGHTS, DATED).windows
