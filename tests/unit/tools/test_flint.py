from __future__ import annotations

import pytest

from clusterctl_tools import flint
from support.recorded import recorded


def test_firmware_of_a_recorded_bluefield() -> None:
    said = flint.parse_firmware(recorded("flint/infra-controller-flint_query.txt").read_text())
    assert said == flint.Firmware("24.35.2000", "24.35.2000", "MT_0000000768")


def test_firmware_that_waits_for_a_reset() -> None:
    text = "Image type:            FS4\nFW Version:            20.35.1012\nFW Version(Running):   20.34.1002\nPSID:                  MT_0000000228\n"
    assert flint.parse_firmware(text) == flint.Firmware("20.35.1012", "20.34.1002", "MT_0000000228")


@pytest.mark.parametrize("text", ["", "FW Version: 28.39.3560\n", "PSID: MT_0000000838\n", "-E- Cannot open Device: mlx5_0\n"])
def test_a_truncated_firmware_query_is_refused(text: str) -> None:
    with pytest.raises(flint.UnreadableFirmwareError):
        flint.parse_firmware(text)
