"""rank_log.py, which reduces the logs of a node's ranks, and its reader."""

from __future__ import annotations

import json
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

from clusterctl.core.parsers.nccl_ranks import read_rank_logs
from clusterctl.core.parsers.unparsable import UnparsableError
from support.agents import FILES

if TYPE_CHECKING:
    from pathlib import Path

START = "n1:4000:4100 [0] NCCL INFO "


def reduced(folder: Path) -> str:
    argv = [sys.executable, str(FILES / "rank_log.py"), "nccl_rank.*.log"]
    return subprocess.run(argv, cwd=folder, check=True, capture_output=True, text=True, timeout=20).stdout


def test_a_long_log_is_reduced_to_what_shows_the_transport(tmp_path: Path) -> None:
    lines = [f"{START}NET/IB : Using [0]mlx5_0:1/IB [1]mlx5_1:1/IB [RO]; OOB eth0:10.0.0.1<0>", f"{START}Using network IB"]
    lines += [f"{START}ncclCommInitRank comm 0x60 rank 3 nranks 512 cudaDev 3 nvmlDev 3 busId 6000 commId 0x4a - Init COMPLETE"]
    lines += [f"{START}Channel {i % 100:02d}/1 : 3[3] -> {i}[0] [send] via NET/IB/{i % 8}({i % 5})/GDRDMA/Shared" for i in range(50000)]
    lines += [f"{START}Channel {i % 100:02d}/0 : 3[3] -> {i}[0] via P2P/CUMEM" for i in range(5000)]
    lines += [f"{START}Channel 99/1 : 3[3] -> 9[1] [send] via NET/IB/7"]
    lines += [f"n1:4000:4100 [0] misc/socket.cc:1 NCCL WARN retry {i} via eth0" for i in range(100)]
    (tmp_path / "nccl_rank.n1.4000.log").write_text("\n".join(lines) + "\n")
    text = reduced(tmp_path)
    assert len(text) < 8192
    (log,) = read_rank_logs(text)
    assert (log.rank, log.ranks, dict(log.channels)) == (3, 512, {"NET/IB/GDRDMA": 1, "P2P": 1, "NET/IB": 1})
    assert log.network == "IB"
    assert len(log.warnings) == 10


def test_bytes_that_are_no_text_and_endless_lines_do_no_harm(tmp_path: Path) -> None:
    (tmp_path / "nccl_rank.n1.1.log").write_bytes(b"\xff\x00" * 100000 + b"\n" + b"x via NET/Socket/0 " + b"y" * 100000)
    (tmp_path / "nccl_rank.n1.2.log").write_text("")
    text = reduced(tmp_path)
    assert len(text) < 8192
    logs = read_rank_logs(text)
    assert [(log.rank, dict(log.channels)) for log in logs] == [(None, {"NET/Socket": 1}), (None, {})]


def test_without_files_there_is_no_rank(tmp_path: Path) -> None:
    assert read_rank_logs(reduced(tmp_path)) == ()


@pytest.mark.parametrize("text", ["", "garbage", "[]", "{}", '{"files": 3}', '{"files": [{}]}', '{"files": [{"name": "a", "lines": 1}]}'])
def test_anything_else_is_refused(text: str) -> None:
    with pytest.raises(UnparsableError):
        read_rank_logs(text)


def logs_of(*lines: str) -> str:
    return json.dumps({"files": [{"name": "nccl_rank.n1.1.log", "lines": lines}]})


@pytest.mark.parametrize(
    ("line", "channels"),
    [
        ("NCCL INFO 24 coll channels, 16 nvls channels, 32 p2p channels", {"NVLS": 16}),
        ("NCCL INFO 24 coll channels, 0 nvls channels, 32 p2p channels", {}),
        ("NCCL INFO NVLS comm 0x55 headRank 0 nHeads 8", {"NVLS": 1}),
        ("NCCL INFO Channel 00/0 : 0[0] -> 1[1] via P2P/CUMEM", {"P2P": 1}),
        ("NCCL INFO Channel 00/0 : 0[0] -> 1[1] viaP2P/CUMEM", {}),
    ],
)
def test_channels_of_a_line(line: str, channels: dict[str, int]) -> None:
    (log,) = read_rank_logs(logs_of(line))
    assert log.channels == channels


def test_equal_logs_are_read_once() -> None:
    """Every rung and every search of a group reads those of all of its nodes again."""
    text = logs_of("NCCL INFO comm 0x1 rank 0 nranks 8 - Init COMPLETE")
    missed = read_rank_logs.cache_info().misses
    first = read_rank_logs(text)
    assert read_rank_logs(logs_of("NCCL INFO comm 0x1 rank 0 nranks 8 - Init COMPLETE")) is first
    assert [(log.rank, log.ranks) for log in first] == [(0, 8)]
    assert read_rank_logs.cache_info().misses == missed + 1
