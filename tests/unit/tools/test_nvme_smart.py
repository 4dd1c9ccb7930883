"""The SMART log of NVMe disks: its fields, and the command that reads it from the kernel."""

from __future__ import annotations

import ctypes
import fcntl
import struct
from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from clusterctl_tools.nvme_smart import NoSmartLogError, SmartLog, UnreadableSmartLogError, parse_smart_log, read_smart_log
from support.nvme_log import smart_log

if TYPE_CHECKING:
    from pathlib import Path


def test_the_fields_of_a_log() -> None:
    found = parse_smart_log(smart_log(critical_warning=0b1001_0110, available_spare=3, available_spare_threshold=10, percentage_used=104))
    reliability = "reliability degraded by media or internal errors"
    assert found == SmartLog((reliability, "backup of volatile memory failed", "bit 7"), True, 3, 10, 104, 0)


@given(st.integers(0, 255), st.integers(0, 255), st.integers(0, 255), st.integers(0, 2**128 - 1))
def test_any_log_is_read(bits: int, spare: int, used: int, media_errors: int) -> None:
    found = parse_smart_log(smart_log(critical_warning=bits, available_spare=spare, percentage_used=used, media_errors=media_errors))
    assert len(found.warnings) + found.hot == bits.bit_count()
    assert (found.spare_percent, found.used_percent, found.media_errors) == (spare, used, media_errors)


def test_a_log_that_is_cut_off_is_not_read() -> None:
    with pytest.raises(UnreadableSmartLogError, match="511 of 512 bytes"):
        parse_smart_log(bytes(511))


def test_the_command_that_the_kernel_gets(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    log = smart_log(percentage_used=7)

    def ioctl(_device: int, request: int, command: bytearray) -> int:
        opcode, flags, _, namespace, _, _, metadata, address, _, size, page, *rest = struct.unpack("=BBHIIIQQ10I", command)
        # NVME_IOCTL_ADMIN_CMD; Get Log Page of 128 dwords (counted from 0) for the whole controller.
        assert (request, len(command), opcode, flags, namespace, metadata) == (0xC0484E41, 72, 2, 0, 0xFFFFFFFF, 0)
        assert (size, page, rest) == (512, 0x007F_0002, [0] * 7)
        ctypes.memmove(address, log, size)
        return 0

    monkeypatch.setattr(fcntl, "ioctl", ioctl)
    (tmp_path / "nvme0").touch()
    assert read_smart_log(str(tmp_path / "nvme0")) == log


@pytest.mark.parametrize(
    ("status", "error", "text"),
    [
        (0x4109, NoSmartLogError, "has no SMART log"),  # Do Not Retry, Invalid Log Page
        (0x2001, NoSmartLogError, "has no SMART log"),  # More, Invalid Command Opcode
        (0x4006, UnreadableSmartLogError, "NVMe status 0x006"),  # Internal Error
    ],
)
def test_a_controller_that_refuses(status: int, error: type[Exception], text: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fcntl, "ioctl", lambda *_: status)
    (tmp_path / "nvme0").touch()
    with pytest.raises(error, match=text):
        read_smart_log(str(tmp_path / "nvme0"))


def test_what_is_no_nvme_disk_is_not_read(tmp_path: Path) -> None:
    with pytest.raises(NoSmartLogError, match="nvme0 is absent"):
        read_smart_log(str(tmp_path / "nvme0"))
    (tmp_path / "nvme0").write_text("a file")
    with pytest.raises(UnreadableSmartLogError, match="Inappropriate ioctl for device"):
        read_smart_log(str(tmp_path / "nvme0"))
    (tmp_path / "nvme1").symlink_to("nvme1")
    with pytest.raises(UnreadableSmartLogError, match="Too many levels"):
        read_smart_log(str(tmp_path / "nvme1"))
