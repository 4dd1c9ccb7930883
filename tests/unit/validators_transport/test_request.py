from __future__ import annotations

import pytest

from clusterctl.core.waivers import may_match


@pytest.mark.parametrize(
    ("glob", "role", "expected"),
    [
        ("", "kernel", True),
        ("*", "kernel", True),
        ("kernel.*", "kernel", True),
        ("kernel.*", "kernel_x", False),
        ("ker*", "kernel", True),
        ("ker*", "nccl", False),
        ("kernel*", "kernel", True),
        ("kernel_modules*", "kernel", False),
        ("*.running", "nccl", True),
        ("nccl.library", "nccl", True),
        ("nccl.library", "nc", False),
        ("nccl", "nccl", True),
        ("kernel.*", "kern", False),
        ("n?cl.library", "nccl", True),
    ],
)
def test_may_match(glob: str, role: str, expected: bool) -> None:
    assert may_match(glob, role) is expected
