from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from support.event_site import EventSite

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


@pytest.fixture
def site(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[EventSite]:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("no_proxy", "*")
    found = EventSite(tmp_path)
    yield found
    found.store.close()
