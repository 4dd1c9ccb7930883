"""ib_write_bw, ib_read_bw, ib_send_bw and their latency tests: both sides exchange the properties of their HCAs over TCP and print perftest's table."""

from __future__ import annotations

import json
import os
import random
import socket
import sys
import time
from dataclasses import dataclass
from typing import Any

from . import device_variation, link_type, machine, pcie_acs, perftest_latency, state

WAIT_S = 60.0
# Payload as a fraction of the line rate, after headers.
PAYLOAD = 0.981
# configure.ac of 24.01.0-0.38, Ubuntu's, and of 25.07.0-0.104, which is built with CUDA.
_VERSION, _VERSION_CUDA = "6.20", "6.26"
_TITLES = {"ib_write_bw": "RDMA_Write BW Test", "ib_read_bw": "RDMA_Read BW Test", "ib_send_bw": "Send BW Test", **perftest_latency.TITLES}
_RULE = "-" * 87
# The executables of a build with CUDA end so, beside those of the distribution.
_CUDA = "_cuda"
# Of an adapter to memory of the host: PCIe 5.0 x16, 32 GT/s with 128b/130b coding, of which packets take a tenth (assumed), whatever its port carries.
_TO_PROCESSOR_GBPS = 454.0
# Where the buffer would be in the memory of the GPU, and the pointer to it on the stack.
_BUFFER, _POINTER = 0x78E9F8800000, 0x5D07A20E9300
_WITH_VALUE = {
    **dict.fromkeys(("-d", "--ib-dev"), "device"),
    **dict.fromkeys(("-p", "--port"), "port"),
    **dict.fromkeys(("-s", "--size"), "size"),
    **dict.fromkeys(("-n", "--iters"), "iterations"),
    **dict.fromkeys(("-D", "--duration"), "duration_s"),
    **dict.fromkeys(("-q", "--qp"), "qps"),
    **dict.fromkeys(("-x", "--gid-index"), "gid_index"),
    "--use_cuda": "gpu",
    **dict.fromkeys(
        ("--tclass", "-T", "--tos", "-i", "--ib-port", "-m", "--mtu", "-Q", "--cq-mod", "-t", "--tx-depth", "-S", "--sl"),
        "ignored",
    ),
}
_FLAGS = {
    "--report_gbits": "gbits",
    "--use_cuda_dmabuf": "dmabuf",
    "--use_data_direct": "data_direct",
    **dict.fromkeys(("-b", "--bidirectional"), "bidirectional"),
}


class UsageError(Exception):
    """The command line or the device is invalid. Has perftest's message."""


@dataclass
class Options:
    """The options of the command line; `server` is empty on the server side, `gpu` is below 0 for buffers in host memory."""

    device: str = "mlx5_0"
    port: int = 18515
    size: int = 65536
    iterations: int = 5000
    duration_s: int = 0
    qps: int = 1
    gbits: bool = False
    bidirectional: bool = False
    server: str = ""
    gid_index: int = 0
    gpu: int = -1
    dmabuf: bool = False
    data_direct: bool = False
    ignored: str = ""


def main(argv: list[str], _version: str) -> int:
    """Run one side."""
    program = argv[0].rpartition("/")[2]
    name = program.removesuffix(_CUDA)
    if "--version" in argv or "-V" in argv:
        print(f"Version: {_VERSION if program == name else _VERSION_CUDA} (simulated)")
        return 0
    try:
        options = parse_command_line(argv[1:])
        _require_cuda(options, built=program != name)
        mine = _local_description(options, name)
    except UsageError as e:
        print(e, file=sys.stderr)
        return 1
    print("clusterctl-lab: simulated", file=sys.stderr)
    memory = _cuda_lines(options)
    try:
        if problem := _registration_problem(options):
            _connection(options).close()
            print(memory + "destroying current CUDA Ctx")
            print(problem, file=sys.stderr)
            return 1
        theirs = _exchange(options, mine)
    except OSError as e:
        print(f"Couldn't connect to {options.server}:{options.port}" if options.server else f" {e}", file=sys.stderr)
        print(" Unable to init the socket connection", file=sys.stderr)
        return 1
    except ValueError:
        print(memory, end="")
        print("ethernet_read_keys: Couldn't read remote address\n Unable to read from socket/rdma_cm", file=sys.stderr)
        print(" Failed to exchange data between server and clients", file=sys.stderr)
        return 1
    end = f"deallocating GPU buffer {_BUFFER:016x}\ndestroying current CUDA Ctx\n" if memory else ""
    print(memory + result_text(name, options, mine, theirs) + end, end="", flush=True)
    return 0


def _require_cuda(options: Options, *, built: bool) -> None:
    if options.gpu >= 0 and not built:  # as distributions build it
        raise UsageError("unrecognized option '--use_cuda'\n Invalid Command or flag.\n Please check command line and run again.")


