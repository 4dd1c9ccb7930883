"""Judges the links between a GPU and others: how many are active, which are down, the rate of the slowest, and how often they were lost."""

from typing import Mapping

from clusterctl_tools.gpu import Gpu, UnreadableGpuError
from clusterctl_validators import link_flaps
from clusterctl_validators.finding import Severity
from clusterctl_validators.gpu import GpuReader
from clusterctl_validators.record import UNDECLARED, Record


def judge_fabric_state(record: Record, check: str, gpu: Gpu, hint: str) -> None:
    """State and status of the fabric; does not apply where the driver prints neither, but the health, which is judged by itself.

    The manual of nvidia-smi of R610 deprecates both, and still lists their values.
    """
    if gpu.fabric_state is None and gpu.fabric_status is None and gpu.fabric_health is not None:
        record.not_applicable(check, "this driver reports only the health of the fabric")
        return
    found = "{}/{}".format(gpu.fabric_state or "N/A", gpu.fabric_status or "N/A")
    record.equal(check, "Completed/Success", found, severity=Severity.CRITICAL, hint=hint)


def judge_gpu_links(record: Record, index: int, active: Mapping[int, float], *, expected: int, floor: float, hint: str) -> None:
    """`active`: link -> its rate in GB/s; links that are down are counted, and have no rate."""
    at = "hardware.gpu[{}].".format(index)
    found = _counted(active, expected)
    record.ok(at + "nvlinks", len(active) == expected, expected=expected, found=found, severity=Severity.CRITICAL, hint=hint)
    if not floor or not active:
        record.not_applicable(at + "nvlink_rate", "no link is active" if floor else UNDECLARED)
        return
    slow = {number: rate for number, rate in active.items() if rate < floor}
    shown = ", ".join("link {}: {:g}".format(number, rate) for number, rate in sorted(slow.items())) or "{:g}".format(min(active.values()))
    expected_rate, found_rate = ">= {:g} GB/s".format(floor), shown + " GB/s"
    record.ok(at + "nvlink_rate", not slow, expected=expected_rate, found=found_rate, severity=Severity.CRITICAL, hint=hint)


def _counted(active: Mapping[int, float], expected: int) -> str:
    """How many are active, and which are down where their numbers are known: boards with fewer links by design need not number them from 0."""
    down = sorted(set(range(expected)) - set(active))
    known = active and down and max(active) < expected
    return str(len(active)) + (", down: " + ", ".join(map(str, down)) if known else "")


def judge_gpu_link_flaps(record: Record, reader: GpuReader, gpus: int, most: int) -> None:
    """Losses of the links of each GPU; `gpus`: those with links, 0 where none are declared. Where no link is active, `judge_gpu_links` reports it."""
    if not gpus:
        record.not_applicable("hardware.gpus.nvlink_flaps", UNDECLARED)
        return
    try:
        active = reader.active_links()
        losses = reader.link_losses() if any(active.values()) else {}
    except UnreadableGpuError as e:
        record.could_not_run("hardware.gpus.nvlink_flaps", str(e), Severity.CRITICAL)
        return
    for index in range(gpus):
        hint = "GPU {}: {}".format(index, reader.advice.link_flaps)
        _judge_losses(record, link_flaps.GPU.format(index), active.get(index, {}), losses.get(index, {}), most=most, hint=hint)


def _judge_losses(record: Record, check: str, active: Mapping[int, float], losses: Mapping[int, int], *, most: int, hint: str) -> None:
    uncounted = sorted(set(active) - set(losses))
    good = all(number <= most for number in losses.values())
    if not active:
        record.not_applicable(check, "no link is active")
    elif good and uncounted:
        record.could_not_run(check, "no losses are counted of link " + ", ".join(map(str, uncounted)), Severity.CRITICAL)
    else:
        found = ", ".join("link {}: {}".format(link, number) for link, number in sorted(losses.items()) if number)
        record.ok(
            check, good, expected="at most {} of each link".format(most), found=found or "none", severity=Severity.CRITICAL, hint=hint
        )
