"""The stream of events: one at once, one for each change, none for none; it ends when the server does."""

from __future__ import annotations

import asyncio
import json
from typing import TYPE_CHECKING

from clusterctl.model.errors import StoreError
from clusterctl.model.records import RunStatus
from clusterctl.serve import progress_events as module
from clusterctl.serve.progress_events import progress_events
from clusterctl.workflows.browse import Browser
from support.stores import a_node, a_run, fresh
from support.web_site import FIRST, store_url

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

    import pytest

    from clusterctl.model.web_documents import RunProgress


def events_of(source: Browser, steps: Sequence[Callable[[], object]]) -> list[bytes]:
    """The events while each step is done after one more look."""
    waiting = list(steps)
    looks = 0

    class Stepping(Browser):
        def progress(self) -> tuple[RunProgress, ...]:
            nonlocal looks
            found = source.progress()
            looks += 1
            if looks % 2 == 0 and waiting:
                waiting.pop(0)()
            return found

    async def collect() -> list[bytes]:
        stream = progress_events(Stepping(""), lambda: looks > 2 * len(steps) + 3, every_s=0.0)
        return [one async for one in stream]

    return asyncio.run(collect())


def test_an_event_for_each_change_and_none_for_none(tmp_path: Path) -> None:
    with fresh(tmp_path) as store:
        store.register([a_node(), a_node("r12-n02", slot=2)])
        steps = [
            lambda: store.start_run(a_run(FIRST), ["r12-n01", "r12-n02"]),
            lambda: store.save_run_node(FIRST, "r12-n01", phase="apply"),
            lambda: store.finish_run(FIRST, RunStatus.DONE, 0, {}),
        ]
        events = events_of(Browser(store_url(tmp_path)), steps)
    lines = [e.decode().split("\n") for e in events]
    assert {one[0] for one in lines} == {"event: progress"}
    assert {tuple(one[2:]) for one in lines} == {("", "")}
    runs = [json.loads(one[1].removeprefix("data: "))["runs"] for one in lines]
    assert [[(r["id"], r["phases"]) for r in one] for one in runs] == [[], [(FIRST, {"": 2})], [(FIRST, {"": 1, "apply": 1})], []]


def test_a_silent_stream_gives_a_sign_of_life(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    fresh(tmp_path).close()
    monkeypatch.setattr(module, "_SIGN_OF_LIFE_S", 0.0)
    events = events_of(Browser(store_url(tmp_path)), [])
    assert events[0].startswith(b"event: progress")
    assert set(events[1:]) == {b": no change\n\n"}


def test_a_record_that_cannot_be_read_is_an_event_and_not_the_end() -> None:
    class Broken(Browser):
        def progress(self) -> tuple[RunProgress, ...]:
            raise StoreError(path="x", detail="the disk is gone\nand more", hint="look")

    looks = iter([False, False, True, True, True])

    async def collect() -> list[bytes]:
        return [one async for one in progress_events(Broken(""), lambda: next(looks), every_s=0.0)]

    (event,) = asyncio.run(collect())
    name, data, *rest = event.decode().split("\n")
    assert (name, rest) == ("event: problem", ["", ""])
    assert json.loads(data.removeprefix("data: "))["hint"] == "look"


def test_a_stream_ends_soon_after_the_server_is_told_to() -> None:
    class Idle(Browser):
        def progress(self) -> tuple[RunProgress, ...]:
            return ()

    async def collect() -> float:
        loop = asyncio.get_running_loop()
        begin = loop.time()
        async for _ in progress_events(Idle(""), lambda: loop.time() > begin + 0.3, every_s=60.0):
            pass
        return loop.time() - begin

    assert asyncio.run(collect()) < 5
