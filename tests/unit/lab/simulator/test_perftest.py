from __future__ import annotations

import os
import re
import threading
import time
from typing import TYPE_CHECKING

import pytest

from clusterctl.core.parsers import parse_output
from clusterctl_lab.simulator import machine, perftest, state
from support import shapes
from support.lab_machine import LabMachine, lab_machine
from support.ports import free_port
from support.recorded import recorded

if TYPE_CHECKING:
    from pathlib import Path

WORDS = "-d mlx5_{} -p {} -s 8388608 -q 4 -D 1 -F --report_gbits"


@pytest.fixture
def node(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> LabMachine:
    made = lab_machine(tmp_path, monkeypatch)
    made.load(ib_uverbs="", mlx5_ib="")
    real = os.path.isdir
    monkeypatch.setattr("os.path.isdir", lambda p: ("mlx5_" in str(p) and "mlx5_9" not in str(p)) or real(p))
    read = state.read
    monkeypatch.setattr(state, "read", lambda p: "4: ACTIVE" if p.endswith("ports/1/state") else read(p))
    return made


def pair(capsys: pytest.CaptureFixture[str], server: str, client: str, name: str = "ib_write_bw") -> tuple[list[int], str]:
    codes: list[int] = []
    port = free_port()
    side = threading.Thread(target=lambda: codes.append(perftest.main([name, *server.format(port).split()], "24.01")))
    side.start()
    while True:
        try:
            options = perftest.parse_command_line([*client.format(port).split(), "127.0.0.1"])
            mine = perftest._local_description(options, name.removesuffix("_cuda"))
            theirs = perftest._exchange(options, mine)
            break
        except ConnectionRefusedError:
            assert not codes, capsys.readouterr()
            time.sleep(0.01)  # the server does not listen yet
        except ValueError:
            side.join()
            return [*codes, 1], capsys.readouterr().out
    side.join()
    capsys.readouterr()
    return codes, perftest.result_text(name.removesuffix("_cuda"), options, mine, theirs)


def bandwidth(text: str) -> float:
    return next(s.value for s in parse_output("perftest", text) if s.metric == "bandwidth_average")


def test_two_healthy_sides_reach_the_line_rate(node: LabMachine, capsys: pytest.CaptureFixture[str]) -> None:
    words = WORDS.replace("{}", "0", 1)
    codes, text = pair(capsys, words, words)
    assert codes == [0]
    assert 385 < bandwidth(text) < machine.THIS.line_rate_gbps
    assert text.count("local address") == text.count("remote address") == 4


def test_one_degraded_side_halves_the_bandwidth(node: LabMachine, capsys: pytest.CaptureFixture[str]) -> None:
    node.inject_fault("hca_degraded", "mlx5_3")
    _, text = pair(capsys, WORDS.replace("{}", "3", 1), WORDS.replace("{}", "0", 1))
    assert 190 < bandwidth(text) < 200


@pytest.mark.parametrize("name", ["ib_write_lat", "ib_send_lat", "ib_read_lat"])
def test_latency_is_printed_as_the_real_test_prints_it(name: str, node: LabMachine, capsys: pytest.CaptureFixture[str]) -> None:
    codes, text = pair(capsys, "-d mlx5_0 -p {} -s 2 -n 10000 -F", "-d mlx5_1 -p {} -s 2 -n 10000 -F", name)
    assert codes == [0]
    found = {s.metric: s.value for s in parse_output("perftest", text) if (s.op, s.size_bytes, s.device) == (name, 2, "mlx5_1")}
    assert 2.7 < found["latency_typical"] < 2.9
    assert found["latency_min"] < found["latency_typical"] < found["latency_p99"] < found["latency_max"]


def test_its_lines_are_those_of_a_real_run(node: LabMachine, capsys: pytest.CaptureFixture[str]) -> None:
    _, text = pair(capsys, "-d mlx5_0 -p {} -s 2 -n 10000 -F", "-d mlx5_1 -p {} -s 2 -n 10000 -F", "ib_send_lat")
    real = recorded("perftest/cx7-ndr400-ib_send_lat.txt").read_text(encoding="utf-8")
    assert shapes.lines(text) - shapes.lines(real) == set()


def test_sides_with_different_sizes_fail(node: LabMachine, capsys: pytest.CaptureFixture[str]) -> None:
    words = WORDS.replace("{}", "0", 1)
    codes, text = pair(capsys, words, words.replace("-s 8388608", "-s 4096"))
    assert codes == [1, 1]
    assert "RDMA_Write" not in text


def test_without_a_server_the_client_fails_with_the_real_message(node: LabMachine, capsys: pytest.CaptureFixture[str]) -> None:
    code = perftest.main(["ib_write_bw", *WORDS.format(0, free_port()).split(), "127.0.0.1"], "")
    printed = capsys.readouterr()
    assert code == 1
    assert printed.out == ""
    assert "Couldn't connect" in printed.err


@pytest.mark.parametrize("words", ["-d mlx5_99", "-s many", "--no-such-option"])
def test_an_invalid_command_line_is_refused(node: LabMachine, words: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert perftest.main(["ib_write_bw", *words.split()], "") == 1
    assert capsys.readouterr().out == ""


def test_without_kernel_modules_no_device_is_found(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    lab_machine(tmp_path, monkeypatch)
    assert perftest.main(["ib_write_bw", "-d", "mlx5_0"], "") == 1
    assert "Failed to get IB devices" in capsys.readouterr().err


@pytest.mark.parametrize(("program", "version"), [("ib_write_bw", "6.20"), ("ib_write_bw_cuda", "6.26")])
def test_the_version_is_marked_as_simulated(program: str, version: str, capsys: pytest.CaptureFixture[str]) -> None:
    perftest.main([program, "--version"], "24.01")
    assert capsys.readouterr().out == f"Version: {version} (simulated)\n"


@pytest.mark.parametrize("flags", ["--report_gbits", "", "-b --report_gbits -n 100", "--use_cuda=0 --use_cuda_dmabuf"])
def test_every_table_format_parses(node: LabMachine, flags: str, capsys: pytest.CaptureFixture[str]) -> None:
    words = f"-d mlx5_0 -p {{}} -s 65536 {flags}"
    _, text = pair(capsys, words, words, "ib_send_bw_cuda" if "cuda" in flags else "ib_send_bw")
    assert bandwidth(text) > 100


def test_gpu_memory_needs_a_build_with_cuda(capsys: pytest.CaptureFixture[str]) -> None:
    words = WORDS.format(0, 1).split()
    assert perftest.main(["/usr/bin/ib_write_bw", *words, "--use_cuda=0"], "1") == 1
    assert "unrecognized option" in capsys.readouterr().err


@pytest.mark.parametrize(("flags", "dmabuf"), [("--use_cuda=2", False), ("--use_cuda=2 --use_cuda_dmabuf", True)])
def test_a_build_with_cuda_says_where_its_buffer_is(flags: str, dmabuf: bool) -> None:
    text = perftest._cuda_lines(perftest.parse_command_line([*WORDS.format(2, 1).split(), *flags.split()]))
    assert "Picking device No. 2\n" in text
    assert re.search(r"^allocated GPU buffer of a 67108864 address at 0x[0-9a-f]+ for type CUDA_MEM_DEVICE$", text, re.MULTILINE)
    assert "allocated GPU buffer address at" not in text
    assert ("using DMA-BUF for GPU buffer address at 0x" in text) == ("Calling ibv_reg_dmabuf_mr(offset=0" in text) == dmabuf
    assert perftest._cuda_lines(perftest.parse_command_line(WORDS.format(2, 1).split())) == ""


@pytest.mark.parametrize(
    ("file", "flags"),
    [
        ("perftest/h200-ib_write_bw-a-use_cuda_dmabuf-gke.txt", "--use_cuda=0 --use_cuda_dmabuf"),
        ("perftest/rtx4080-ib_write_bw-use_cuda-peermem.txt", "--use_cuda=0"),
    ],
)
def test_the_lines_about_memory_are_those_of_real_runs(file: str, flags: str) -> None:
    """But for the list of devices and numbers."""
    own = perftest._cuda_lines(perftest.parse_command_line([*WORDS.format(0, 1).split(), *flags.split()]))
    real = recorded(file).read_text(encoding="utf-8").split("-----")[0]
    assert shape_of(own) == shape_of(real)


def shape_of(text: str) -> list[str]:
    lines = [re.sub(r"\[NVIDIA [^]]*\]|0x[0-9a-f]+|\d+", "#", line) for line in text.splitlines()]
    return [line for line in lines if not line.startswith("CUDA device #: PCIe")]


def test_a_slow_path_between_gpu_and_hca_is_felt() -> None:
    faults = state.Faults((state.Fault("gpudirect_slow", "mlx5_2", "0.4"),))
    assert (faults.gpudirect_factor("mlx5_2"), faults.gpudirect_factor("mlx5_3"), faults.hca_factor("mlx5_2", 400)) == (0.4, 1.0, 1.0)


def test_without_peermem_gpu_memory_is_refused_after_the_peer_was_met(node: LabMachine, capfd: pytest.CaptureFixture[str]) -> None:
    """As the real one: the buffer is reported, then no adapter registers it, and the peer loses its connection."""
    words = ["ib_write_bw_cuda", *WORDS.format(0, free_port()).split(), "--use_cuda=0"]
    codes: list[int] = []
    server = threading.Thread(target=lambda: codes.append(perftest.main(words, "")))
    server.start()
    out = errors = ""
    while "ethernet_read_keys" not in errors:  # until the server listens
        assert perftest.main([*words, "--use_cuda_dmabuf", "127.0.0.1"], "") == 1
        printed = capfd.readouterr()
        out, errors = out + printed.out, errors + printed.err
    server.join()
    printed = capfd.readouterr()
    assert codes == [1]
    assert "Couldn't allocate MR\nfailed to create mr\n" in errors + printed.err
    assert (out + printed.out).count("for type CUDA_MEM_DEVICE") >= 2
    assert "#bytes" not in out + printed.out


def test_data_direct_needs_a_dma_buf() -> None:
    words = ["-d", "mlx5_0", "--use_cuda=1", "--use_cuda_dmabuf", "--use_data_direct"]
    assert perftest.parse_command_line(words).data_direct
    with pytest.raises(perftest.UsageError, match="DMABUF must be enabled"):
        perftest.parse_command_line([w for w in words if w != "--use_cuda_dmabuf"])
