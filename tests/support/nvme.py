"""What nvme_read.py prints on a node, for tests: disks that fio read, and those that it did not."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from clusterctl_tools import nvme_read
from support.gates import record

if TYPE_CHECKING:
    from clusterctl.model.gate_result import RawRecord

SECONDS = 30
MODEL = "SAMSUNG MZWLR3T8HBLS-00007"


def fio_output(gbps: float = 6.8, *, ran_s: float = SECONDS, error: int = 0) -> str:
    """As fio 3.16 prints a job that read, the parts that are read of it."""
    size = int(gbps * 1e9 * ran_s)
    read = {"io_bytes": size, "bw_bytes": int(gbps * 1e9), "iops": gbps * 953.7, "runtime": int(ran_s * 1000), "total_ios": size >> 20}
    write = {"io_bytes": 0, "bw_bytes": 0, "iops": 0.0, "runtime": 0, "total_ios": 0}
    job = {"jobname": "nvme0n1", "groupid": 0, "error": error, "read": {**read, "lat_ns": {"mean": 4900000.0}}, "write": write}
    return json.dumps({"fio version": "fio-3.16", "jobs": [job]}, indent=1)


def disk_line(disk: str, **own: Any) -> str:
    """The line of one disk: `gbps`, `ran_s`, `fio_error`, `cut` (of fio's output, as a share) and the fields of the line itself."""
    printed = fio_output(own.get("gbps", 6.8), ran_s=own.get("ran_s", SECONDS), error=own.get("fio_error", 0))
    line = {
        "disk": disk,
        "model": own.get("model", MODEL),
        "address": "0000:c1:00.0",
        "numa_node": "1",
        "exit_status": own.get("exit_status", 1 if own.get("fio_error") else 0),
        "output": own.get("output", printed[: int(len(printed) * own.get("cut", 1.0))]),
        "error": own.get("error", ""),
    }
    return json.dumps(line, sort_keys=True) + "\n"


def node_output(count: int = 8, other: dict[int, dict[str, Any]] | None = None, **each: Any) -> str:
    """All lines of a node with `count` disks; `other`: number of a disk -> what differs from `each`; `absent` has no line."""
    names = [f"nvme{i}n1" for i in range(count)]
    head = json.dumps({"schema_version": 1, "disks": names, "seconds": SECONDS}) + "\n"
    own = [{**each, **(other or {}).get(i, {})} for i in range(count)]
    return head + "".join(disk_line(name, **one) for name, one in zip(names, own, strict=True) if not one.get("absent"))


def nvme_record(node: str, text: str, **more: Any) -> RawRecord:
    """The record of a run."""
    fields: dict[str, Any] = {"tool": "nvme_read", "argv": tuple(nvme_read.read_argv(SECONDS)), "duration_s": SECONDS + 2.0}
    return record("nvme_fio", node, text, **{**fields, "tool_version": "fio-3.36", **more})
