"""Judges the hardware errors of the kernel log: XIDs, SXids, PCIe errors and machine checks, within the declared hours."""

import re
from typing import Any, Container, Iterable, List, Mapping, Optional, Sequence, Tuple

from clusterctl_tools.gpu import Gpu
from clusterctl_validators import boot_log
from clusterctl_validators.finding import Severity
from clusterctl_validators.gpu import GpuEvent, GpuEvents
from clusterctl_validators.machine_errors import MachineError
from clusterctl_validators.pcie import AerCounts
from clusterctl_validators.probe import Probe, ProbeError
from clusterctl_validators.record import Record

_MOST = 5
_ADDRESS = re.compile(r"([0-9a-f]{4,}):([0-9a-f]{2}:[0-9a-f]{2})")
_UNDECLARED = "not declared for this node"
_RESEAT = "drain the node, power it off and reseat the device, its riser or cable; replace it if the errors return"


class Window:
    """The part of the log that counts.

    Attributes:
        log: the kernel log of this boot.
        missing: why lines of this part may be missing; empty if none are.
    """

    def __init__(self, probe: Probe, hours: int) -> None:
        """`hours` before the node's own clock; 0: since boot. Raises ProbeError if the clock cannot be read, UnreadableLogError if the log cannot."""
        self.hours = hours
        self.log = boot_log.read_log(probe)
        self._since_s: Optional[float] = None
        if hours:
            result = probe.run(["date", "+%s"])
            if result.rc != 0 or not result.stdout.strip().isdigit():
                raise ProbeError("date: {}".format(result.error or result.stderr.strip() or "no number"))
            self._since_s = int(result.stdout) - hours * 3600.0
        self.missing = self.log.missing(self._since_s)

    def holds(self, time: str) -> bool:
        """Whether an error at this time counts; one without a readable time does."""
        at = boot_log.seconds_of(time)
        return self._since_s is None or at is None or at >= self._since_s

    def judge(self, record: Record, check: str, good: bool, **fields: Any) -> None:
        """Pass only if the log has every line of this part: where it has no error, but does not reach back far enough, this is unknown."""
        if good and self.missing:
            record.could_not_run(check, self.missing, fields.get("severity", Severity.MAJOR))
        else:
            record.ok(check, good, **fields)

    def __str__(self) -> str:
        return "in the last {} h".format(self.hours) if self.hours else "since boot"


def judge_gpu_events(
    record: Record, events: GpuEvents, window: Window, tolerated: Container[int], switch_advice: str, *, gpus: Sequence[Gpu]
) -> None:
    """The errors of GPUs and of the switches between them; `gpus`: those that are known by their address."""
    recent = [e for e in events.gpus if window.holds(e.time)]
    bad = [e for e in recent if e.code not in tolerated and not e.harmless]
    notable = [e for e in recent if e.code not in tolerated and e.notable]
    harmless = "none that requires action ({} harmless)".format(len(recent) - len(bad))
    window.judge(
        record,
        "hardware.xids",
        not bad,
        expected="none that requires action",
        found=_listed(map(_gpu_text, bad)) or harmless,
        severity=Severity.CRITICAL,
        hint=bad[0].action if bad else "",
    )
    for check, same in _by_code(bad, gpus):
        found = "{} times: {}".format(len(same), _listed(map(_gpu_text, same)))
        record.ok(check, False, expected="none {}".format(window), found=found, severity=Severity.CRITICAL, hint=_xid_hint(same[0]))
    _warn_of(record, notable, window, gpus)
    fatal = [e for e in events.switches if not e.harmless and window.holds(e.time)]
    found = _listed(map(_gpu_text, fatal)) or "none fatal"
    window.judge(record, "hardware.sxids", not fatal, expected="none fatal", found=found, severity=Severity.CRITICAL, hint=switch_advice)


def _warn_of(record: Record, notable: Sequence[GpuEvent], window: Window, gpus: Sequence[Gpu]) -> None:
    """What the vendor recommends to look into, as `load_errors` has it. Where the same check fails, that counts."""
    about = [("hardware.xids", list(notable))]
    about += _by_code(notable, gpus)
    for check, events in about:
        if events:
            record.warn(check, expected="none {}".format(window), found=_listed(map(_gpu_text, events)), hint=_xid_hint(events[0]))


def _by_code(events: Sequence[GpuEvent], gpus: Sequence[Gpu]) -> List[Tuple[str, List[GpuEvent]]]:
    """Check -> errors of one code, of the node and of each GPU."""
    codes = sorted({e.code for e in events})
    about = [("hardware.xid[{}]".format(code), [e for e in events if e.code == code]) for code in codes]
    for gpu in gpus:
        own = [e for e in events if _is_at(gpu, e.pci)]
        about += [("hardware.gpu[{}].xid[{}]".format(gpu.index, code), [e for e in own if e.code == code]) for code in codes]
    return [(check, same) for check, same in about if same]


