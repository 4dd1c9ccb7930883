"""What a short command printed once while another command ran."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class TraceSample:
    """One sample.

    Attributes:
        at_s: seconds since the first sample was due; took_s: until the command had ended.
        exit_status: None where it could not be started, or did not end within 30 s.
        stdout: both streams, at most 4,096 characters.
        device: the only one that the command was about; empty for one about all.
    """

    at_s: float
    took_s: float
    exit_status: int | None
    stdout: str
    device: str = ""
