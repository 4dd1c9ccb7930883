"""Fixtures that give checks access to the node: locally, or remotely through testinfra's --hosts."""

from typing import Any, Dict

import pytest

from clusterctl_validators.probe import Probe
from clusterctl_validators.sources import HostSource, LocalSource


class LocalProbe:
    """The checks run on the node itself; `outside` as in LocalSource."""

    def __init__(self, outside: Dict[str, str]) -> None:
        self._outside = outside

    @pytest.fixture(scope="session")
    def probe(self) -> Probe:
        """Cached reads of this node."""
        return Probe(LocalSource(outside=self._outside))


class LocalHost:
    """testinfra without its own plugin: imported only if a check uses it."""

    @pytest.fixture(scope="session")
    def host(self) -> Any:
        """The host of testinfra, local backend."""
        import testinfra  # noqa: PLC0415 30 ms of CPU that most roles do not need

        return testinfra.get_host("local://")


class RemoteProbe:
    """The checks run here, their commands on testinfra's hosts."""

    def __init__(self) -> None:
        self._probes: Dict[str, Probe] = {}

    @pytest.fixture
    def probe(self, host: Any) -> Probe:
        """Cached reads of the host of this item."""
        return self._probes.setdefault(host.backend.get_pytest_id(), Probe(HostSource(host)))
