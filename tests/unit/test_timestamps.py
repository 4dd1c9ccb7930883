"""Points in time as nodes write them."""

from __future__ import annotations

import pytest

from clusterctl.core import timestamps


@pytest.mark.parametrize("moment", ["2026-03-14T09:00:00.250+00:00", "2026-03-14T10:00:00.25+01:00", "2026-03-14T09:00:00.250000Z"])
def test_any_offset_is_read(moment: str) -> None:
    assert timestamps.in_utc(moment) == "2026-03-14T09:00:00.250000Z"


@pytest.mark.parametrize("moment", ["", "never", "2026-03-14T09:00:00", "2026-13-14T09:00:00Z"])
def test_what_is_no_point_in_time_is_refused(moment: str) -> None:
    with pytest.raises(ValueError, match=r"."):
        timestamps.in_utc(moment)
