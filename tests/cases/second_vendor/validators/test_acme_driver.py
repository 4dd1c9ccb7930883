"""The driver of ACME: the declared version."""

from typing import Any, Mapping

from clusterctl_validators.probe import Probe
from clusterctl_validators.record import Record

ROLE = "acme_driver"


def test_version(spec: Mapping[str, Any], record: Record, probe: Probe) -> None:
    found = probe.read("/sys/module/acme/version")
    record.equal("acme_driver.version", spec["acme_driver_version"], (found or "absent").strip())