def _registration_problem(options: Options) -> str:
    """Why the adapter does not register the buffer, as create_single_mr of perftest_resources.c prints it; empty where it does."""
    if options.gpu < 0 or options.dmabuf or state.is_module_loaded("nvidia_peermem"):
        return ""
    return "Couldn't allocate MR\nfailed to create mr\nFailed to create MR\n Couldn't create IB resources"


def _cuda_lines(options: Options) -> str:
    """What a build with CUDA prints before its table: cuda_memory.c of perftest 25.07.0-0.104, and the log of an H200 (google/dranet)."""
    if options.gpu < 0:
        return ""
    node = os.uname().nodename
    buses = [machine.gpu(node, index).bus_id.split(":") for index in range(machine.GPUS)]
    size = 2 * options.size * options.qps
    lines = [
        "Perftest doesn't supports CUDA tests with inline messages: inline size set to 0",
        "initializing CUDA\nListing all CUDA devices in system:",
        *(f"CUDA device {index}: PCIe address is {bus[1]}:{bus[2][:2]}" for index, bus in enumerate(buses)),
        f"\nPicking device No. {options.gpu}\n[pid = {os.getpid()}, dev = {options.gpu}] device name = [{machine.THIS.gpu_model}]",
        "creating CUDA Ctx\nmaking it the current CUDA Ctx\nCUDA device integrated: 0",
    ]
    if options.dmabuf:
        lines += [f"using DMA-BUF for GPU buffer address at {_BUFFER:#x} aligned at {_BUFFER:#x} with aligned size {size}"]
    lines += [f"allocated GPU buffer of a {size} address at {_POINTER:#x} for type CUDA_MEM_DEVICE"]
    if options.dmabuf:
        lines += [f"Calling ibv_reg_dmabuf_mr(offset=0, size={size}, addr={_BUFFER:#x}, fd=39) for QP #0"]
    return "\n".join(lines) + "\n"


def parse_command_line(words: list[str]) -> Options:
    """Parse the command line.

    Raises:
        UsageError: an option is unknown, or its value is invalid.
    """
    values: dict[str, Any] = {}
    rest = list(words)
    while rest:
        word = rest.pop(0)
        option, equals, inline = word.partition("=")
        if option in _WITH_VALUE:
            text = inline if equals else (rest.pop(0) if rest else "")
            field = _WITH_VALUE[option]
            if field not in ("device", "ignored") and not text.isdigit():
                raise UsageError(f" Invalid value {text!r} for {option}")
            values[field] = text if field in ("device", "ignored") else int(text)
        elif word in _FLAGS:
            values[_FLAGS[word]] = True
        elif not word.startswith("-"):
            values["server"] = word
        elif word not in ("-F", "-a", "--CPU-freq", "-R", "--rdma_cm", "--report-both"):
            raise UsageError(f"unrecognized option '{word}'\n Invalid Command or flag.\n Please check command line and run again.")
    if values.get("data_direct") and not values.get("dmabuf"):
        raise UsageError(" DMABUF must be enabled in order to use Data Direct \n Parser function exited with Error")
    return Options(**values)


def _local_description(options: Options, name: str) -> dict[str, Any]:
    if not state.is_module_loaded("ib_uverbs") or not state.is_module_loaded("mlx5_ib"):
        raise UsageError(" Failed to get IB devices list: Function not implemented")
    if not machine.is_rail(options.device):
        raise UsageError(f" not simulated: {options.device} reaches only the NVSwitches of this node")
    if not os.path.isdir(f"/sys/class/infiniband/{options.device}"):
        raise UsageError(f" IB device {options.device} not found\n Unable to find the Infiniband/RoCE device")
    if "ACTIVE" not in state.read(f"/sys/class/infiniband/{options.device}/ports/1/state"):
        raise UsageError(" Port number 1 state is Down\n Couldn't set the link layer\n Couldn't get context for the device")
    port = f"/sys/class/infiniband/{options.device}/ports/1"
    if link_type.is_ethernet() and not state.read(f"{port}/gid_attrs/types/{options.gid_index}"):
        raise UsageError(" Failed to modify QP to RTR\n Unable to Connect the HCA's through the link")
    node, faults = os.uname().nodename, state.read_faults()
    rate = machine.THIS.line_rate_gbps * faults.hca_factor(options.device, machine.THIS.line_rate_gbps)
    if options.gpu >= 0:
        rate *= faults.gpudirect_factor(options.device) * pcie_acs.gpudirect_factor(machine.hca_index(options.device))
    else:
        rate = min(rate, _TO_PROCESSOR_GBPS)
    return {
        "test": name,
        "size": options.size,
        "qps": options.qps,
        "lid": machine.hca_lid(node, machine.hca_index(options.device)),
        "gbps": rate * PAYLOAD * device_variation.variation_factor(node, options.device),
        "half_us": perftest_latency.half_us(node, options.device),
        "qpns": [random.randrange(0x100, 0x20000) for _ in range(options.qps)],  # noqa: S311 a number to show
        "psns": [random.randrange(0x1000000) for _ in range(options.qps)],  # noqa: S311
    }


