#!/usr/bin/env python3
"""Fake burn-in tools for containers: print the output of a healthy H100 node. Lines `DEVICE GB/S` in /etc/fake-slow reduce the rate of a device; with seconds in
/etc/fake-ranks the ranks of a group take that long; with /etc/fake-no-gdr they do without GPUDirect RDMA."""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
import time
from pathlib import Path

TABLE = """---------------------------------------------------------------------------------------
                    RDMA_Write BW Test
 Dual-port       : OFF\t\tDevice         : {device}
---------------------------------------------------------------------------------------
 #bytes     #iterations    BW peak[Gb/sec]    BW average[Gb/sec]   MsgRate[Mpps]
 8388608    58000            0.00               {gbps:.2f}              0.005871
---------------------------------------------------------------------------------------
"""
NCCL = """{devices}NCCL version 2.28.9+cuda13.0
n1:100:120 [0] NCCL INFO Channel 00/0 : 0[0] -> 1[1] via {via}
#       size         count      type   redop    root     time   algbw   busbw #wrong     time   algbw   busbw #wrong
 17179869184    4294967296     float     sum      -1    62239  276.03  {busbw:.2f}      0    62200  276.20  {busbw:.2f}      0
# Out of bounds values : 0 OK
# Avg bus bandwidth    : {busbw}
"""


GPU = """<gpu id="00000000:{bus}:00.0"><ecc_errors><volatile><dram_uncorrectable>0</dram_uncorrectable></volatile></ecc_errors>
<remapped_rows><remapped_row_unc>0</remapped_row_unc><remapped_row_pending>{pending}</remapped_row_pending>
<remapped_row_failure>No</remapped_row_failure></remapped_rows></gpu>"""


LOADED = "{i}, 00000000:{bus}:00.0, 1485, 693.50, 700.00, 66, 20, 84, 0x0000000000000004\n"


def nvidia_smi(words: list[str]) -> int:
    """Eight GPUs; with /etc/fake-remap the load of dcgmi left GPU 2 with a row to remap."""
    if words[:1] == ["nvlink"]:
        sys.stdout.write("".join(f"GPU {i}: NVIDIA H100 80GB HBM3 (UUID: GPU-{i})\n\t Link 0: Replay Errors: 0\n" for i in range(8)))
        return 0
    if words[0].startswith("--query-gpu"):
        sys.stdout.write("".join(LOADED.format(i=i, bus=f"{i + 16:02X}") for i in range(8)))
        return 0
    worn = Path("/etc/fake-remap").exists() and Path("/run/fake-load").exists()
    gpus = "".join(GPU.format(bus=f"{i + 16:02X}", pending="Yes" if worn and i == 2 else "No") for i in range(8))
    head = "<driver_version>580.126.20</driver_version><attached_gpus>8</attached_gpus>"
    sys.stdout.write(f"<nvidia_smi_log>{head}{gpus}</nvidia_smi_log>\n")
    return 0


def dmesg(_words: list[str]) -> int:
    sys.stdout.write("[    0.000000] Linux version 6.8.0 (simulated)\n")
    return 0


def ubergemm(words: list[str]) -> int:
    """One GPU of an H100 node."""
    time.sleep(float(words[words.index("--time_to_run") + 1]))
    sys.stdout.write("starting....\nGFlops:7.69000e+05 GFlops\n")
    return 0


def gpu_burn(words: list[str]) -> int:
    """One GPU of an H100 node."""
    time.sleep(float(words[-1]))
    sys.stdout.write("\r100.0%  proc'd: 560 (50900 Gflop/s)   errors: 0   temps: 61 C \n")
    sys.stdout.write("Results are 268435456 bytes each, thus performing 280 iterations\ndone\n\nTested 1 GPUs:\n\tGPU 0: OK\n")
    return 0


def nvbandwidth(words: list[str]) -> int:
    """Eight GPUs of an H100 node."""
    rates = {"host_to_device_memcpy_ce": 55.0, "device_to_host_memcpy_ce": 55.0}
    cases = []
    for name in [w for w in words if w.endswith("_ce")]:
        peers = [["N/A" if row == column else "395.0" for column in range(8)] for row in range(8)]
        matrix = [[str(rates[name])] * 8] if name in rates else peers
        cases.append({"name": name, "status": "Passed", "bandwidth_description": "memcpy CE bandwidth (GB/s)", "bandwidth_matrix": matrix})
    sys.stdout.write(json.dumps({"nvbandwidth": {"version": "v0.8 (simulated)", "testcases": cases}}))
    return 0


def slow(device: str) -> float:
    file = Path("/etc/fake-slow")
    words = [line.split() for line in file.read_text().splitlines()] if file.exists() else []
    return min([392.0, *(float(gbps) for name, gbps in words if name == device)])


