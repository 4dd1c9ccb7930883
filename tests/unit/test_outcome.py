from __future__ import annotations

from clusterctl.adapters.ansible.tally import Tally
from clusterctl.model.playbook_result import HostStatus, TaskFailure
from clusterctl.model.task_event import HostStats, TaskEvent, TaskStatus


def tally(*events: TaskEvent, stats: dict[str, HostStats] | None = None) -> Tally:
    made = Tally()
    for event in events:
        made.add(event)
    made.stats = stats
    return made


def event(node: str, status: TaskStatus, **more: object) -> TaskEvent:
    return TaskEvent(node, "kernel", "Write grub.cfg", status, **more)  # type: ignore[arg-type]


def test_a_node_missing_from_the_recap_was_not_processed() -> None:
    made = tally(stats={"a": HostStats(ok=3)})
    assert {n: o.status for n, o in made.outcomes(["a", "b"]).items()} == {"a": HostStatus.OK, "b": HostStatus.NOT_PROCESSED}


def test_without_a_recap_no_node_is_ok() -> None:
    made = tally(event("a", TaskStatus.OK, changed=True))
    outcome = made.outcomes(["a"])["a"]
    assert (outcome.status, outcome.ok, outcome.changed) == (HostStatus.NOT_PROCESSED, 1, 1)


def test_a_rescued_failure_is_not_a_failure() -> None:
    made = tally(event("a", TaskStatus.FAILED, message="m"), stats={"a": HostStats(ok=2, failures=0)})
    assert made.outcomes(["a"])["a"].status is HostStatus.OK
    assert made.outcomes(["a"])["a"].failures == ()


def test_an_ignored_failure_is_not_listed() -> None:
    made = tally(
        event("a", TaskStatus.FAILED, ignored=True), event("a", TaskStatus.FAILED, message="m"), stats={"a": HostStats(failures=1)}
    )
    assert made.outcomes(["a"])["a"].failures == (TaskFailure("Write grub.cfg", "kernel", "m"),)


def test_unreachable_takes_precedence_and_has_a_reason() -> None:
    made = tally(event("a", TaskStatus.UNREACHABLE, message="Connection refused"), stats={"a": HostStats(unreachable=1, failures=1)})
    outcome = made.outcomes(["a"])["a"]
    assert outcome.status is HostStatus.UNREACHABLE
    assert outcome.failures[0].message == "Connection refused"


def test_the_last_reboot_fact_of_a_role_counts() -> None:
    made = tally(
        event("a", TaskStatus.OK, reboot={"kernel": True, "hugepages": True}),
        event("a", TaskStatus.OK, reboot={"hugepages": False}),
        stats={"a": HostStats(ok=2)},
    )
    assert made.outcomes(["a"])["a"].reboot_required == ("kernel",)


def test_the_last_settings_of_each_role_that_wait_count() -> None:
    made = tally(
        event("a", TaskStatus.OK, waiting={"ofed": ("x",), "bios": ("y", "z")}),
        event("a", TaskStatus.OK, waiting={"ofed": ("w",)}),
        stats={"a": HostStats(ok=2)},
    )
    assert made.outcomes(["a"])["a"].waiting == ("y", "z", "w")
