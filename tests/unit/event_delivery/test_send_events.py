"""`clusterctl events`: what is in the record reaches its receivers as CloudEvents, whatever they do."""

from __future__ import annotations

import json
import re
import stat
import threading
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from clusterctl import main
from clusterctl.adapters.config import read_config
from clusterctl.adapters.event_spool import MOST_LETTERS, EventSpool
from clusterctl.model.cloud_event import DeadLetter, Delivered
from clusterctl.model.errors import EventsBusyError, StoreError
from clusterctl.model.records import RunStatus
from clusterctl.model.state import State
from clusterctl.workflows.send_events import send_events
from support.event_site import NODE, EventSite, kinds
from support.stores import a_run
from support.webhook import Webhook

if TYPE_CHECKING:
    from collections.abc import Iterator


@pytest.fixture
def hook() -> Iterator[Webhook]:
    with Webhook() as running:
        yield running


def test_events_count_from_the_first_call_on(site: EventSite, hook: Webhook) -> None:
    site.quarantine()
    site.declare(f"{{name: a, webhook: {hook.url!r}}}")
    assert site.send().first
    assert site.send() == Delivered()
    site.store.transition(NODE, State.REGISTERED, run_id="", operator="bob", include_owned=True)
    assert site.send().sent == 1
    assert site.send().sent == 0, "nothing is sent twice"
    assert kinds(hook.events) == ["clusterctl.node.registered"]


def test_an_event_is_a_cloud_event_in_structured_mode(site: EventSite, hook: Webhook) -> None:
    site.declare(f"{{name: a, webhook: {hook.url!r}}}")
    site.send()
    site.quarantine()
    site.send()
    assert hook.got[1].headers["Content-Type"] == "application/cloudevents+json; charset=UTF-8"
    event = hook.events[1]
    assert {"specversion", "id", "source", "type", "subject", "time", "datacontenttype", "data"} == set(event)
    assert (event["specversion"], event["source"], event["type"], event["subject"]) == (
        "1.0",
        "urn:x:site",
        "clusterctl.node.quarantined",
        NODE,
    )
    assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d+Z", event["time"])
    assert event["data"] == {
        "node": NODE,
        "from_state": "provisioning",
        "to_state": "quarantined",
        "reason": "gate_failed",
        "cause": "gate_failed",
        "reason_code": "gate.rdma_pair",
        "component": "",
        "component_name": "",
        "next_action": "",
        "operator": "alice",
        "run_id": "",
    }
    assert len({e["id"] for e in hook.events}) == 2


def test_runs_and_the_breaker_are_events_in_the_order_of_time(site: EventSite, hook: Webhook) -> None:
    site.declare(f"{{name: a, webhook: {hook.url!r}}}")
    site.send()
    run = a_run()
    site.store.start_run(run, [NODE])
    site.store.trip_breaker(operator="alice", reason="three at once")
    site.store.finish_run(run.id, RunStatus.DONE, 7, {})
    site.store.reset_breaker(operator="bob", reason="the feed was replaced")
    assert site.send().sent == 3
    assert kinds(hook.events) == ["clusterctl.breaker.tripped", "clusterctl.run.ended", "clusterctl.breaker.reset"]
    assert (hook.events[1]["data"]["exit_code"], hook.events[1]["data"]["verb"]) == (7, "provision")


def test_a_receiver_gets_the_types_it_asks_for(site: EventSite, hook: Webhook) -> None:
    site.declare(f"{{name: a, webhook: {hook.url!r}, types: ['clusterctl.node.quar*']}}")
    site.send()
    site.quarantine()
    site.send()
    assert kinds(hook.events) == ["clusterctl.node.quarantined"]


def test_a_command_gets_the_event_on_its_stdin(site: EventSite) -> None:
    script = site.folder / "take"
    script.write_text("#!/bin/sh\ncat >> taken; echo >> taken\n")
    script.chmod(0o755)
    site.declare(f"{{name: a, command: [{script}]}}")
    site.send()
    site.quarantine()
    assert site.send().sent == 2
    taken = [json.loads(line) for line in (site.folder / "taken").read_text().splitlines()]
    assert kinds(taken) == ["clusterctl.node.provisioning", "clusterctl.node.quarantined"]


@pytest.mark.parametrize("statuses", [[500, 503], [429, 408]])
def test_a_receiver_in_trouble_is_tried_again_with_growing_pauses(site: EventSite, hook: Webhook, statuses: list[int]) -> None:
    site.declare(f"{{name: a, webhook: {hook.url!r}, types: ['*.quarantined']}}")
    site.send()
    site.quarantine()
    hook.statuses = statuses
    assert site.send() == Delivered(sent=1)
    assert site.pauses_s == [1, 2]
    assert len({e["id"] for e in hook.events}) == 1


