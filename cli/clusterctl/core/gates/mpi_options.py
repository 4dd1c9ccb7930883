"""The words by which mpirun (Open MPI 4.1) reaches the nodes of a group: through their burn-in agents, in place of SSH. Pure."""

from __future__ import annotations

import ipaddress
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

    from clusterctl.core.gates.subject import Subject

# In the folder of the run, where mpirun is started (roles/burnin/files).
_AGENT = "python3 rank_starter.py"
_DEFAULT_CONCURRENT = 128


def mpi_options(members: Sequence[Subject]) -> tuple[str, ...]:
    """How processes are started on the members, and which of their networks MPI uses.

    Daemons stay in the foreground of the launch agent, so that they end with their connection; then mpirun wants to start all at once.
    The launcher itself starts every daemon: one that starts further ones would have to be trusted by more than it is.
    """
    concurrent = max(_DEFAULT_CONCURRENT, len(members))
    return (
        "--leave-session-attached",
        *_mca("plm", "rsh"),
        *_mca("plm_rsh_agent", _AGENT),
        *_mca("plm_rsh_no_tree_spawn", "1"),
        *_mca("plm_rsh_num_concurrent", str(concurrent)),
        *_network(members),
    )


def _network(members: Sequence[Subject]) -> tuple[str, ...]:
    """The network of the declared peer addresses; without any, MPI chooses."""
    if not any(m.profile.peer_address for m in members):
        return ()
    try:
        addresses = [ipaddress.IPv4Address(m.address) for m in members]
    except ValueError:  # host names and IPv6: Open MPI 4.1 takes no such networks
        return ()
    network = ipaddress.IPv4Network(addresses[0])
    while not all(a in network for a in addresses):
        network = network.supernet()
    return (*_mca("oob_tcp_if_include", str(network)), *_mca("btl_tcp_if_include", str(network)))


def _mca(name: str, value: str) -> tuple[str, str, str]:
    return ("--mca", name, value)
