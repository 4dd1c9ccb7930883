"""stressapptest: how much memory it tested, for how long and how fast, and how many words were read otherwise than written."""

from __future__ import annotations

from clusterctl.core.parsers.unparsable import UnparsableError
from clusterctl.model.gate_result import Sample
from clusterctl_tools.stressapptest import PROGRAM, read_stress

_MIB_PER_GB = 1e9 / 2**20


def parse(text: str) -> tuple[Sample, ...]:
    """`hardware_incidents`, `memory_tested` and `memory_copied` (MiB), `memory_copy` (GB/s, read and written), `load_time` (s).

    Raises:
        UnparsableError: it is not the output of a run that loaded the memory and came to its verdict.
    """
    try:
        run = read_stress(text)
    except ValueError as e:
        raise UnparsableError(tool=PROGRAM, reason=str(e)) from e
    if run.complaint and not run.incidents:
        raise UnparsableError(tool=PROGRAM, reason=run.complaint)
    if run.tested_mib is None or run.ran_s is None or run.found is None or run.passed is None or not run.copied_mib:
        raise UnparsableError(tool=PROGRAM, reason="it was cut off, or did not load the memory")
    return (
        Sample("hardware_incidents", float(run.incidents), ""),
        Sample("memory_tested", float(run.tested_mib), "MiB"),
        Sample("memory_copied", run.copied_mib / 2, "MiB"),
        Sample("memory_copy", run.rate_mib_s / _MIB_PER_GB, "GB/s"),
        Sample("load_time", run.ran_s, "s"),
    )
