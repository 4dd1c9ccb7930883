"""The lines of NCCL_DEBUG=INFO that show the transports."""

from __future__ import annotations

from typing import TYPE_CHECKING

from . import link_type, machine

if TYPE_CHECKING:
    from .peers import Peer

_CHANNELS = 2
_PID = 4000


def info_lines(group: list[tuple[Peer, int]], *, rack_nvlink: bool) -> list[str]:
    """The lines of all ranks, as they mix on one terminal."""
    return [line for own in rank_lines(group, rack_nvlink=rack_nvlink) for line in own]


def files(pattern: str, group: list[tuple[Peer, int]], *, rack_nvlink: bool) -> dict[str, dict[str, str]]:
    """Node -> file -> text, where NCCL_DEBUG_FILE names a file for each rank."""
    written: dict[str, dict[str, str]] = {}
    owners = [d.node for d, count in group for _ in range(count)]
    for rank, (node, lines) in enumerate(zip(owners, rank_lines(group, rack_nvlink=rack_nvlink), strict=True)):
        name = pattern.replace("%h", node).replace("%p", str(_PID + rank))
        written.setdefault(node, {})[name] = "\n".join(lines) + "\n"
    return written


def rank_lines(group: list[tuple[Peer, int]], *, rack_nvlink: bool) -> list[list[str]]:
    """The bootstrap, network and channel lines of each rank in the format of NCCL 2.2x; `rack_nvlink`: memory is shared by the NVLink of the rack."""
    layer = "RoCE" if link_type.is_ethernet() else "IB"
    nics = " ".join(f"[{i}]{name}:1/{layer}" for i, name in enumerate(map(machine.hca_name, machine.live_hcas())))
    ranks = [(d, local) for d, count in group for local in range(count)]
    local_ranks: dict[str, int] = {}
    for d, count in group:
        local_ranks[d.node] = local_ranks.get(d.node, 0) + count
    return [_lines_of(rank, ranks, nics, local_ranks, rack_nvlink=rack_nvlink) for rank in range(len(ranks))]


def _lines_of(rank: int, ranks: list[tuple[Peer, int]], nics: str, local_ranks: dict[str, int], *, rack_nvlink: bool) -> list[str]:
    own, local = ranks[rank]
    start = f"{own.node}:{_PID + rank}:{_PID + 100 + rank} [{local}] NCCL INFO "
    lines = [
        f"{start}Bootstrap: Using eth0:{own.node}<0>",
        f"{start}cudaDriverVersion 13000",
        f"{start}NCCL version {own.nccl}+cuda13.0",
        f"{start}NET/Plugin: Could not find: libnccl-net.so. Using internal net plugin.",
        f"{start}NET/IB : Using {nics} [RO]; OOB eth0:{own.node}<0>",
        f"{start}Using network IB",
    ]
    bus = own.gpus[local][4:].lower().removesuffix(".0") if local < len(own.gpus) else "0"
    comm = f"ncclCommInitRankConfig comm 0x55{rank:04x}0000 rank {rank} nranks {len(ranks)} cudaDev {local} nvmlDev {local} busId {bus}"
    lines.append(f"{start}{comm} commId 0x4a8fb6ecbba1a10a - Init COMPLETE")
    clique = f"MNNVL 1 cliqueId 7ffe cliqueSize {len(ranks)} cliqueRank {rank}"
    lines += [f"{start}{clique}"] if rack_nvlink else []
    place = f"nNodes {len(local_ranks)} localRanks {local_ranks[own.node]} localRank {local}"
    lines.append(f"{start}comm 0x55{rank:04x}0000 rank {rank} nRanks {len(ranks)} {place} MNNVL {int(rack_nvlink)}")
    following, before = (rank + 1) % len(ranks), (rank - 1) % len(ranks)
    for channel in range(_CHANNELS):
        name = f"{start}Channel {channel:02d}/0 : "
        if ranks[before][0].node != own.node and not rack_nvlink:
            lines.append(f"{name}{before}[{ranks[before][1]}] -> {rank}[{local}] [receive] via {_network(own, local)}")
        there = f"{name}{rank}[{local}] -> {following}[{ranks[following][1]}] "
        if rack_nvlink:
            lines.append(f"{there}via P2P/MNNVL")
        elif ranks[following][0].node == own.node:
            lines.append(f"{there}via P2P/CUMEM")
        else:
            lines.append(f"{there}[send] via {_network(own, local)}")
    if machine.THIS.nvls and len(local_ranks) == 1 and own.nccl_factor > 0.9 and len(ranks) > machine.GPUS // 2:
        sizes = f"nHeads {len(ranks)} buffSize 1048576 memSize 2097152 nvlsPerRankSize 201326592"
        lines.append(f"{start}NVLS comm 0x55{rank:04x}0000 headRank {local} {sizes}")
    return [*lines, f"{start}Connected all rings"]


def _network(own: Peer, local: int) -> str:
    """Each side decides for itself whether its GPU and its adapter use GPUDirect."""
    return f"NET/IB/{local}" + ("/GDRDMA" if own.gdr else "")