def _exchange(options: Options, mine: dict[str, Any]) -> dict[str, Any]:
    """Send the local properties and return those of the other side.

    Raises:
        OSError: no connection.
        ValueError: the other side is not perftest, has other options, or ended.
    """
    with _connection(options) as connection:
        connection.settimeout(WAIT_S)
        try:
            connection.sendall(json.dumps(mine).encode() + b"\n")
            theirs: dict[str, Any] = json.loads(connection.makefile("r", encoding="utf-8").readline())
        except OSError as e:
            raise ValueError("the other side ended") from e
        if any(theirs[key] != mine[key] for key in ("test", "size", "qps")):
            raise ValueError("the sides differ")
        # The real test runs for its duration; this pause only makes both sides overlap.
        time.sleep(0.05)
    return theirs


def _connection(options: Options) -> socket.socket:
    if options.server:
        return socket.create_connection((options.server, options.port), timeout=WAIT_S)
    rule = "*" * 36
    print(f"\n{rule}\n* Waiting for client to connect... *\n{rule}", flush=True)
    with socket.create_server(("", options.port), backlog=1) as server:
        server.settimeout(WAIT_S)
        return server.accept()[0]


def result_text(name: str, options: Options, mine: dict[str, Any], theirs: dict[str, Any]) -> str:
    """The output of perftest after the exchange."""
    newer = options.gpu >= 0  # the build with CUDA
    latency = name in perftest_latency.TITLES
    rows = [
        (" Dual-port       : OFF", f"\t\tDevice         : {options.device}"),
        (f" Number of qps   : {options.qps}", "\t\tTransport type : IB"),
        (" Connection type : RC", "\t\tUsing SRQ      : OFF"),
        (" PCIe relax order: ON", "\t\tLock-free      : OFF" if newer else ""),
        (" ibv_wr* API     : ON", "\t\tUsing DDP      : OFF" if newer else ""),
        (f" TX depth        : {1 if latency else 128}", "") if options.server or name == "ib_write_lat" else ("", ""),
        ("" if latency else " CQ Moderation   : 1", ""),
        (" CQE Poll Batch  : 16" if newer else "", ""),
        (" Mtu             : 4096[B]", ""),
        (f" Link type       : {'Ethernet' if link_type.is_ethernet() else 'IB'}", ""),
        (f" GID index       : {options.gid_index}", "") if link_type.is_ethernet() else ("", ""),
        (f" Max inline data : {perftest_latency.inline_bytes(name)}[B]", ""),
        (" rdma_cm QPs\t : OFF", ""),
        (" Data ex. method : Ethernet", ""),
    ]
    lines = [_RULE, f"                    {_TITLES[name]}", *(a + b for a, b in rows if a), _RULE]
    lines += [_address("local", mine, i) for i in range(options.qps)]
    lines += [_address("remote", theirs, i) for i in range(options.qps)]
    if latency:
        measured = perftest_latency.table(options.size, options.iterations, mine["half_us"] + theirs["half_us"])
        return "\n".join([*lines, _RULE, *measured, _RULE]) + "\n"
    unit = "Gb/sec" if options.gbits else ("MiB/sec" if newer else "MB/sec")
    lines += [_RULE, f" #bytes     #iterations    BW peak[{unit}]    BW average[{unit}]   MsgRate[Mpps]"]
    gbps = min(mine["gbps"], theirs["gbps"]) * (1.96 if options.bidirectional else 1)
    rate_mpps = gbps * 1e9 / 8 / options.size / 1e6
    iterations = round(rate_mpps * 1e6 * options.duration_s) if options.duration_s else options.iterations
    average = gbps if options.gbits else gbps * 1e9 / 8 / 2**20
    peak = 0.0 if options.duration_s else average * 1.0005
    lines += [f" {options.size:<10} {iterations:<15}  {peak:<16.2f}   {average:<16.2f} \t   {rate_mpps:.6f}", _RULE]
    return "\n".join(lines) + "\n"


def _address(side: str, data: dict[str, Any], index: int) -> str:
    return (
        f" {side} address: LID {data['lid']:#04x} QPN {data['qpns'][index]:#06x} PSN {data['psns'][index]:#x} "
        f"RKey {0x1800 + index:#08x} VAddr {0x7F0000000000 + (index << 24):#016x}"
    )
