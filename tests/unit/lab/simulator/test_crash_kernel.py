from __future__ import annotations

import pytest

from clusterctl_lab.simulator.crash_kernel import LOADED, SIZE, files, reserved_bytes

GIB = 1 << 30
MIB = 1 << 20
RANGES = "2G-4G:320M,4G-32G:512M,32G-64G:1024M,64G-128G:2048M,128G-:4096M"


@pytest.mark.parametrize(
    ("value", "memory_bytes", "expected"),
    [
        ("", 2048 * GIB, 0),
        ("512M", 2048 * GIB, 512 * MIB),
        ("1G,high", 2048 * GIB, GIB),
        ("256M@16M", 2048 * GIB, 256 * MIB),
        (RANGES, 2048 * GIB, 4096 * MIB),
        (RANGES, 4 * GIB, 512 * MIB),
        (RANGES, GIB, 0),
        ("nonsense", GIB, 0),
    ],
)
def test_the_kernel_reserves_what_the_word_says(value: str, memory_bytes: int, expected: int) -> None:
    assert reserved_bytes(value, memory_bytes) == expected


def test_the_last_word_counts_and_nothing_is_loaded_at_boot() -> None:
    assert files("ro crashkernel=128M crashkernel=256M", 4 * MIB) == {SIZE: 256 * MIB, LOADED: 0}