def test_what_a_receiver_refuses_is_not_tried_again(site: EventSite, hook: Webhook) -> None:
    site.declare(f"{{name: a, webhook: {hook.url!r}}}")
    site.send()
    site.quarantine()
    hook.statuses = [403]
    assert site.send() == Delivered(sent=1, dead=1, kept=1)
    assert site.pauses_s == []
    (letter,) = site.letters
    assert (letter.receiver, letter.problem, letter.attempts, letter.event["type"]) == ("a", "HTTP 403", 1, "clusterctl.node.provisioning")


def test_a_receiver_that_is_down_is_given_up_for_the_pass_and_the_others_get_all(site: EventSite, hook: Webhook) -> None:
    with Webhook() as gone:
        url = gone.url
    site.declare(f"{{name: down, webhook: {url!r}, attempts: 3}}", f"{{name: up, webhook: {hook.url!r}}}")
    site.send()
    site.quarantine()
    assert site.send() == Delivered(sent=2, dead=2, kept=2)
    assert [(x.receiver, x.attempts, x.problem) for x in site.letters] == [
        ("down", 3, "unreachable: ConnectionRefusedError"),
        ("down", 0, "unreachable: ConnectionRefusedError"),
    ]
    assert len(hook.got) == 2


def test_dead_letters_are_replayed_as_they_were(site: EventSite, hook: Webhook) -> None:
    site.declare(f"{{name: a, webhook: {hook.url!r}, attempts: 1}}")
    site.send()
    site.quarantine()
    hook.statuses = [500]
    assert site.send() == Delivered(dead=2, kept=2)
    first = hook.events[0]
    hook.got.clear()
    assert site.send(replay=True) == Delivered(sent=2)
    assert hook.events[0] == first
    assert kinds(hook.events) == ["clusterctl.node.provisioning", "clusterctl.node.quarantined"]
    assert site.letters == ()


def test_letters_of_a_receiver_that_is_declared_no_more_are_kept(site: EventSite, hook: Webhook) -> None:
    site.declare(f"{{name: a, webhook: {hook.url!r}, attempts: 1}}")
    site.send()
    site.quarantine()
    hook.statuses = [500]
    site.send()
    site.declare(f"{{name: b, webhook: {hook.url!r}}}")
    assert site.send(replay=True) == Delivered(kept=2)
    assert {x.receiver for x in site.letters} == {"a"}


@pytest.mark.parametrize("answer", [{"delay_s": 30.0}, {"drip": True}])
def test_a_slow_receiver_costs_no_more_than_its_time(site: EventSite, answer: dict[str, Any]) -> None:
    with Webhook(**answer) as slow:
        site.declare(f"{{name: a, webhook: {slow.url!r}, timeout_s: 0.3, attempts: 2}}")
        site.send()
        site.quarantine()
        began_s = time.monotonic()
        assert site.send().dead == 2
        assert time.monotonic() - began_s < 5
    assert [x.problem for x in site.letters] == ["timed out"] * 2


def test_a_command_that_hangs_is_killed_with_its_children(site: EventSite) -> None:
    script = site.folder / "hang"
    script.write_text("#!/bin/sh\nsleep 300 & echo $! > child; wait\n")
    script.chmod(0o755)
    site.declare(f"{{name: a, command: [{script}], timeout_s: 0.5, attempts: 1}}")
    site.send()
    site.quarantine()
    site.send()
    assert site.letters[0].problem == "timed out"
    child = int((site.folder / "child").read_text())
    status, ends = Path(f"/proc/{child}/stat"), time.monotonic() + 5
    while (state := status.read_text().split()[2] if status.exists() else "gone") not in {"gone", "Z", "X"}:
        assert time.monotonic() < ends, state  # it was killed; it ends when the machine lets it run
        time.sleep(0.01)


@pytest.mark.parametrize(
    ("word", "problem"), [("/bin/false", "exit status 1"), ("/no/such/program", "cannot start: No such file or directory")]
)
def test_a_command_that_fails_leaves_a_dead_letter(site: EventSite, word: str, problem: str) -> None:
    site.declare(f"{{name: a, command: [{word}], attempts: 1}}")
    site.send()
    site.quarantine()
    site.send()
    assert site.letters[0].problem == problem


def test_a_redirect_is_not_followed(site: EventSite, hook: Webhook) -> None:
    with Webhook(statuses=[307, 307], location=hook.url) as elsewhere:
        site.declare(f"{{name: a, webhook: {elsewhere.url!r}}}")
        site.send()
        site.quarantine()
        assert site.send().dead == 2
    assert hook.got == []
    assert site.letters[0].problem == "HTTP 307"


