from __future__ import annotations

import pytest

from support.filters import filter_plugin

plugin = filter_plugin("ofed_dkms")
KERNEL = "6.8.0-1046-nvidia"
OFED = "mlnx-ofed-kernel/25.10.OFED.25.10.1.7.1.1"
STATUS = [f"{OFED}, {KERNEL}, x86_64: installed", f"nvidia/580.126.20, {KERNEL}, x86_64: installed"]
NAMES = ["mlnx-ofed-kernel", "nvidia"]


@pytest.mark.parametrize(
    ("status", "sources", "unfit", "wanted"),
    [
        (STATUS, [], [], []),
        (STATUS, [], ["nvidia"], ["nvidia/580.126.20"]),
        ([f"{OFED}: added", STATUS[1]], [], [], [OFED]),
        ([STATUS[0].replace("installed", "built"), STATUS[1]], [], [], [OFED]),
        ([STATUS[0], STATUS[1].replace("1046", "1040")], [], [], ["nvidia/580.126.20"]),
        ([STATUS[0], f"nvidia, 580.126.20, {KERNEL}, x86_64: installed"], [], [], []),
        ([f"{row} (WARNING! Diff between built and installed module!)" for row in STATUS], [], [], []),
        ([STATUS[0]], ["/usr/src/nvidia-fs-2.26.6/dkms.conf", "/usr/src/nvidia-580.126.20/dkms.conf"], [], ["nvidia/580.126.20"]),
        ([STATUS[0], "nvidia/580.65.06: added", "nvidia/580.126.20: added"], [], [], ["nvidia/580.126.20"]),
        ([STATUS[0], "nvidia/570.9.1: added", STATUS[1]], [], ["nvidia"], ["nvidia/580.126.20"]),
        ([], [], NAMES, []),
    ],
)
def test_only_missing_or_mismatched_modules_are_built(status: list[str], sources: list[str], unfit: list[str], wanted: list[str]) -> None:
    assert plugin.again(status, sources, KERNEL, NAMES, unfit) == wanted


def test_modules_of_another_kernel_and_absent_ones_do_not_match() -> None:
    def answer(module: str, dkms: str, stdout: str, rc: int = 0) -> dict[str, object]:
        return {"item": {"module": module, **({"dkms": dkms} if dkms else {})}, "stdout": stdout, "rc": rc}

    answers = [
        answer("mlx5_core", "mlnx-ofed-kernel", f"{KERNEL} SMP"),
        answer("nvidia", "nvidia", "6.8.0-1-generic SMP"),
        answer("nvidia_peermem", "nvidia", "", 1),
        answer("knem", "", "", 1),
    ]
    assert plugin.unfit(answers, KERNEL) == ["nvidia"]
    assert plugin.unfit(answers[:1], KERNEL) == []
