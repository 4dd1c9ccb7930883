"""Outputs and records of rdma_latency."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from clusterctl.core.gates.planning.step import AGAIN
from clusterctl.core.gates.subject import subject_of
from clusterctl.model.level import LEVELS
from support.gates import SOURCE, TODAY, gates, node, record

if TYPE_CHECKING:
    from clusterctl.core.gates.subject import Subject
    from clusterctl.model.gate_result import RawRecord
    from clusterctl.model.node import Place

UPPER_LIMIT = {"gate": "rdma_latency", "metric": "latency_typical", "kind": "upper_limit", "value": 5.0, "unit": "us", **SOURCE}
_RULE = "-" * 87


def latency_output(
    us: float, *, p99_us: float | None = None, device: str = "mlx5_0", size: int = 2, title: str = "RDMA_Write Latency Test"
) -> str:
    """What perftest prints for a median; columns and spaces as RESULT_FMT_LAT and REPORT_FMT_LAT of perftest_parameters.h have them."""
    tail = us * 1.2 if p99_us is None else p99_us
    return (
        f"{_RULE}\n                    {title}\n Dual-port       : OFF\t\tDevice         : {device}\n{_RULE}\n"
        " #bytes #iterations    t_min[usec]    t_max[usec]  t_typical[usec]    t_avg[usec]    t_stdev[usec]   99% percentile[usec]   99.9% percentile[usec] \n"
        f" {size:<7} 10000          {us * 0.95:<7.2f}        {tail * 3:<7.2f}      {us:<7.2f}  \t       {us * 1.01:<7.2f}     \t0.02   \t\t{tail:<7.2f} \t\t{tail * 2:<7.2f}\n"
        f"{_RULE}\n"
    )


def latency_run(client: str, server: str, place: str, turn: int, us: float, **of_record: Any) -> list[RawRecord]:
    """Both records of one run on rail 0, the median in us; what is wrong with it in `of_record`."""
    fields = {"stdout": latency_output(us), "tool": "perftest", "argv": ("ib_write_lat",), **of_record}
    return [
        record("rdma_latency", own, step=f"{place}.rail0.turn{turn}.{side}", device="mlx5_0", peer=peer, peer_device="mlx5_0", **fields)
        for side, own, peer in (("client", client, server), ("server", server, client))
    ]


def latency_meeting(one: str, other: str, place: str, us: float, **of_record: Any) -> list[RawRecord]:
    """Both directions between two nodes, alike. In the second stage (`again0`) `one` is the suspect."""
    client, server = (other, one) if place.startswith(AGAIN) else (one, other)
    return [*latency_run(client, server, place, 1, us, **of_record), *latency_run(server, client, place, 2, us, **of_record)]


def latency_subject(name: str, *, partner: bool = False, place: Place | None = None, rails: int = 1, **settings: Any) -> Subject:
    """A node whose profile runs rdma_latency with an upper limit of 5 us."""
    declared = gates(
        gates_levels={level: ["rdma_latency"] for level in LEVELS},
        gates_settings={"rdma_latency": settings},
        gates_baselines=[dict(UPPER_LIMIT)],
    )
    one = node(name, rails=rails, declared=declared)
    return subject_of(replace(one, place=place or one.place), TODAY, partner=partner)


# Above the limit, of other messages, of none, without a number, and in another unit.
BAD_LATENCIES = (
    latency_output(6.1),
    latency_output(2.8, size=64),
    latency_output(2.8, title="Send Latency Test"),
    latency_output(0.0),
    latency_output(float("nan")),
    latency_output(2.8).replace("t_typical[usec]", "t_typical[nsec]"),
)


def latency_pair() -> tuple[Subject, ...]:
    """Two nodes."""
    return tuple(latency_subject(name) for name in ("n1", "n2"))


def latency_pair_records(text: str) -> list[RawRecord]:
    """Their records, all with the same output."""
    return latency_meeting("n1", "n2", "round0", 0.0, stdout=text)