def test_secrets_come_from_the_environment_and_stand_nowhere(site: EventSite, hook: Webhook, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PAGER_URL", hook.url)
    monkeypatch.setenv("PAGER_KEY_WORD", "s3cr3t-of-pager")
    site.declare("{name: a, webhook_env: PAGER_URL, token_env: PAGER_KEY_WORD}")
    site.send()
    site.quarantine(f"it said s3cr3t-of-pager and password=hunter22 to {hook.url}")
    hook.statuses = [400, 400]
    site.send()
    assert hook.got[0].headers["Authorization"] == "Bearer s3cr3t-of-pager"
    for text in (json.dumps(hook.events), EventSpool(site.folder / "state" / "events").letters_file.read_text()):
        assert not [secret for secret in ("s3cr3t-of-pager", "hunter22", hook.url) if secret in text]


def test_a_variable_that_is_not_set_is_named(site: EventSite, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("PAGER_URL", raising=False)
    site.declare("{name: a, webhook_env: PAGER_URL}")
    site.send()
    site.quarantine()
    site.send()
    assert site.letters[0].problem == "the environment variable PAGER_URL is not set"


def test_only_one_process_sends(site: EventSite, hook: Webhook) -> None:
    site.declare(f"{{name: a, webhook: {hook.url!r}}}")
    with EventSpool(site.folder / "state" / "events").held(), pytest.raises(EventsBusyError):
        site.send()


def test_files_are_private_and_letters_limited(site: EventSite) -> None:
    spool = EventSpool(site.folder / "state" / "events")
    with spool.held():
        spool.keep_letters([DeadLetter("a", "x", 1, "t", {"id": str(i)}) for i in range(MOST_LETTERS + 1)])
    assert spool.letters()[0].event["id"] == "1"
    assert stat.S_IMODE(spool.letters_file.stat().st_mode) == 0o600
    assert stat.S_IMODE(spool.folder.stat().st_mode) == 0o700


@pytest.mark.parametrize("file", ["cursor.json", "dead_letters.jsonl"])
def test_a_damaged_file_is_an_error_with_its_name(site: EventSite, hook: Webhook, file: str) -> None:
    site.declare(f"{{name: a, webhook: {hook.url!r}}}")
    site.send()
    (site.folder / "state" / "events" / file).write_text('{"since": []\n')
    with pytest.raises(StoreError, match=file):
        site.send()


def test_a_pass_that_is_interrupted_sends_the_rest_the_next_time(site: EventSite, hook: Webhook) -> None:
    site.declare(f"{{name: a, webhook: {hook.url!r}}}")
    site.send()
    site.quarantine()
    hook.statuses = [204, 500]

    def interrupted(_pause_s: float) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        send_events(read_config(start=site.folder), sleep=interrupted)
    assert site.send().sent == 1
    assert kinds(hook.events) == ["clusterctl.node.provisioning", *["clusterctl.node.quarantined"] * 2]


def test_a_run_does_not_wait_for_a_receiver(site: EventSite) -> None:
    """While a pass hangs at a receiver, the record takes what runs write."""
    with Webhook(delay_s=3) as slow:
        site.declare(f"{{name: a, webhook: {slow.url!r}, timeout_s: 3, attempts: 1}}")
        site.send()
        site.quarantine()
        thread = threading.Thread(target=site.send)
        thread.start()
        while not slow.got:
            time.sleep(0.01)
        began_s = time.monotonic()
        site.store.transition(NODE, State.REGISTERED, run_id="", operator="bob", include_owned=True)
        assert time.monotonic() - began_s < 1
        thread.join()


def test_the_verb_says_what_it_did(site: EventSite, hook: Webhook, capsys: pytest.CaptureFixture[str]) -> None:
    site.declare(f"{{name: a, webhook: {hook.url!r}, attempts: 1}}")
    assert main.call(["events"]) == 0
    site.quarantine()
    hook.statuses = [204, 500]
    assert main.call(["events"]) == 4
    assert main.call(["events", "--replay"]) == 0
    said = capsys.readouterr()
    assert said.out.splitlines() == [
        "events count from now on; the next call sends what happened since",
        "1 delivered, 1 not",
        "1 delivered, 0 not",
    ]
    assert "1 dead letters wait" in said.err


def test_without_receivers_the_verb_is_refused(site: EventSite, capsys: pytest.CaptureFixture[str]) -> None:
    (site.folder / "clusterctl.yml").write_text("state_dir: state\n")
    assert main.call(["events"]) == 3
    assert "no receiver" in capsys.readouterr().err
