"""Planned maintenance reaches the receivers of events: announced, moved and cancelled, each once, between the others."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING

import pytest

from clusterctl.adapters import clock
from clusterctl.core.timestamps import after
from clusterctl.model.cloud_event import Delivered
from clusterctl.model.notice import Period
from clusterctl.model.state import State
from support.event_site import NODE, EventSite, kinds
from support.webhook import Webhook

if TYPE_CHECKING:
    from collections.abc import Iterator

    from clusterctl.model.notice import MaintenanceNotice

DAY_S = 86_400
BEGINS, LATER, ENDS = (after(clock.now(), days * DAY_S) for days in (1, 2, 3))
TYPES = [f"clusterctl.maintenance.{change}" for change in ("planned", "moved", "cancelled")]


@pytest.fixture
def hook(site: EventSite) -> Iterator[Webhook]:
    """A receiver, from whose declaration on events count."""
    with Webhook() as running:
        site.declare(f"{{name: a, webhook: {running.url!r}, attempts: 1}}")
        assert site.send().first
        yield running


def announced(site: EventSite, reason: str = "new switch") -> MaintenanceNotice:
    return site.store.announce("rack-12", [NODE, "r12-n02"], Period(BEGINS, ENDS), operator="ada", reason=reason)


def test_a_notice_is_a_cloud_event_in_structured_mode(site: EventSite, hook: Webhook) -> None:
    notice = announced(site)
    assert site.send() == Delivered(sent=1)
    assert hook.got[0].headers["Content-Type"] == "application/cloudevents+json; charset=UTF-8"
    (event,) = hook.events
    assert {k: v for k, v in event.items() if k not in ("time", "data")} == {
        "specversion": "1.0",
        "id": f"notice-{notice.change}",
        "source": "urn:x:site",
        "type": "clusterctl.maintenance.planned",
        "subject": str(notice.id),
        "datacontenttype": "application/json",
    }
    assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d+Z", event["time"])
    assert event["time"] < event["data"]["begins_at"]
    assert event["data"] == {
        "id": notice.id,
        "nodes": [NODE, "r12-n02"],
        "begins_at": BEGINS,
        "ends_at": ENDS,
        "reason": "new switch",
        "operator": "ada",
    }


def test_each_change_is_sent_once_and_in_the_order_of_time(site: EventSite, hook: Webhook) -> None:
    notice = announced(site)
    site.store.transition(NODE, State.MAINTENANCE, run_id="", operator="ada", owner="ada")
    site.store.move_notice(notice.id, LATER, None, operator="bob")
    site.store.trip_breaker(operator="alice", reason="three at once")
    site.store.cancel_notice(notice.id, operator="eve", reason="no spare")
    assert site.send() == Delivered(sent=5)
    assert site.send() == Delivered(), "nothing is sent twice"
    assert kinds(hook.events) == [TYPES[0], "clusterctl.node.maintenance", TYPES[1], "clusterctl.breaker.tripped", TYPES[2]]
    mine = [e for e in hook.events if e["type"] in TYPES]
    assert len({e["id"] for e in mine}) == 3
    assert [(e["data"]["id"], e["data"]["begins_at"], e["data"]["operator"], e["data"]["reason"]) for e in mine] == [
        (notice.id, BEGINS, "ada", "new switch"),
        (notice.id, LATER, "bob", "new switch"),
        (notice.id, LATER, "eve", "no spare"),
    ]


def test_what_was_announced_between_two_passes_is_sent_in_the_next(site: EventSite, hook: Webhook) -> None:
    notice = announced(site)
    site.send()
    site.store.move_notice(notice.id, LATER, None, operator="bob")
    assert site.send() == Delivered(sent=1)
    assert kinds(hook.events) == TYPES[:2]


def test_a_notice_that_is_not_taken_is_a_dead_letter_and_is_replayed_as_it_was(site: EventSite, hook: Webhook) -> None:
    notice = announced(site)
    hook.statuses = [500]
    assert site.send() == Delivered(dead=1, kept=1)
    first = hook.events[0]
    site.store.cancel_notice(notice.id, operator="eve", reason="no spare")
    assert site.send(replay=True) == Delivered(sent=2)
    assert hook.events[1] == first
    assert kinds(hook.events) == [TYPES[0], TYPES[0], TYPES[2]]


def test_a_receiver_gets_notices_by_their_pattern(site: EventSite) -> None:
    with Webhook() as running:
        site.declare(f"{{name: a, webhook: {running.url!r}, types: ['clusterctl.maintenance.*']}}")
        site.send()
        site.quarantine()
        announced(site)
        assert site.send() == Delivered(sent=1)
    assert kinds(running.events) == TYPES[:1]


def test_secrets_in_a_reason_are_masked(site: EventSite, hook: Webhook) -> None:
    announced(site, "log in with password=hunter22")
    site.send()
    assert "hunter22" not in json.dumps(hook.events)


def test_the_largest_notice_fits_into_what_a_receiver_must_take(site: EventSite, hook: Webhook) -> None:
    many = [f"dc1-hall2-r{i:04d}-n01" for i in range(1739)]
    site.store.announce("all", many, Period(BEGINS, ENDS), operator="ada", reason="\x01" * 4000)
    assert site.send() == Delivered(sent=1)
    assert 63_000 < int(hook.got[0].headers["Content-Length"]) <= 64 * 1024
