"""What `rank_log.py` prints on a node: NCCL's lines of each rank there, reduced to those that show how it communicates."""

from __future__ import annotations

import json
import re
from collections import Counter
from dataclasses import dataclass, field
from functools import lru_cache
from typing import TYPE_CHECKING

from clusterctl.core.parsers.nccl_tests import clique_in, count_channels
from clusterctl.core.parsers.unparsable import UnparsableError

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

_TOOL = "nccl_ranks"
# Every rung, every search and the judgement of a group read the logs of all of its nodes; of larger groups they are read again, since the texts are kept.
_KEPT = 128
_NETWORK = re.compile(r"\bUsing network (\S+)")
_COMPLETE = re.compile(r"\brank (\d{1,7}) nranks (\d{1,7}) .*Init COMPLETE")


@dataclass(frozen=True, slots=True)
class RankLog:
    """One process of NCCL.

    Attributes:
        rank: its number; None if it never joined its communicator.
        ranks: the size of the communicator.
        channels: kind of channel -> the number of lines that show one.
        clique: how many ranks share its NVLink domain; 0 if it is not stated.
        network: `IB`, or as a plug-in calls itself (`IBext_v8`, `AWS Libfabric`: its first word); empty if it is not stated.
    """

    file: str
    rank: int | None
    ranks: int
    channels: Mapping[str, int] = field(hash=False)
    clique: int
    warnings: tuple[str, ...]
    network: str = ""


@lru_cache(maxsize=_KEPT)
def read_rank_logs(text: str) -> tuple[RankLog, ...]:
    """The ranks of a node.

    Raises:
        UnparsableError: it is not the output of rank_log.py.
    """
    try:
        files = json.loads(text)["files"]
        return tuple(_rank_log(str(f["name"]), [str(line) for line in f["lines"]]) for f in files)
    except (ValueError, KeyError, TypeError, RecursionError) as e:
        raise UnparsableError(tool=_TOOL, reason=f"no logs of ranks: {type(e).__name__}") from e


def _rank_log(name: str, lines: Iterable[str]) -> RankLog:
    rank, ranks, clique, network = None, 0, 0, ""
    channels: Counter[str] = Counter()
    warnings = []
    for line in lines:
        if "Init COMPLETE" in line and (complete := _COMPLETE.search(line)):
            rank, ranks = int(complete[1]), int(complete[2])
        count_channels(line, channels)
        clique = clique_in(line) or clique
        if "Using network" in line and (using := _NETWORK.search(line)):
            network = using[1]
        if "NCCL WARN" in line:
            warnings.append(line)
    return RankLog(name, rank, ranks, channels, clique, tuple(warnings), network)