def perftest(words: list[str]) -> int:
    device, port = words[words.index("-d") + 1], int(words[words.index("-p") + 1])
    if words[-1].startswith("--"):
        with socket.create_server(("", port)) as server:
            peer = server.accept()[0]
    else:
        try:
            peer = socket.create_connection((words[-1], port), timeout=5)
        except OSError:
            sys.stderr.write(f"Couldn't connect to {words[-1]}:{port}\n")
            return 1
    with peer:
        peer.sendall(f"{slow(device)}\n".encode())
        theirs = float(peer.makefile().readline())
    sys.stdout.write(TABLE.format(device=device, gbps=min(theirs, slow(device))))
    return 0


def write_rank_logs(words: list[str]) -> None:
    """The logs of the eight ranks of one node; the last words are the beginning of their names, its number and that of the nodes."""
    prefix, node, nodes = words[-3], int(words[-2]), int(words[-1])
    via = "NET/IB/0" if Path("/etc/fake-no-gdr").exists() else "NET/IB/0/GDRDMA"
    for rank in range(8 * node, 8 * node + 8):
        start = f"{socket.gethostname()}:{rank}:{rank} [{rank % 8}] NCCL INFO "
        comm = f"{start}ncclCommInitRankConfig comm 0x1 rank {rank} nranks {8 * nodes} cudaDev {rank % 8} nvmlDev {rank % 8} busId 1b000"
        way = f"{start}Channel 00/0 : {rank}[{rank % 8}] -> {rank + 1}[0] [send] via {via}"
        Path(f"{prefix}.{socket.gethostname()}.{rank}.log").write_text(f"{comm} commId 0x4a - Init COMPLETE\n{way}\n")


def run_ranks() -> int:
    """The ranks of this node, in a process group of their own and without the files of the daemon, as Open MPI starts them."""
    file = Path("/etc/fake-ranks")
    seconds = file.read_text().strip() if file.exists() else "0"
    return subprocess.Popen(["sleep", seconds], process_group=0).wait()


def start_daemons(words: list[str]) -> bool:
    """Start `orted` on the nodes after the first, with the launch agent, as mpirun does."""
    hosts = [host.rpartition(":")[0] for host in words[words.index("--host") + 1].split(",")]
    agent = words[words.index("plm_rsh_agent") + 1].split()
    (names,) = (word.partition("=")[2] for word in words if word.startswith("NCCL_DEBUG_FILE="))
    start = [" orted", "-mca", "ess", '"env"', names.partition(".")[0]]
    starts = [[*start, str(i), str(len(hosts))] for i in range(len(hosts))]
    daemons = [subprocess.Popen([*agent, host, *starts[i]]) for i, host in enumerate(hosts) if i]
    write_rank_logs(starts[0])
    statuses = [run_ranks(), *(d.wait() for d in daemons)]
    return not any(statuses)


def main(name: str, words: list[str]) -> int:
    if {"--version", "--help"} & set(words) or words == ["-h"]:
        sys.stdout.write(f"{name} 1.0 (simulated)\n")
        return 0
    own = {"nvidia-smi": nvidia_smi, "nvbandwidth": nvbandwidth, "ubergemm": ubergemm, "gpu_burn": gpu_burn, "dmesg": dmesg}.get(name)
    if own:
        return own(words)
    pause = Path("/etc/fake-pause")
    if name == "dcgmi":
        Path("/run/fake-load").touch()
        time.sleep(float(pause.read_text()) if pause.exists() else 0)
        results = [{"entity_group": "GPU", "entity_id": i, "status": "Pass"} for i in range(8)]
        tests = [{"name": n, "results": results, "test_summary": {"status": "Pass"}} for n in ("software", "memory", "pcie")]
        sys.stdout.write(json.dumps({"DCGM Diagnostic": {"test_categories": [{"category": "x", "tests": tests}]}}))
        return 0
    if name in ("ib_write_bw", "ib_write_bw_cuda"):
        sys.stdout.write(
            "allocated GPU buffer of a 67108864 address at 0x5f6a182d2370 for type CUDA_MEM_DEVICE\n" if name.endswith("_cuda") else ""
        )
        return perftest(words)
    if name == "orted":
        write_rank_logs(words)
        run_ranks()
    if name == "orted" or (name == "mpirun" and not start_daemons(words)):
        return int(name != "orted")
    ranks = int(words[words.index("-np") + 1]) if name == "mpirun" else 8
    devices = "".join(f"#  Rank {i:2} Group  0 Pid {i} on x device {i % 8:2} [0000:1b:00] NVIDIA H100 80GB HBM3\n" for i in range(ranks))
    via, busbw = ("NET/IB/0/GDRDMA", 386.0) if name == "mpirun" else ("P2P/CUMEM", 477.0)
    ring = "Ring" in (os.environ.get("NCCL_ALGO", ""), *(w.partition("=")[2] for w in words))
    if name == "mpirun" and ranks == 16 and not ring:  # two nodes reduce in their NVSwitches first
        busbw = 480.0
    sys.stdout.write(NCCL.format(devices=devices, via=via, busbw=busbw))
    return 0


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[0]).name, sys.argv[1:]))
