"""iblinkinfo, sminfo and perfquery on a fabric of ibsim that has the node, the cabling and the identifiers of the simulator."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

from clusterctl_lab.simulator import iblinkinfo, machine
from clusterctl_lab.simulator.cabling import switch_port
from clusterctl_lab.simulator.hardware_kinds import HGX_A100
from cross_check.comparison import Comparison, Normalisation, ToolReport
from cross_check.same_output import version
from cross_check.world import NODE, Answer, World, simulated
from support import ib_fabric
from support.unpacked_tools import which

if TYPE_CHECKING:
    from collections.abc import Sequence

# ibsim knows the speeds up to HDR, which is that of this machine.
HARDWARE = HGX_A100
_DEVICES = ("mlx5_0", "mlx5_3")
_SIMULATOR = "ibsim0"
_MANAGER = "sm"
_MANAGER_GUID = 0x2C5EAB0300B87B40
_SWITCH_PORTS = 64
_TOOLS = {
    "iblinkinfo": (
        ("-l", "-C", "{device}", "-P", "1", "-D", "0"),
        ("-l", "-C", "{device}", "-P", "1", "-D", "0,1", "-n", "0"),
        ("-l", "-C", "absent", "-P", "1", "-D", "0"),
    ),
    "sminfo": (("-C", "{device}", "-P", "1"), ("-C", "absent", "-P", "1")),
    "perfquery": (
        ("-C", "{device}", "-P", "1"),
        ("-C", "absent", "-P", "1"),
        ("-R", "-C", "{device}", "-P", "1"),
        ("-C", "{device}", "-P", "1"),
    ),
}
_RULES = (
    Normalisation(r"\[\d+\] mad_rpc", "[] mad_rpc", "it is the id of the process"),
    Normalisation(r"\(Could be[^)]*\)", "( )", "a port of ibsim can also have 12 lanes"),
    Normalisation(rf'^.* "{_MANAGER}" \( \)$\n', "", "the subnet manager of this fabric needs a port of the switch, too"),
    Normalisation(rf"^.* {_SWITCH_PORTS}\[  \] ==\( +Down/ Polling.*$\n", "", "likewise: in the simulator that port has no link"),
    Normalisation(r"activity count \d+", "activity count N", "it counts the time since the subnet manager was started"),
    Normalisation(r"CapMask: 0x\w+", "CapMask: 0x", "ibsim is not a ConnectX adapter"),
    Normalisation(r"^(Port(?:Xmit|Rcv)(?:Data|Pkts):\.*)\d+$", r"\1N", "ibsim counts the packets of this very query"),
)
_SYMBOL_ERRORS = 1234


TOOLS = tuple(_TOOLS)


def why_missing(tool: str) -> str:
    """What is absent to run it; empty if nothing is. All need the whole fabric."""
    return ", ".join(ib_fabric.missing_tools()) or ("" if which(tool) else tool)


def netlist(device: str) -> str:
    """A leaf switch with this node's adapter and the subnet manager, with the GUIDs of the simulator; ibsim adds 1 for the port."""
    index = HARDWARE.hca_names.index(device)
    end = switch_port(index, NODE)
    switch = f"MF0;{end.switch}:MQM9700/U1"
    guid = iblinkinfo.SWITCH_GUID + index
    return (
        f'switchguid={guid:#x}({guid:x})\nSwitch\t{_SWITCH_PORTS} "{switch}"\n'
        f'[{end.port}]\t"{NODE} {device}"[1]\t\t# "node" lid 1 4xHDR\n'
        f'[{_SWITCH_PORTS}]\t"{_MANAGER}"[1]\t\t# "manager" lid 1 4xHDR\n\n'
        f'caguid={_node_guid(device) - 1:#x}\nHca\t1 "{NODE} {device}"\n[1]\t"{switch}"[{end.port}]\t\t# lid 1 lmc 0 "leaf" lid 1 4xHDR\n\n'
        f'caguid={_MANAGER_GUID - 1:#x}\nHca\t1 "{_MANAGER}"\n[1]\t"{switch}"[{_SWITCH_PORTS}]\t\t# lid 1 lmc 0 "leaf" lid 1 4xHDR\n'
    )


def _node_guid(device: str) -> int:
    return int(machine.hca_guid(NODE, HARDWARE.hca_names.index(device)).replace(":", ""), 16)


def _local_ids(device: str) -> str:
    """The file from which opensm takes local ids: those of the simulator."""
    index = HARDWARE.hca_names.index(device)
    ids = {_MANAGER_GUID: 1, _node_guid(device): machine.hca_lid(NODE, index), iblinkinfo.SWITCH_GUID + index: 2 + index}
    return "".join(f"0x{guid:016x} 0x{lid:04x} 0x{lid:04x}\n\n" for guid, lid in ids.items())


def compare(tools: Sequence[str], devices: Sequence[str] = _DEVICES) -> list[ToolReport]:
    """Run all commands of the tools for each device."""
    found: dict[str, list[Comparison]] = {name: [] for name in tools}
    plan = [(name, words) for name in tools for words in _TOOLS[name]]
    for device in devices:
        counter = f"/sys/class/infiniband/{device}/ports/1/counters/symbol_error"
        world = World(HARDWARE.name, files={counter: f"{_SYMBOL_ERRORS}\n"})
        own = world.run([simulated(name, [name, *(w.format(device=device) for w in words)]) for name, words in plan])
        with tempfile.TemporaryDirectory() as scratch:
            Path(scratch, "guid2lid").write_text(_local_ids(device), encoding="ascii")
            with ib_fabric.Fabric(Path(scratch), text=netlist(device), manager=_MANAGER, settings="sm_priority 14\n") as fabric:
                fabric.console_command(f'PerformanceSet "{NODE} {device}"[1] PortCounters.SymbolErrorCounter={_SYMBOL_ERRORS}')
                for (name, words), answer in zip(plan, own, strict=True):
                    done = fabric.run(f"{NODE} {device}", [name, *(w.format(device=_SIMULATOR) for w in words)])
                    real = Answer(-1 if done.rc is None else done.rc, done.stdout, done.stderr)
                    command = " ".join(w.format(device=device) for w in words)
                    found[name].append(Comparison(name, HARDWARE.name, command, real.text, answer.text, _RULES))
    release = version(["ibstat", "-V"])
    return [ToolReport(name, release, rows) for name, rows in found.items()]
