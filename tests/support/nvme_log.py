"""SMART logs of NVMe disks as controllers write them, from the fields that smartctl shows of them."""

from __future__ import annotations

_KELVIN = 273


def smart_log(
    *,
    critical_warning: int = 0,
    temperature: int = 40,
    available_spare: int = 100,
    available_spare_threshold: int = 10,
    percentage_used: int = 0,
    media_errors: int = 0,
) -> bytes:
    """512 bytes; names and units are those of `nvme_smart_health_information_log` in smartctl's JSON."""
    log = bytearray(512)
    log[0] = critical_warning
    log[1:3] = (temperature + _KELVIN).to_bytes(2, "little")
    log[3:6] = bytes((available_spare, available_spare_threshold, percentage_used))
    log[160:176] = media_errors.to_bytes(16, "little")
    return bytes(log)
