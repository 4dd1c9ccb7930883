"""The words by which mpirun (Open MPI 4.1) reaches the nodes of a group: through their burn-in agents, in place of SSH. Pure."""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

# In the folder of the run, where mpirun is started (roles/burnin/files).
_AGENT = "python3 rank_starter.py"
# Written there by the agent of each node (mpi_network.py), because nodes may name the interface of their network differently.
_NETWORK_FILE = "open_mpi.conf"
# The launch agent gets the names of --host. Open MPI would cut off their domains, and look up each one, which takes seconds where no DNS server answers.
_NAMES_AS_GIVEN = {"orte_keep_fqdn_hostnames": "1", "if_base_do_not_resolve": "1"}
_DEFAULT_CONCURRENT = 128
# Every node has this name for itself (proc_info.c).
_OWN_HOST = "localhost"
_OPTIONS = ("--mca", "-mca")
# MPI starts the ranks and hands them NCCL's address; the network that is measured is left to NCCL. UCX and hcoll would use its adapters: by default
# where Open MPI is built with them. `vader` is shared memory (`sm` from Open MPI 5.0 on, which still takes this name). What is excluded need not exist.
_TRANSPORT = {"pml": "ob1", "btl": "tcp,self,vader", "coll": "^hcoll,ucc"}


def mpi_options(nodes: int, declared: Sequence[str] = ()) -> tuple[str, ...]:
    """How processes are started on a number of nodes, and how MPI itself communicates; without parameters that `declared` words set.

    Daemons stay in the foreground of the launch agent, so that they end with their connection; then mpirun has to start all at once.
    The launcher itself starts every daemon: one that starts further ones would have to be trusted by more than it is.
    """
    parameters = {
        "plm": "rsh",
        "plm_rsh_agent": _AGENT,
        "plm_rsh_no_tree_spawn": "1",
        "plm_rsh_num_concurrent": str(max(_DEFAULT_CONCURRENT, nodes)),
        "mca_base_param_files": _NETWORK_FILE,
        **_NAMES_AS_GIVEN,
        **_TRANSPORT,
    }
    return ("--leave-session-attached", *_words(parameters, _names(declared)))


def mpi_hosts(addresses: Sequence[str], slots: Sequence[int]) -> str:
    """The value of --host; the first node is the launcher.

    A host's name has no colon (nidmap_create of regx_fwd.c), so rank_starter.py turns `ipv6-2001-db8--1` back into an address.
    """
    names = (_OWN_HOST, *(f"ipv6-{a.replace(':', '-')}" if ":" in a else a for a in addresses[1:]))
    return ",".join(f"{name}:{number}" for name, number in zip(names, slots, strict=True))


def _words(parameters: Mapping[str, str], declared: set[str]) -> tuple[str, ...]:
    """Open MPI joins the values of a parameter that is given twice, so a declared one takes the place of ours."""
    return tuple(word for name, value in parameters.items() if name not in declared for word in ("--mca", name, value))


def _names(words: Sequence[str]) -> set[str]:
    return {name for option, name in itertools.pairwise(words) if option in _OPTIONS}
