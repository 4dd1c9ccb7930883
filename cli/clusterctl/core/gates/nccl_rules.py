"""What the NCCL gates share: settings, command line, and the rules correctness, then transport, then bandwidth.

A slow transport is the reason, not the number: it takes the place of the bandwidth that it explains.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Annotated, Literal

from pydantic import Field

from clusterctl.core.gates.judging.limits import compare_with_limits, limit_text
from clusterctl.core.gates.settings import GateSettings, at_level
from clusterctl.core.parsers.nccl_tests import with_op
from clusterctl.model.gate_reason import GateReason
from clusterctl.model.gate_result import GateResult, Outcome, RawRecord, Sample
from clusterctl.model.level import Level  # noqa: TC001 pydantic evaluates the annotations
from clusterctl_validators.nvidia import ADVICE

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from clusterctl.core.gates.judging.reading import Reading
    from clusterctl.core.gates.subject import Subject
    from clusterctl.model.gate_result import Baseline

UNITS = {"busbw": "GB/s", "busbw_average": "GB/s"}
# It prints no version; whether the program is the lab's, it does.
VERSION_ARGV = ("all_reduce_perf", "--help")
_OF_TESTS = re.compile(r"# nccl-tests version (\S+) .*\bnccl-library=(\d+)")
_OF_NCCL = re.compile(r"NCCL version (\d+\.\d+\.\d+)")
MNNVL_VARIABLE = "NCCL_MNNVL_ENABLE"
# As NCCL names a channel between the nodes of one NVLink domain (transport/p2p.cc).
OVER_NVLINK = "P2P/MNNVL"
_OVER_ADAPTERS = "NET/IB"
# src/transport/coll_net.cc: over the adapters, to switches that reduce. Not confirmed by a whole log: SHARP is the plug-in's name for itself.
_COLLNET = "COLLNET"
_OVER_SHARP = "COLLNET/SHARP"
Collective = Literal["all_reduce", "all_gather", "reduce_scatter", "alltoall", "sendrecv", "broadcast", "reduce"]
SharpUse = Literal["refused", "accepted", "required"]

_IN_PLACE = "_in_place"
_WARMUP = 5
_TRANSPORT_LINES = {"NCCL_DEBUG": "INFO", "NCCL_DEBUG_SUBSYS": "INIT,NET,GRAPH,P2P,SHM"}
_AGAIN = "then `clusterctl burnin {node}`"
NCCL_ACTIONS = {
    GateReason.NVLINK_UNUSABLE: f"{ADVICE.unusable_domain}, {_AGAIN}",
    GateReason.NVLS_UNUSABLE: f"{ADVICE.refused_multicast}, {_AGAIN}",
    GateReason.FABRIC_NOT_READY: f"{ADVICE.fabric_not_ready}, {_AGAIN}",
}
# NVIDIA/nodewright-packages pull 111: on GB300 mlx5dv_reg_dmabuf_mr failed with ENOTSUPP until ACS was as `rdma_topo check` requires.
_TRANSPORT_HINT = (
    "look at the NCCL INFO lines in the raw output: IB devices, nvidia_peermem or DMA-BUF (with ConnectX-8 also ACS, `rdma_topo check`), "
    "NCCL_IB_HCA in /etc/nccl.conf"
)
_NETWORK_HINT = (
    "compare with a node that uses the other network: which package has libnccl-net.so (a plug-in of HPC-X or aws-ofi-nccl), "
    "LD_LIBRARY_PATH, and NCCL_NET_PLUGIN in /etc/nccl.conf"
)

ADAPTER_HINT = (
    "NCCL fails over {device} alone: reseat it and its cable, check its firmware and its PCIe settings, then `clusterctl burnin {node} --level full`; "
    "if it fails again, replace it"
)
ONE_BY_ONE_HINT = "`clusterctl burnin {node} --partners {others} --level full --gates nccl_group` measures one adapter at a time, and names the one at fault"


@dataclass(frozen=True, slots=True)
class NetworkRules:
    """What is required of channels over the network.

    Attributes:
        gdr: GPUDirect RDMA on each.
        sharp: whether channels to switches that reduce (`COLLNET/SHARP`) may, or must, take the place of those between two adapters.
    """

    gdr: bool = False
    sharp: SharpUse = "refused"


class NcclSettings(GateSettings):
    """What the NCCL gates share.

    Attributes:
        collective: nccl-tests' program without `_perf`.
        require_transport: a kind that must be seen (`P2P`, `NET/IB`); empty = any.
        forbid_transport: kinds that must not be seen.
        require_correctness: results must have been checked by the tool (`#wrong` is a number), not N/A.
        environment: `NCCL_*` variables for this gate only.
    """

    collective: Collective = "all_reduce"
    size_bytes: Annotated[int, Field(gt=0)] = 17179869184
    iterations: Annotated[int, Field(gt=0)] | dict[Level, Annotated[int, Field(gt=0)]] = {"quick": 10, "standard": 20, "full": 50}
    require_transport: str = ""
    forbid_transport: list[str] = ["NET/Socket"]
    require_correctness: bool = True
    environment: dict[str, str] = {}

    @property
    def variables(self) -> Mapping[str, str]:
        """The environment of the test: NCCL prints its channels, and what the profile sets."""
        return {**_TRANSPORT_LINES, **self.environment}

    def test_argv(self, level: Level) -> tuple[str, ...]:
        """The program of nccl-tests with its arguments, except for the number of GPUs."""
        size, iterations = str(self.size_bytes), str(at_level(self.iterations, level))
        return (f"{self.collective}_perf", "-b", size, "-e", size, "-n", iterations, "-w", str(_WARMUP), "-c", "1")

    def seconds_at(self, busbw_gbs: float, level: Level) -> float:
        """How long the test communicates at a bus bandwidth: runs * size * c / busbw.

        runs = 2 * (iterations + 2) + 2 * warm-up: out of place and in place, each with a run before and a checked one after it; warm-up at
        the largest and at the smallest size, which are the same here (nccl-tests, src/common.cu: TimeTest, BenchTime). c is the most that
        the bus bandwidth counts a byte: 2 (n-1)/n for all_reduce, at most 1 for the others (nccl-tests, doc/PERFORMANCE.md).
        """
        runs = 2 * (at_level(self.iterations, level) + 2) + 2 * _WARMUP
        return runs * self.size_bytes * (2 if self.collective == "all_reduce" else 1) / (busbw_gbs * 1e9)


def version_in(record: RawRecord) -> str:
    """nccl-tests and the NCCL that ran, where the output names them (nccl-tests from 2.17 on); else what is known of the tool, else NCCL alone."""
    if found := _OF_TESTS.search(record.stdout):
        code = int(found[2])
        # NCCL_VERSION_CODE of nccl.h, from 2.9 on.
        return f"nccl-tests {found[1]}, NCCL {code // 10000}.{code // 100 % 100}.{code % 100}"
    nccl = _OF_NCCL.search(record.stdout)
    return record.tool_version or (f"NCCL {nccl[1]}" if nccl else "")


def nccl_verdicts(
    subject: Subject,
    record: RawRecord,
    reading: Reading,
    settings: NcclSettings,
    limits: Sequence[Baseline] | None,
    *,
    network: NetworkRules = NetworkRules(),
    by_rank: bool = False,
) -> tuple[GateResult, ...]:
    """All rules of a run that has samples, without hints; `subject` is the node that started it.

    Both halves of a row, out of place and in place, have to keep the limits; without any, the bandwidth is not judged.
    """
    samples = _of_program(record, reading)
    blank = GateResult(record.gate, subject.name, Outcome.PASS, "")
    correct = _correctness(blank, samples, settings)
    if reading.rule and correct.outcome is not Outcome.FAIL:
        return (replace(blank, outcome=Outcome.COULD_NOT_RUN, rule=reading.rule, reason=reading.reason, detail=reading.detail),)
    transport = () if by_rank else transport_verdicts(blank, samples, settings, network)
    if any(t.outcome is Outcome.FAIL for t in transport):
        return (correct, *transport)
    if limits is None:
        return (correct, *transport)
    nodes = max(len(record.peers), 1)
    return (correct, *transport, *compare_with_limits(record.gate, subject.name, both_halves(record, reading), limits, nodes=nodes))


def both_halves(record: RawRecord, reading: Reading) -> Sequence[Sample]:
    """The samples of a run with its operation, those in place under the name of those out of place."""
    return [replace(s, metric=s.metric.removesuffix(_IN_PLACE)) for s in _of_program(record, reading)]


def _of_program(record: RawRecord, reading: Reading) -> Sequence[Sample]:
    program = next((w for w in record.argv if w.endswith("_perf")), "")
    return with_op(reading.samples, program.rsplit("/", 1)[-1].removesuffix("_perf"))


def rank_verdicts(subject: Subject, record: RawRecord, reading: Reading, planned: int) -> tuple[GateResult, ...]:
    """A result if not exactly the planned ranks, one for each GPU, took part; `planned` is 0 if it is not known."""
    ranks = sum(s.value for s in reading.samples if s.metric == "ranks")
    if not planned or ranks == planned:
        return ()
    detail = (
        f"it ran on {ranks:g} of {planned} GPUs" if ranks else "the output does not list the ranks, so it is not known which GPUs took part"
    )
    return (
        GateResult(
            gate=record.gate,
            node=subject.name,
            outcome=Outcome.COULD_NOT_RUN,
            rule="complete",
            metric="ranks",
            expected=str(planned),
            found=f"{ranks:g}",
            detail=detail,
            reason=GateReason.INCOMPLETE,
            value=ranks,
            limit=float(planned),
            unit="ranks",
        ),
    )


def _correctness(blank: GateResult, samples: Sequence[Sample], settings: NcclSettings) -> GateResult:
    result = replace(blank, rule="correctness", metric="wrong", expected="0", limit=0.0, unit="values")
    rows = [s for s in samples if s.metric in ("wrong", "wrong_in_place")]
    wrong = sum(s.value for s in rows) + sum(s.value for s in samples if s.metric == "out_of_bounds")
    failed = any(s.metric == "out_of_bounds" and s.status.upper() == "FAILED" for s in samples)
    if wrong or failed:
        source = "a collective has one right answer"
        return replace(result, outcome=Outcome.FAIL, found=limit_text(wrong), value=wrong, source=source, reason=GateReason.WRONG_RESULTS)
    checked = [s for s in rows if s.metric == "wrong" and s.status != "N/A"]
    if len(checked) < len([s for s in rows if s.metric == "wrong"]) or not rows:
        outcome = Outcome.COULD_NOT_RUN if settings.require_correctness else Outcome.NOT_APPLICABLE
        detail = "the tool did not check its results (#wrong is N/A)"
        return replace(result, outcome=outcome, found="N/A", detail=detail, reason=GateReason.UNCHECKED_RESULTS)
    return replace(result, found="0", value=0.0)


def transport_verdicts(
    blank: GateResult, samples: Sequence[Sample], settings: NcclSettings, network: NetworkRules
) -> tuple[GateResult, ...]:
    """Whether the channels in samples are those that the settings allow and require; empty where they neither allow nor require any."""
    channels = {s.transport: int(s.value) for s in samples if s.metric == "transport"}
    found = ", ".join(f"{kind} ({n} channels)" for kind, n in sorted(channels.items()))
    required, forbidden = settings.require_transport, settings.forbid_transport
    expected = required or "not " + ", ".join(forbidden)
    if not required and not forbidden:
        return ()
    result = replace(
        blank, rule="transport", metric="transport", expected=expected, found=found, source="gates_settings of the node's profile"
    )
    if not channels:
        detail = "the output shows no NCCL channel, so the transport is not known (NCCL_DEBUG=INFO lines are missing)"
        return (replace(result, outcome=Outcome.COULD_NOT_RUN, detail=detail, reason=GateReason.UNKNOWN_TRANSPORT),)
    wrong = replace(result, outcome=Outcome.FAIL, reason=GateReason.WRONG_TRANSPORT)
    if trouble := _trouble(channels, samples, settings, network):
        detail, wanted = trouble
        return (replace(wrong, expected=wanted or expected, detail=detail),)
    unused = network.sharp == "accepted" and required == _OVER_ADAPTERS and not _by_switches(channels)
    return (replace(result, detail="no channel uses SHARP, which is declared") if unused else result,)


def _trouble(
    channels: Mapping[str, int], samples: Sequence[Sample], settings: NcclSettings, network: NetworkRules
) -> tuple[str, str] | None:
    """What is wrong with some channels, and what was expected instead where it is not the required transport."""
    required = settings.require_transport
    bad = sorted(
        kind for kind in channels if any(_is(kind, f) or (f == _OVER_ADAPTERS and _is(kind, _COLLNET)) for f in settings.forbid_transport)
    )
    if bad:
        return f"NCCL used {', '.join(bad)}: whatever the bandwidth, this is the reason", ""
    instead = required == _OVER_ADAPTERS and network.sharp != "refused" and _by_switches(channels)
    if required and not any(_is(kind, required) for kind in channels) and not instead and not _over_nvls(channels, samples, required):
        return f"no channel uses {required}", ""
    if network.sharp == "required" and not _by_switches(channels):
        return f"no channel uses {_OVER_SHARP}: the switches do not reduce", _OVER_SHARP
    slow = sorted(k for k in channels if k.startswith(("NET/", _COLLNET)) and not k.endswith("/GDRDMA"))
    if network.gdr and slow:
        expected = required or "not " + ", ".join(settings.forbid_transport)
        return f"{', '.join(slow)} without GPUDirect RDMA: data takes the way through host memory", f"{expected}/GDRDMA"
    return None


def _by_switches(channels: Mapping[str, int]) -> bool:
    return any(_is(kind, _OVER_SHARP) for kind in channels)


def _over_nvls(channels: Mapping[str, int], samples: Sequence[Sample], required: str) -> bool:
    """Whether the switches reduce for all ranks (NVLS), which takes the place of the required NVLink channels.

    NCCL connects lazily since 2.22 (NCCL_RUNTIME_CONNECT): a run that only uses NVLS prints no channel between two GPUs. Between nodes,
    every rank must share its NVLink domain with all others.
    """
    if "NVLS" not in channels:
        return False
    if required == OVER_NVLINK:
        size = {metric: sum(s.value for s in samples if s.metric == metric) for metric in ("clique", "ranks")}
        return size["clique"] > 0 and size["clique"] == size["ranks"]
    return required == "P2P"


def _is(kind: str, family: str) -> bool:
    return kind == family or kind.startswith(f"{family}/")


def nccl_hint(result: GateResult) -> str:
    """The next action for a rule that did not pass."""
    if result.rule == "correctness":
        return ADVICE.corruption
    if result.reason is GateReason.NETWORK_DIFFERS:
        return _NETWORK_HINT
    if result.rule == "transport" and result.expected == _OVER_SHARP:
        return ADVICE.no_sharp
    if result.rule == "transport":
        return ADVICE.wrong_domain if result.expected.startswith(OVER_NVLINK) else _TRANSPORT_HINT
    return ADVICE.slow_collective
