"""Two snapshots of a node's error counters against each other. Pure."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, NamedTuple

from clusterctl.core.gates.error_actions import PLANE, SWITCH_LINK
from clusterctl.core.gates.error_limits import LINK, Per, clean_words, is_unknown_link_counter
from clusterctl.core.gates.judging.errors_alone import COMPARED, Counted
from clusterctl.core.gates.judging.errors_before import counted_before
from clusterctl.core.gates.judging.limits import limit_text
from clusterctl.model.gate_reason import GateReason
from clusterctl.model.gate_result import GateResult, Outcome
from clusterctl.model.repair import SXID, XID
from clusterctl_tools.gpu import UnreadableGpuError
from clusterctl_validators import adapter_errors, disk_errors
from clusterctl_validators.logged_error import next_action

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from clusterctl.core.gates.error_limits import GrowthLimit
    from clusterctl.core.gates.judging.errors_alone import NodeCounts
    from clusterctl.core.parsers.error_snapshot import ErrorSnapshot
    from clusterctl_validators.gpu import GpuEvent, GpuVendor
    from clusterctl_validators.logged_error import LoggedError

_SECONDS_PER_MINUTE = 60.0
# An MMU fault (XID 31) of an H100 takes 170 characters.
_EVENT_LIMIT = 240
_OF_SWITCH = "sxid"


@dataclass(frozen=True, slots=True)
class Allowed:
    """What may happen under load.

    Attributes:
        limits: counter -> growth.
        vendor: of the GPUs.
        tolerated_codes: codes of the GPU vendor that are tolerated.
        required: counters that at least one device must have; a misspelt one would otherwise limit nothing.
        declared: the variables of the role hardware of the node, which limit what was counted before the load.
    """

    limits: Mapping[str, GrowthLimit]
    vendor: GpuVendor
    tolerated_codes: frozenset[int]
    required: frozenset[str] = frozenset()
    declared: Mapping[str, object] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class _Comparison:
    gate: str
    node: str
    before: ErrorSnapshot
    after: ErrorSnapshot
    allowed: Allowed
    words: Mapping[str, float] = field(default_factory=dict)

    @property
    def minutes(self) -> float:
        return (self.after.uptime_s - self.before.uptime_s) / _SECONDS_PER_MINUTE

    def result(self, outcome: Outcome, rule: str, **fields: object) -> GateResult:
        return GateResult(self.gate, self.node, outcome, rule, boot_id=self.after.boot_id, **fields)  # type: ignore[arg-type]


class Raised(NamedTuple):
    """What a load raised: the results, and the counts that equal devices are compared by, of the load and from before it."""

    results: tuple[GateResult, ...]
    growth: NodeCounts
    before: NodeCounts


def raised_by_load(gate: str, node: str, before: ErrorSnapshot, after: ErrorSnapshot, allowed: Allowed) -> Raised:
    """A failure or warning for every error that was raised between two snapshots; one pass if there is none and all was read."""
    raised = Raised((), {}, {})
    return raised._replace(results=_results(_Comparison(gate, node, before, after, allowed), raised))


def _results(this: _Comparison, raised: Raised) -> tuple[GateResult, ...]:
    before, after = this.before, this.after
    if before.boot_id != after.boot_id:
        detail = f"the node rebooted under load: it is up for {after.uptime_s:.0f} s"
        return (this.result(Outcome.FAIL, "boot", expected=before.boot_id, found=after.boot_id, detail=detail, reason=GateReason.REBOOTED),)
    found = tuple(_found(this, raised))
    if found:
        return found
    detail = f"no error counter grew above its limit and no error of a GPU, a disk or an adapter was logged in {this.minutes * _SECONDS_PER_MINUTE:.0f} s"
    return (this.result(Outcome.PASS, "growth", expected="none above its limit", found="none", detail=detail),)


def _found(this: _Comparison, raised: Raised) -> Iterator[GateResult]:
    yield from _logged(this)
    yield from _devices(this)
    yield from _incomplete(this)
    try:
        then, now = (s.all_counters(this.allowed.vendor) for s in (this.before, this.after))
    except UnreadableGpuError as e:
        outcome, reason = (Outcome.FAIL, GateReason.DEVICE_LOST) if e.lost else (Outcome.COULD_NOT_RUN, GateReason.UNPARSABLE)
        yield this.result(outcome, "devices", device=f"GPU {e.address}" if e.address else "", detail=str(e)[:200], reason=reason)
        return
    for counter in sorted(this.allowed.required - {name for counters in then.values() for name in counters}):
        detail = f"growth_max limits {counter}, which no device of this node counts"
        yield this.result(Outcome.COULD_NOT_RUN, "complete", metric=counter, detail=detail, reason=GateReason.INCOMPLETE)
    raised.before.update(counted_before(this.before, then, this.allowed.declared))
    this = replace(this, words={device: clean_words(counters, now.get(device, {})) for device, counters in then.items()})
    for device, counters in then.items():
        if device not in now:
            detail = f"{device} counted errors before the load and is gone after it"
            yield this.result(
                Outcome.FAIL, "devices", device=device, expected="present", found="absent", detail=detail, reason=GateReason.DEVICE_LOST
            )
            continue
        raised.growth.update(_compared(this, device, counters, now[device]))
        limited = sorted(set(counters) & set(this.allowed.limits))
        for counter in limited:
            yield from _grown(this, device, counter, counters[counter], now[device].get(counter))
        yield from _without_limit(this, device, counters, now[device], named=bool(limited))
    for device in sorted(set(now) - set(then)):
        for counter in sorted(set(now[device]) & set(this.allowed.limits)):
            yield from _grown(this, device, counter, 0, now[device][counter])


def _incomplete(this: _Comparison) -> Iterator[GateResult]:
    """What was not read, of the lines that the kernel logged under load too."""
    for name, snapshot in (("before", this.before), ("after", this.after)):
        for problem in snapshot.problems():
            yield this.result(Outcome.COULD_NOT_RUN, "complete", detail=f"snapshot {name}: {problem}", reason=GateReason.INCOMPLETE)
    complete_since_s, began_s = this.after.log.complete_since_s, this.before.uptime_s
    if complete_since_s > began_s:
        lost = f"lines of the kernel log are missing up to {complete_since_s:.0f} s after boot; the load began at {began_s:.0f} s"
        detail = f"{lost}. Keep the journal on disk (/var/log/journal) or enlarge the kernel's buffer (log_buf_len), then burn in again"
        yield this.result(Outcome.COULD_NOT_RUN, "complete", metric="kernel_log", detail=detail, reason=GateReason.INCOMPLETE)


def _grown(this: _Comparison, device: str, counter: str, then: float, now: float | None) -> Iterator[GateResult]:
    if now is None:
        detail = f"{counter} of {device} was counted before the load and is not after it"
        yield this.result(Outcome.COULD_NOT_RUN, "complete", metric=counter, device=device, detail=detail, reason=GateReason.INCOMPLETE)
        return
    limit: GrowthLimit | None = this.allowed.limits[counter]
    carried = this.after.rates_gbps.get(device, 0.0), this.words.get(device, 0.0)
    while limit and _measured(limit, then, now) <= limit.over(this.minutes, *carried):
        limit = limit.milder
    if limit:
        growth, most = _measured(limit, then, now), limit.over(this.minutes, *carried)
        span = limit.span(this.minutes)
        yield this.result(
            Outcome.WARN if limit.warns else Outcome.FAIL,
            "growth",
            metric=counter,
            device=device,
            expected=f"<= {limit_text(most)}{span}",
            found=f"{growth:g}" if limit.per is Per.NOW else f"+{growth}{span}",
            source=limit.source,
            detail=f"{then:g} before the load, {now:g} after it" if limit.per is Per.NOW else f"{then} before the load, {now} after it",
            reason=GateReason.RAISED_BY_LOAD,
            value=float(growth),
            limit=most,
            unit="us" if counter.endswith("_us") else "count",
        )


def _compared(
    this: _Comparison, device: str, then: Mapping[str, float], now: Mapping[str, float]
) -> Iterator[tuple[tuple[str, str], Counted]]:
    for counter in COMPARED.intersection(then, now) if not device.startswith(SWITCH_LINK) and PLANE not in device else ():
        limit = this.allowed.limits.get(counter)
        most = limit.over(this.minutes, this.after.rates_gbps.get(device, 0.0)) if limit else None
        yield (device, counter), Counted(_growth(then[counter], now[counter]), most)


def _measured(limit: GrowthLimit, then: float, now: float) -> float:
    return now if limit.per is Per.NOW else _growth(then, now)


def _growth(then: float, now: float) -> float:
    return now - then if now >= then else now  # one that went down was reset, and counts from zero


def _without_limit(
    this: _Comparison, device: str, then: Mapping[str, float], now: Mapping[str, float], *, named: bool
) -> Iterator[GateResult]:
    """A link whose counters are all unknown proves nothing; one more counter that grows is named."""
    unknown = [name for name in sorted(then) if is_unknown_link_counter(name) and name not in this.allowed.limits]
    if any(name.startswith(LINK) for name in then) and not named:
        detail = f"none of the counters of {device} has a limit: {', '.join(sorted(then)[:4])}"
        yield this.result(Outcome.COULD_NOT_RUN, "complete", device=device, detail=detail, reason=GateReason.INCOMPLETE)
    for counter in unknown:
        growth = _growth(then[counter], now.get(counter, 0))
        if growth:
            yield this.result(
                Outcome.WARN,
                "growth",
                metric=counter,
                device=device,
                expected="a limit",
                found=f"+{growth}",
                source="no limit of this counter is known",
                reason=GateReason.RAISED_BY_LOAD,
                value=float(growth),
                unit="count",
            )


def _logged(this: _Comparison) -> Iterator[GateResult]:
    """One result for each error of a device, however often it was logged: a bad lane fills the log with thousands of lines."""
    events = this.allowed.vendor.events_of(this.after.log_since(this.before.uptime_s))
    wanted = [e for e in events.gpus if e.code not in this.allowed.tolerated_codes]
    gpus = [e for e in wanted if not e.harmless or e.lost_data or e.suspects_application or e.notable]
    alike: dict[tuple[str, str, int, str], list[GpuEvent]] = {}
    for kind, event in (*((_kind(e), e) for e in gpus), *((_OF_SWITCH, e) for e in events.switches if not e.harmless)):
        alike.setdefault((kind, event.pci, event.code, event.action), []).append(event)
    for (kind, pci, code, action), same in alike.items():
        times = f", {len(same)} times" if len(same) > 1 else ""
        yield this.result(
            Outcome.WARN if all(e.suspects_application or e.notable for e in same) else Outcome.FAIL,
            "kernel_log",
            metric=kind,
            device=pci,
            expected="none that requires action",
            found=_text(same[0]),
            detail=f"logged under load{times}",
            hint=action,
            reason=GateReason.RAISED_BY_LOAD,
            value=float(len(same)),
            unit="count",
            error_code=f"{SXID if kind == _OF_SWITCH else XID}{code}",
        )


def _devices(this: _Comparison) -> Iterator[GateResult]:
    """One result for each NVMe disk and adapter: a failure if something was lost, a warning where driver or device went on by itself."""
    text = "\n".join(this.after.log_since(this.before.uptime_s))
    alike: dict[tuple[str, str], list[LoggedError]] = {}
    for error in filter(disk_errors.is_nvme, disk_errors.parse(text)):
        alike.setdefault(("disk", error.device), []).append(error)
    for error in adapter_errors.parse(text):
        alike.setdefault(("adapter", error.device), []).append(error)
    for (metric, device), own in alike.items():
        lost = [e for e in own if not e.recovered]
        yield this.result(
            Outcome.FAIL if lost else Outcome.WARN,
            "kernel_log",
            metric=metric,
            device=device,
            expected="none",
            found=(lost or own)[0].detail[:_EVENT_LIMIT],
            detail=f"logged under load, {len(own)} times" if len(own) > 1 else "logged under load",
            hint=next_action(lost or own),
            reason=GateReason.RAISED_BY_LOAD,
            value=float(len(own)),
            unit="count",
        )


def _kind(event: GpuEvent) -> str:
    return "nvlink_xid" if event.of_link else "xid"


def _text(event: GpuEvent) -> str:
    return f"{event.code}: {event.detail[:_EVENT_LIMIT]}"
