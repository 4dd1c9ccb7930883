"""The transport of every node of a group, each by the logs of its own ranks."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from clusterctl.core.gates.nccl_rules import nccl_hint, transport_verdicts
from clusterctl.core.parsers.nccl_ranks import RankLog, read_rank_logs
from clusterctl.core.parsers.unparsable import UnparsableError
from clusterctl.model.gate_reason import GateReason
from clusterctl.model.gate_result import GateResult, Outcome, RawRecord, Sample

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from clusterctl.core.gates.nccl_rules import NcclSettings, NetworkRules
    from clusterctl.core.gates.subject import Subject

LOG_VARIABLE = "NCCL_DEBUG_FILE"


def log_file(variant: str, which: str = "%h.%p") -> str:
    """The logs of a run's ranks, relative to the folder of the run, on each node; host name and process."""
    return f"nccl_rank{f'-{variant}' if variant else ''}.{which}.log"


def is_by_rank(run: RawRecord) -> bool:
    """Whether the ranks of a run wrote logs of their own."""
    return any(word.startswith(f"{LOG_VARIABLE}=") for word in run.argv)


def logs_of(record: RawRecord | None) -> tuple[RankLog, ...]:
    """The logs in a node's record; none where it holds none."""
    try:
        return read_rank_logs(record.stdout) if record and record.exit_status == 0 else ()
    except UnparsableError:
        return ()


def other_networks(logs: Mapping[str, Sequence[RankLog]]) -> dict[str, tuple[str, str]]:
    """Node -> the network that NCCL uses there and that of most nodes, for each node that is not one of these; none without a majority.

    Assumed: a plug-in (`libnccl-net.so`) that only some nodes have is why a group with them hangs; so the logs of NVIDIA/nccl issue 1634 differ.
    """
    networks = {name: ", ".join(sorted({log.network for log in own if log.network})) for name, own in logs.items()}
    known = {name: network for name, network in networks.items() if network}
    most, count = Counter(known.values()).most_common(1)[0] if known else ("", 0)
    return {name: (network, most) for name, network in known.items() if network != most and 2 * count > len(known)}


@dataclass(frozen=True, slots=True)
class Proof:
    """What is proved of a run.

    Attributes:
        ranks: how many were planned; 0 if it is not known.
        finished: the run has a result. One that was cut off may not have connected all its channels, so only what it shows counts.
    """

    run: RawRecord
    ranks: int
    finished: bool

    def of_node(self, subject: Subject, record: RawRecord | None, settings: NcclSettings, network: NetworkRules) -> GateResult:
        """The transport of one node; a hint is given."""
        found = self._judged(subject, record, settings, network)
        bad = found.outcome is not Outcome.PASS
        hint = nccl_hint(found) if bad else ""
        return replace(found, node=subject.name, peers=self.run.peers, simulated=self.run.simulated, hint=hint)

    def on_other_network(self, subject: Subject, network: str, most: str) -> GateResult:
        """A node whose ranks use another network than those of most nodes, in a run that came to no end; a hint is given."""
        blank = GateResult(self.run.gate, subject.name, Outcome.FAIL, "transport", metric="network", found=network, expected=most)
        detail = f"NCCL uses the network {network} there, and {most} on most nodes of the group"
        result = replace(blank, reason=GateReason.NETWORK_DIFFERS, detail=detail, peers=self.run.peers, simulated=self.run.simulated)
        return replace(result, hint=nccl_hint(result))

    def _judged(self, subject: Subject, record: RawRecord | None, settings: NcclSettings, network: NetworkRules) -> GateResult:
        blank = GateResult(self.run.gate, subject.name, Outcome.PASS, "transport", metric="transport")
        lost = replace(blank, outcome=Outcome.COULD_NOT_RUN)
        if record is None or record.error or record.exit_status:
            why = record.error or f"exit status {record.exit_status}" if record else "no record of them"
            reason = (record.error_code if record else None) or GateReason.NO_EVIDENCE
            return replace(lost, detail=f"the logs of its ranks are missing: {why}", reason=reason)
        try:
            logs = read_rank_logs(record.stdout)
        except UnparsableError as e:
            return replace(lost, detail=str(e), reason=GateReason.UNPARSABLE)
        required = settings if self.finished else settings.model_copy(update={"require_transport": ""})
        rules = network if self.finished or network.sharp == "refused" else replace(network, sharp="accepted")
        verdicts = transport_verdicts(blank, self._samples(logs), required, rules)
        verdict = verdicts[0] if verdicts else blank
        if verdict.outcome is not Outcome.PASS:
            return verdict
        return self._incomplete(lost, logs, subject.gpus) or verdict

    def _samples(self, logs: Sequence[RankLog]) -> list[Sample]:
        channels: dict[str, int] = {}
        for log in logs:
            for kind, count in log.channels.items():
                channels[kind] = channels.get(kind, 0) + count
        cliques = [log.clique for log in logs]
        samples = [Sample("transport", float(n), "channels", transport=kind) for kind, n in sorted(channels.items())]
        samples.append(Sample("clique", float(min(cliques, default=0)), "ranks"))
        return [*samples, Sample("ranks", float(self.ranks), "ranks")]

    def _incomplete(self, lost: GateResult, logs: Sequence[RankLog], gpus: int) -> GateResult | None:
        """Ranks that are not there, or of which no channel is known."""
        joined = {log.rank for log in logs if log.rank is not None}
        missing = replace(lost, rule="complete", metric="ranks", expected=str(gpus), found=str(len(joined)), unit="ranks")
        missing = replace(missing, value=float(len(joined)), limit=float(gpus), reason=GateReason.INCOMPLETE)
        if len(joined) != gpus:
            return replace(missing, detail=f"{len(joined)} of its {gpus} ranks left a log of having joined")
        if self.ranks and any(log.ranks != self.ranks for log in logs):
            sizes = ", ".join(str(n) for n in sorted({log.ranks for log in logs}))
            return replace(missing, detail=f"its ranks joined a group of {sizes}, not of {self.ranks}")
        silent = [log.file for log in logs if not log.channels]
        if silent:
            return replace(lost, detail=f"{len(silent)} of its ranks show no channel ({silent[0]})", reason=GateReason.UNKNOWN_TRANSPORT)
        return None
