"""What the gates that run perftest between two nodes share."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Annotated, TypeVar

from pydantic import Field

from clusterctl.core.gates.pair_gate import PairGate, PairSettings
from clusterctl.core.gates.planning.devices import rdma_device_of
from clusterctl.core.gates.settings import Count  # noqa: TC001 pydantic evaluates the annotations
from clusterctl.model.gate_reason import GateReason

if TYPE_CHECKING:
    from collections.abc import Sequence

    from clusterctl.core.gates.planning.devices import Hca
    from clusterctl.core.gates.planning.step import ServerPlace
    from clusterctl.model.gate_result import RawRecord, Sample

# As perftest prints it, on a client whose server does not listen.
_NO_SERVER = "Couldn't connect"
# What write_bw.c and write_lat.c of perftest print where the other side ends before the run does.
_PEER_ENDED = "Failed to exchange data between server and clients"

# getopt_long, of one without the option, and check_add_port of perftest_communication.c: a name without an address of the family.
_NO_ADDRESS = re.compile(r"unrecognized option '--ipv6-addr'|Problem in resolving basic address and port")
# Both sides use IPv4 without it (ethernet_client_connect and ethernet_server_connect of perftest 23.07 and later; earlier ones have IPv4 only).
_BY_IPV6 = "--ipv6-addr"


class PerftestSettings(PairSettings):
    """One program of perftest and its messages.

    Attributes:
        gid_index, traffic_class: for RoCE.
    """

    test: str
    size_bytes: Annotated[int, Field(gt=0)]
    gid_index: Count | None = None
    traffic_class: Annotated[int, Field(ge=0, le=255)] | None = None


T = TypeVar("T", bound=PerftestSettings)


class PerftestGate(PairGate[T]):
    """A gate whose figures perftest prints."""

    tool = "perftest"
    installed_by = "gpu_tools"

    def version_argv(self, settings: T) -> tuple[str, ...]:
        """Of the test that runs."""
        return (settings.test, "--version")

    def operation(self, settings: T) -> str:
        """The test's own name."""
        return settings.test

    def is_planned(self, settings: T, device: str, sample: Sample) -> bool:
        """Perftest prints its operation, the message size and the device; an output without them lost its beginning."""
        return (sample.op, sample.size_bytes, sample.device) == (self.operation(settings), settings.size_bytes, rdma_device_of(device))

    def failure_reason(self, record: RawRecord) -> GateReason:
        """A side that finds no other one, or loses it, learns nothing about its own link."""
        output = self.output_of(record) + record.stderr
        if _NO_ADDRESS.search(output):
            return GateReason.ADDRESS_UNUSABLE
        if _NO_SERVER in output:
            return GateReason.SERVER_SILENT
        return GateReason.PEER_ENDED if _PEER_ENDED in output else GateReason.EXIT_STATUS


def side_argv(settings: PerftestSettings, hca: Hca, own: Sequence[str], server: ServerPlace) -> tuple[str, ...]:
    """One side of a run with the `own` options of its gate."""
    at = ["-d", hca.device, *(["-i", str(hca.port)] if hca.port != 1 else [])]
    words = [settings.test, *at, "-p", str(server.port), "-s", str(settings.size_bytes), *own]
    if settings.gid_index is not None:
        words += ["-x", str(settings.gid_index)]
    if settings.traffic_class is not None:
        words += ["--tclass", str(settings.traffic_class)]
    words += [_BY_IPV6] if ":" in server.address else []
    return tuple(words) if server.is_own else (*words, server.address)