def _xid_hint(event: GpuEvent) -> str:
    return "XID {}: {}".format(event.code, event.action)


def _is_at(gpu: Gpu, address: str) -> bool:
    return _same_slot(gpu.bus_id, address)


def _same_slot(address: str, logged: str) -> bool:
    """Whether a device is at an address of the log, which may lack the function and the upper half of the domain."""
    own, other = (_ADDRESS.search(text.lower()) for text in (address, logged))
    if own is None or other is None or own.group(2) != other.group(2):
        return False
    # VMD has domains of five digits, so a log with so many has all of them.
    domains = (int(own.group(1), 16), int(other.group(1), 16))
    return domains[0] == domains[1] or (len(other.group(1)) == 4 and domains[0] & 0xFFFF == domains[1])


def judge_aer(
    record: Record, events: Tuple[MachineError, ...], counts: Mapping[str, AerCounts], window: Window, corrected_max: int
) -> None:
    """PCIe errors. Counters of the devices have no times: they count where the whole boot does."""
    recent = [e for e in events if window.holds(_time(e))]
    for name, severity in (("fatal", Severity.CRITICAL), ("nonfatal", Severity.MAJOR)):
        bad = [e for e in recent if not e.corrected and e.fatal == (name == "fatal")]
        counted = [] if window.hours or bad else _counted(counts, name)
        window.judge(
            record,
            "hardware.aer." + name,
            not bad and not counted,
            expected="none {}".format(window),
            found=_listed(map(_text, bad)) or _listed(counted) or "none",
            severity=severity,
            hint=_RESEAT,
        )
    corrected = [e for e in recent if e.corrected]
    _limit(record, window, "hardware.aer.corrected", corrected_max, events=corrected, hint="a device reseated or replaced ends them")


def judge_aer_of_parts(record: Record, events: Tuple[MachineError, ...], window: Window, parts: Mapping[str, str]) -> None:
    """One finding more for each GPU and HCA that has uncorrected errors; `parts`: check -> PCI address."""
    bad = [e for e in events if not e.corrected and window.holds(_time(e))]
    for check, address in parts.items():
        own = [e for e in bad if _same_slot(address, e.device)]
        if own:
            severity = Severity.CRITICAL if any(e.fatal for e in own) else Severity.MAJOR
            shown = _listed(map(_text, own))
            record.ok(check, False, expected="none {}".format(window), found=shown, severity=severity, hint=_RESEAT)


def judge_machine_checks(record: Record, events: Tuple[MachineError, ...], window: Window, corrected_max: int) -> None:
    """Machine checks of processors and memory."""
    recent = [e for e in events if window.holds(_time(e))]
    bad = [e for e in recent if not e.corrected]
    window.judge(
        record,
        "hardware.mce.uncorrected",
        not bad,
        expected="none {}".format(window),
        found=_listed(map(_text, bad)) or "none",
        severity=Severity.CRITICAL,
        hint="find the DIMM or processor in the event log of the BMC (`clusterctl bmc NODE`), replace it, then burn in",
    )
    corrected = [e for e in recent if e.corrected]
    _limit(record, window, "hardware.mce.corrected", corrected_max, events=corrected, hint="the event log of the BMC names the DIMM")


def _limit(record: Record, window: Window, check: str, most: int, *, events: List[MachineError], hint: str) -> None:
    if not most:
        found = "; found {}".format(_listed(map(_text, events))) if events else ""
        record.not_applicable(check, _UNDECLARED + found)
        return
    shown = ": " + _listed(map(_text, events)) if events else ""
    window.judge(record, check, len(events) <= most, expected="<= {}".format(most), found="{}{}".format(len(events), shown), hint=hint)


def _counted(counts: Mapping[str, AerCounts], name: str) -> List[str]:
    numbers = {address: getattr(count, name) for address, count in counts.items()}
    return ["{} counted {} since boot, the log shows none".format(address, number) for address, number in sorted(numbers.items()) if number]


def _time(event: MachineError) -> str:
    return boot_log.time_of(event.before)


def _text(event: MachineError) -> str:
    return _with_time(" at ".join(t for t in (event.detail[:80], event.device) if t), _time(event))


def _gpu_text(event: GpuEvent) -> str:
    return _with_time("{} at {} {}".format(event.code, event.pci, event.detail[:80]), event.time)


def _with_time(text: str, time: str) -> str:
    return "{} ({})".format(text, time) if time else text


def _listed(texts: Iterable[str]) -> str:
    every = list(texts)
    return "; ".join(every[:_MOST]) + (" and {} more".format(len(every) - _MOST) if len(every) > _MOST else "")
