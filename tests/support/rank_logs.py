"""What rank_log.py of the burn-in prints on a node of a group, in NCCL's own format."""

from __future__ import annotations

import json

GPUS = 8


def rank_log(name: str, rank: int, ranks: int, way: str, network: str = "IB") -> list[str]:
    """The reduced log of one rank, in NCCL's own format."""
    start = f"{name}:{4000 + rank}:{4100 + rank} [{rank % GPUS}] NCCL INFO "
    head = (
        f"ncclCommInitRankConfig comm 0x55d1 rank {rank} nranks {ranks} cudaDev {rank % GPUS} nvmlDev {rank % GPUS} busId 1b000 commId 0x4a"
    )
    lines = [f"{start}NET/IB : Using [0]mlx5_0:1/IB [RO]; OOB eth0:10.0.0.1<0>", f"{start}Using network {network}"]
    lines.append(f"{start}{head} - Init COMPLETE")
    lines.append(f"{start}Channel 00/0 : {rank}[{rank % GPUS}] -> {rank + 1}[0] via P2P/CUMEM")
    return [*lines, *([f"{start}Channel 01/0 : {rank}[{rank % GPUS}] -> {rank + 1}[0] [send] via {way}"] if way else [])]


def rank_document(name: str, first: int, joined: int, ranks: int, way: str = "NET/IB/3/GDRDMA", network: str = "IB") -> str:
    """The logs of the ranks from `first` on, of a group of `ranks`."""
    logs = [{"name": f"{name}.{r}", "lines": rank_log(name, r, ranks, way, network)} for r in range(first, first + joined)]
    return json.dumps({"schema_version": 1, "files": logs})
