"""What a tray shows of the NVLink domain of its rack: the nodes file of IMEX, its daemon, the state of the domain, and what NCCL makes of it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from clusterctl_lab.simulator import imex_domain, machine, peers
from clusterctl_lab.simulator.imex_protocol import CONNECTED, INVALID, NEVER_CONNECTED, READY, UNAVAILABLE, Domain, Member
from clusterctl_validators import test_nvlink_domain
from clusterctl_validators.probe import CommandResult
from faults.world import spec

if TYPE_CHECKING:
    from faults.world import Rack

_AT = "11/20/2025 10:00:00.000"
_STOPPED = "Unable to connect to the IMEX server: connection refused"
_OPTIONS = "/etc/modprobe.d/zz-clusterctl-nvidia.conf"


def files(rack: Rack, node: str) -> dict[str, str]:
    """What the roles wrote, and what the module was loaded with."""
    declared = spec(rack.kind).roles[test_nvlink_domain.ROLE]
    count, channel0 = declared["nvlink_domain_imex_channels"], int(declared["nvlink_domain_imex_channel0"])
    settings = {**declared["nvlink_domain_imex_settings"], "IMEX_NODE_CONFIG_FILE": test_nvlink_domain.NODES_FILE}
    return {
        test_nvlink_domain.NODES_FILE: "".join(f"{rack.kind.address_of(name)}\n" for name in _listed(rack, node)),
        test_nvlink_domain.CONFIG_FILE: "".join(f"{name}={value}\n" for name, value in settings.items()),
        "/proc/driver/nvidia/params": f"ImexChannelCount: {count}\nCreateImexChannel0: {channel0}\n",
        _OPTIONS: f"options nvidia NVreg_ImexChannelCount={count} NVreg_CreateImexChannel0={channel0}\n",
    }


def answers(rack: Rack, node: str) -> dict[str, str | CommandResult]:
    """The commands that ask for the domain."""
    stopped = CommandResult(1, stderr=_STOPPED)
    runs = _runs(rack, node)
    return {
        " ".join(test_nvlink_domain.STATUS): f"{READY}\n" if runs else stopped,
        " ".join(test_nvlink_domain.DOMAIN): _domain(rack, node).to_json() if runs else stopped,
        " ".join(test_nvlink_domain.ADDRESSES): f"{rack.kind.address_of(node)} \n",
        **{f"stat -c %U %a {path}": "root 644\n" for path in (test_nvlink_domain.NODES_FILE, test_nvlink_domain.CONFIG_FILE)},
    }


def nccl_problem(rack: Rack, node: str) -> str:
    """What NCCL prints if the tray cannot use the NVLink of its rack."""
    return "" if not machine.THIS.rack_nvlink or _runs(rack, node) else peers.without_daemon()


def members_of(rack: Rack, node: str) -> tuple[str, ...]:
    """The addresses of the domain whose daemon runs on a tray, its own first; none where no daemon runs."""
    if not machine.THIS.rack_nvlink or not _runs(rack, node):
        return ()
    return tuple(rack.kind.address_of(name) for name in (node, *_listed(rack, node)))


def _runs(rack: Rack, node: str) -> bool:
    return all(c.path != test_nvlink_domain.UNIT for c in rack.of("unit", node))


def _listed(rack: Rack, node: str) -> tuple[str, ...]:
    """The trays of the nodes file, with which the daemon was started; a change `imex` takes the one in `value` out."""
    left_out = {c.value for c in rack.of("imex", node)}
    return tuple(name for name in rack.kind.nodes if name not in left_out)


def _domain(rack: Rack, node: str) -> Domain:
    listed = _listed(rack, node)
    members = tuple(_member(rack, name, listed) for name in listed)
    return Domain(imex_domain.domain_status(members), _AT, members)


def _member(rack: Rack, name: str, listed: tuple[str, ...]) -> Member:
    """A tray as it reports itself: to those that its own list lacks it has no connection."""
    runs, own = _runs(rack, name), _listed(rack, name)
    met = tuple(INVALID if not runs else CONNECTED if other in own and _runs(rack, other) else NEVER_CONNECTED for other in listed)
    version = spec(rack.kind).roles["nvidia_driver"]["nvidia_driver_version"] if runs else ""
    return Member(rack.kind.address_of(name), READY if runs else UNAVAILABLE, version, met)
