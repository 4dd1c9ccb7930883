"""Corrected errors of DIMMs that the kernel ignores by its command line."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from clusterctl_validators.dimm_errors import judge_dimms
from clusterctl_validators.finding import Outcome
from clusterctl_validators.probe import Probe
from clusterctl_validators.record import Record
from clusterctl_validators.sources import LocalSource
from support.checks import write_files

if TYPE_CHECKING:
    from pathlib import Path

DIMM = "/sys/devices/system/edac/mc/mc0/dimm1/"


# OCI's images of GPU shapes have it (oci-hpc-images, group_vars/kernel_parameters.yml: mce=ignore_ce).
@pytest.mark.parametrize(
    ("cmdline", "counted", "outcome"),
    [
        ("ro mce=ignore_ce iommu=pt\n", 0, Outcome.WARN),
        ("ro mce=off\n", 0, Outcome.WARN),
        ("ro mce=ignore_ce\n", 11, Outcome.FAIL),
        ("ro mce=no_cmci\n", 0, Outcome.PASS),
        ("ro\n", 0, Outcome.PASS),
        (None, 0, Outcome.PASS),
    ],
)
def test_a_kernel_that_ignores_corrected_errors_gets_a_warning(cmdline: str | None, counted: int, outcome: Outcome, tmp_path: Path) -> None:
    files = {DIMM + "dimm_ce_count": f"{counted}\n", DIMM + "dimm_label": "A1\n", "/proc/uptime": "100.0 1.0\n"}
    write_files(tmp_path, files | ({"/proc/cmdline": cmdline} if cmdline else {}))
    record = Record("hardware")
    judge_dimms(record, Probe(LocalSource(str(tmp_path))), 10)
    finding = {f.check: f for f in record.findings}["hardware.dimms.corrected"]
    assert finding.outcome is outcome
    assert outcome is not Outcome.WARN or "ignore" in (finding.found or "")
