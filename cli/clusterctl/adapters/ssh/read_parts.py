"""Read the serial numbers of a node's parts: one SSH exec, which only reads."""

from __future__ import annotations

import asyncio
import base64
import re
import shlex
from typing import TYPE_CHECKING

from clusterctl.adapters.ssh.remote_result import TransportError
from clusterctl.core.gates.planning.devices import gpu_vendor_of
from clusterctl.core.gpu_vendors import gpu_vendor_or_error
from clusterctl.core.parsers.serials import gpu_parts, is_of_nvswitches, parse_dmidecode, parse_vpd, real_serial
from clusterctl.model.errors import ConfigError
from clusterctl.model.part import NodeParts, Part

if TYPE_CHECKING:
    from collections.abc import Iterator

    from clusterctl.adapters.ssh.ssh import SshClient
    from clusterctl.model.node import Node
    from clusterctl_validators.gpu import GpuVendor

_LIMIT_BYTES = 4 * 1024 * 1024
_MARK = "=== clusterctl "
_STATUS = re.compile(r"[0-9]{1,3}")
# VPD is read word by word from the device; an adapter that hangs must not hang the others.
_SCRIPT = r"""
export LC_ALL=C
section() { printf '\n=== clusterctl %s\n' "$1"; }
section dmi; timeout 20 dmidecode -t 1,2,3,4,17 2>&1; section "end $?"
section gpu; timeout 60 @GPU_PARTS@ 2>&1; section "end $?"
section nic
for d in /sys/class/infiniband/*; do
  [ -e "$d/device/vpd" ] || continue
  printf '%s %s ' "${d##*/}" "$(basename "$(readlink -f "$d/device")")"; timeout 10 head -c 32768 "$d/device/vpd" 2>/dev/null | base64 -w0; echo
done
section "end 0"
section nvme
for d in /sys/class/nvme/*; do
  [ -e "$d/serial" ] || continue
  case $(cat "$d/transport" 2>/dev/null) in pcie | '') ;; *) continue ;; esac
  disks=$(ls "$d" | sed -n 's/^\(nvme[0-9]*\)\(c[0-9]*\)\{0,1\}\(n[0-9]*\)$/\1\3/p')
  printf '%s %s\t%s\t%s\t%s\n' "${d##*/}" "$(basename "$(readlink -f "$d/device")")" "$(cat "$d/serial")" "$(cat "$d/model")" "$(echo $disks)"
done
section "end 0"
"""


async def read_parts(client: SshClient, node: Node, limit_s: float, become_password: str = "") -> NodeParts:
    """The parts of a node, or why there are none."""
    try:
        vendor = gpu_vendor_or_error(gpu_vendor_of(node), node.name)
        async with asyncio.timeout(limit_s):
            session = await client.connect(node.connection, become_password)
            try:
                result = await session.run(["sh", "-c", script(vendor)], b"", _LIMIT_BYTES)
            finally:
                session.close()
    except TimeoutError:
        return NodeParts(node.name, problem=f"no answer within {limit_s:g} s")
    except TransportError as e:
        return NodeParts(node.name, problem=e.detail)
    except ConfigError as e:
        return NodeParts(node.name, problem=str(e))
    return parse_answer(node.name, vendor, result.stdout.decode("utf-8", "replace"))


def script(vendor: GpuVendor) -> str:
    """What the node runs."""
    return _SCRIPT.replace("@GPU_PARTS@", shlex.join(vendor.parts_command))


def parse_answer(node: str, vendor: GpuVendor, text: str) -> NodeParts:
    """From the output of the script."""
    sections = dict(_sections(text))
    if set(sections) != {"dmi", "gpu", "nic", "nvme"}:
        return NodeParts(node, problem=f"the node reports no parts: {text.strip()[:200]!r}")
    dmi, gpus = parse_dmidecode(sections["dmi"][0]), gpu_parts(vendor.read_parts(sections["gpu"][0]))
    missing = []
    if not dmi:
        missing.append(("system, baseboard, chassis, cpu, dimm", _why(sections["dmi"], "dmidecode")))
    if not gpus:
        missing.append(("gpu", _why(sections["gpu"], vendor.parts_command[0])))
    parts = (*dmi, *gpus, *_nics(sections["nic"][0]), *_drives(sections["nvme"][0]))
    return NodeParts(node, parts, missing=tuple(missing))


def _sections(text: str) -> Iterator[tuple[str, tuple[str, int]]]:
    """Name -> (output, exit status) of every complete section."""
    pieces = [piece.partition("\n") for piece in text.split("\n" + _MARK)[1:]]
    for (name, _, body), (end, _, _) in zip(pieces[::2], pieces[1::2], strict=False):
        if end.startswith("end "):
            yield name, (body, int(end[4:]) if _STATUS.fullmatch(end[4:]) else -1)


def _why(section: tuple[str, int], tool: str) -> str:
    body, status = section
    return f"{tool}: exit status {status}: {' '.join(body.split())[:200]}".rstrip(": ")


def _nics(text: str) -> Iterator[Part]:
    for line in text.splitlines():
        words = line.split()
        # A device of a subnet manager (smi1, rdma-dev.8) is at the address of an adapter, and no part of its own.
        if len(words) == 3 and not words[0].startswith("smi"):  # noqa: PLR2004 name, address, VPD
            try:
                data = base64.b64decode(words[2], validate=True)
            except ValueError:  # also for text that is not ASCII
                continue
            model, serial = parse_vpd(data)
            if serial and is_of_nvswitches(data):
                yield Part("nvswitch", words[1], f"NVSwitch {words[0]}", model, serial)
            elif serial:
                yield Part("nic", words[1], words[0], model, serial)


def _drives(text: str) -> Iterator[Part]:
    for line in text.splitlines():
        place, serial, model, disks = (*line.split("\t"), "", "", "")[:4]
        if len(place.split()) == 2 and real_serial(serial):  # noqa: PLR2004 name and address
            name, address = place.split()
            # With native multipath a disk has another number than its controller.
            both = f"{name} ({', '.join(disks.split())})" if disks.split() else name
            yield Part("nvme", address, both, model.strip(), real_serial(serial))
