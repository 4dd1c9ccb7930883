"""fio --output-format=json: bandwidth, IOPS and latency of every job."""

from __future__ import annotations

from typing import Any

from clusterctl.core.parsers.numbers import first_json, number, whole
from clusterctl.core.parsers.unparsable import UnparsableError
from clusterctl.model.gate_result import Sample


def parse(text: str) -> tuple[Sample, ...]:
    """Per job and direction `<read|write>_bandwidth` (GB/s), `_iops`, `_latency_mean` (us), `_runtime` (s); `op` is the job's name.

    Raises:
        UnparsableError: no JSON of fio, cut off, without a job, or a job that ended with an error.
    """
    samples = [s for job in _jobs(text) for s in _job(job)]
    if not samples:
        raise UnparsableError(tool="fio", reason="no job that read or wrote")
    return tuple(samples)


def job_error(text: str) -> int:
    """The error number (errno) with which a job ended; 0 where none did.

    Raises:
        UnparsableError: no JSON of fio, or cut off.
    """
    return next(filter(None, (whole(job.get("error")) for job in _jobs(text))), 0)


def _jobs(text: str) -> list[dict[str, Any]]:
    try:
        jobs = first_json(text).get("jobs")
    except ValueError as e:
        raise UnparsableError(tool="fio", reason=f"the JSON is broken or cut off ({e})") from e
    return [job for job in jobs if isinstance(job, dict)] if isinstance(jobs, list) else []


def _job(job: dict[str, Any]) -> list[Sample]:
    name = str(job.get("jobname") or "unnamed")
    if job.get("error"):
        raise UnparsableError(tool="fio", reason=f"job {name} ended with error {job['error']}")
    samples = []
    for direction in ("read", "write"):
        found = job.get(direction)
        if not isinstance(found, dict) or not number(found.get("total_ios")):
            continue
        latency = found.get("lat_ns")
        mean = number(latency.get("mean")) if isinstance(latency, dict) else None
        for metric, value, scale, unit in (
            ("bandwidth", number(found.get("bw_bytes")), 1e9, "GB/s"),
            ("iops", number(found.get("iops")), 1.0, "IOPS"),
            ("latency_mean", mean, 1e3, "us"),
            ("runtime", number(found.get("runtime")), 1e3, "s"),
        ):
            if value is not None:
                samples.append(Sample(f"{direction}_{metric}", value / scale, unit, op=name))
    return samples
