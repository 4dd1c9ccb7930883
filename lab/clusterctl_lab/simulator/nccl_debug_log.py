"""The lines of NCCL_DEBUG=INFO that show the transports."""

from __future__ import annotations

from typing import TYPE_CHECKING

from . import link_type, machine

if TYPE_CHECKING:
    from .peers import Peer

_CHANNELS = 2


def info_lines(group: list[tuple[Peer, int]]) -> list[str]:
    """The bootstrap, network and channel lines of all ranks in the format of NCCL 2.2x."""
    lines: list[str] = []
    first = group[0][0]
    layer = "RoCE" if link_type.is_ethernet() else "IB"
    nics = " ".join(f"[{i}]{name}:1/{layer}" for i, name in enumerate(machine.THIS.hca_names))
    head = f"{first.node}:4000:4000 [0] NCCL INFO "
    lines += [
        f"{head}Bootstrap: Using eth0:{first.node}<0>",
        f"{head}cudaDriverVersion 13000",
        f"{head}NCCL version {first.nccl}+cuda13.0",
    ]
    lines += [f"{head}NET/IB : Using {nics} [RO]; OOB eth0:{first.node}<0>", f"{head}Using network IB"]
    ranks = [(d, local) for d, count in group for local in range(count)]
    for rank, (description, local) in enumerate(ranks):
        following = (rank + 1) % len(ranks)
        peer, peer_local = ranks[following]
        start = f"{description.node}:{4000 + rank}:{4100 + rank} [{local}] NCCL INFO "
        for channel in range(_CHANNELS):
            if machine.THIS.rack_nvlink and len(group) > 1:
                lines.append(f"{start}Channel {channel:02d}/0 : {rank}[{local}] -> {following}[{peer_local}] via P2P/MNNVL")
            elif peer.node == description.node:
                lines.append(f"{start}Channel {channel:02d}/0 : {rank}[{local}] -> {following}[{peer_local}] via P2P/CUMEM")
            else:
                way = f"NET/IB/{local}" + ("/GDRDMA" if description.gdr and peer.gdr else "")
                lines.append(f"{start}Channel {channel:02d}/0 : {rank}[{local}] -> {following}[{peer_local}] [send] via {way}")
        if machine.THIS.nvls and len(group) == 1 and description.nccl_factor > 0.9 and len(ranks) > machine.GPUS // 2:
            lines.append(
                f"{start}NVLS comm 0x55{rank:04x}0000 headRank {local} nHeads {len(ranks)} buffSize 1048576 memSize 2097152 nvlsPerRankSize 201326592"
            )
        lines.append(f"{start}Connected all rings")
    return lines
