"""Sends what the record has and no receiver got: a pass over the record, in a process of its own, so that no run ever waits for a receiver."""

from __future__ import annotations

import json
import os
import socket
import time
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from clusterctl.adapters import clock
from clusterctl.adapters.event_delivery import attempt
from clusterctl.adapters.event_spool import Cursor, EventSpool
from clusterctl.adapters.store import Store
from clusterctl.core import cloud_events, timestamps
from clusterctl.core.redact import Redactor
from clusterctl.model.cloud_event import DeadLetter, Delivered, NotTaken

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from typing import Any

    from clusterctl.adapters.config import Config
    from clusterctl.model.cloud_event import CloudEvent
    from clusterctl.model.event_settings import EventReceiver, EventSettings

# Clocks of controllers differ, and a transaction may end after one that began later.
_LOOK_BACK_S = 600.0
_LONGEST_PAUSE_S = 30.0
_SAVED_EACH_S = 1.0


@dataclass(slots=True)
class _Post:
    """Deliveries of one pass. A receiver that failed all attempts at one event is not tried again in it: its other events become dead letters at once."""

    sleep: Callable[[float], None]
    sent: int = 0
    down: dict[str, str] = field(default_factory=dict)
    letters: list[DeadLetter] = field(default_factory=list)

    def deliver(self, receiver: EventReceiver, event: Mapping[str, Any]) -> None:
        """With all attempts; what fails is a dead letter."""
        if receiver.name in self.down:
            self.letters.append(DeadLetter(receiver.name, self.down[receiver.name], 0, clock.now(), event))
            return
        body = json.dumps(event, ensure_ascii=False).encode()
        refusal: NotTaken | None = None
        for number in range(1, receiver.attempts + 1):
            refusal = attempt(receiver, body)
            if refusal is None:
                self.sent += 1
                return
            if refusal.final or number == receiver.attempts:
                self.letters.append(DeadLetter(receiver.name, refusal.problem, number, clock.now(), event))
                break
            self.sleep(min(2.0 ** (number - 1), _LONGEST_PAUSE_S))
        if refusal is not None and not refusal.final:
            self.down[receiver.name] = refusal.problem


def send_events(config: Config, *, replay: bool = False, sleep: Callable[[float], None] = time.sleep) -> Delivered:
    """One pass: first the dead letters, if they are to be replayed, then what is new.

    Raises:
        EventsBusyError: another process sends them.
        StoreError: the record or the state directory cannot be used.
    """
    spool, post = EventSpool(config.state_dir / "events"), _Post(sleep)
    receivers = {r.name: r for r in config.events.receivers}
    with spool.held():
        waiting = list(spool.letters())
        if replay:
            kept = [letter for letter in waiting if letter.receiver not in receivers]
            for letter in (one for one in waiting if one.receiver in receivers):
                post.deliver(receivers[letter.receiver], letter.event)
            waiting = kept
            spool.keep_letters([*waiting, *post.letters])
        cursor = spool.cursor()
        _send_new(config, spool, cursor, post, waiting)
        kept_now = len(spool.letters())
    return Delivered(post.sent, len(post.letters), kept_now, first=cursor is None)


def _send_new(config: Config, spool: EventSpool, cursor: Cursor | None, post: _Post, waiting: Sequence[DeadLetter]) -> None:
    """In the order of time. The first pass only notes where the record is. A pass that is killed sends the deliveries of its last second again."""
    since = cursor.since if cursor else clock.now()
    oldest = timestamps.after(since, -_LOOK_BACK_S)
    with Store.open_to_read(config.store_url) as store:
        events = _events(store, oldest, config.events, _mask(config.events))
    seen = {key: at for key, at in cursor.seen.items() if at >= oldest} if cursor else {e.id: e.time for e in events}
    saved_s = time.monotonic()
    try:
        for event in (e for e in events if e.id not in seen):
            for receiver in config.events.receivers:
                if receiver.wants(event.type):
                    post.deliver(receiver, event.document())
            seen[event.id], since = event.time, max(since, event.time)
            if time.monotonic() - saved_s > _SAVED_EACH_S:
                _save(spool, Cursor(since, seen), [*waiting, *post.letters])
                saved_s = time.monotonic()
    finally:
        _save(spool, Cursor(since, seen), [*waiting, *post.letters])


def _save(spool: EventSpool, cursor: Cursor, letters: Sequence[DeadLetter]) -> None:
    """The letters first: an event is rather sent twice than lost."""
    spool.keep_letters(letters)
    spool.keep_cursor(cursor)


def _events(store: Store, since: str, settings: EventSettings, mask: Callable[[str], str]) -> list[CloudEvent]:
    source = settings.source or f"urn:clusterctl:{socket.gethostname()}"
    found = [cloud_events.transition_event(row, source, mask) for row in store.transitions_since(since)]
    found += [cloud_events.run_event(row, source, mask) for row in store.ended_since(since)]
    found += [cloud_events.breaker_event(row, source, mask) for row in store.breaker_events_since(since)]
    found += [cloud_events.notice_event(row, source, mask) for row in store.notice_changes_since(since)]
    return sorted(found, key=lambda e: (e.time, e.id))


def _mask(settings: EventSettings) -> Redactor:
    """Also masks what receivers are called and authorised with."""
    known = Redactor.of_command(os.environ, ())
    own = [os.environ.get(name, "") for r in settings.receivers for name in (r.webhook_env, r.token_env) if name]
    return Redactor(tuple(sorted({*known.values, *filter(None, own)}, key=len, reverse=True)))
