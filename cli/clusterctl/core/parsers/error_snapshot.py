"""What `error_snapshot.py` prints on a node: boot, kernel log lines and error counters at one time."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from clusterctl.core.gpu_vendors import vendor_of_commands
from clusterctl.core.parsers.unparsable import UnparsableError
from clusterctl.model.gate_result import Sample
from clusterctl_tools.gpu import UnreadableGpuError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from clusterctl_validators.gpu import GpuVendor

_TOOL = "error_snapshot"
# `[  123.456789] text`, as dmesg and journalctl -o short-monotonic print it.
_LOG_TIME = re.compile(r"\[\s*(\d{1,12}\.\d{1,9})\]")
Counter = Annotated[int, Field(ge=0, lt=1 << 64)]


class _Model(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)


class CommandOutput(_Model):
    """A command that ran on the node; `error`: why it did not run to its end."""

    error: str
    exit_status: int | None
    stdout: str
    stderr: str


class KernelLog(_Model):
    """The chosen lines of this boot's kernel log.

    Attributes:
        error: why it could not be read.
        complete_since_s: seconds after boot from which on no line is missing; records made before this was recorded have none.
    """

    error: str
    lines: tuple[str, ...]
    complete_since_s: Annotated[float, Field(ge=0, lt=1e10)] = 0.0


class ErrorSnapshot(_Model):
    """The errors that a node had counted and logged at one time.

    Attributes:
        boot_id: the kernel's; another one means a reboot.
        commands: command -> its output.
        counters: device (`mlx5_0/1`, a PCI address, `mc0`) -> counter -> value, from sysfs.
        rates_gbps: port (`mlx5_0/1`) -> data rate of its link, at this time.
    """

    schema_version: Literal[1]
    boot_id: Annotated[str, Field(min_length=1, max_length=64)]  # a UUID has 36; the record keeps 64
    uptime_s: Annotated[float, Field(ge=0, lt=1e10)]
    log: KernelLog
    commands: dict[str, CommandOutput]
    counters: dict[str, dict[str, Counter]]
    rates_gbps: dict[str, Annotated[float, Field(ge=0, lt=1e6)]] = {}

    def problems(self) -> tuple[str, ...]:
        """Why something that belongs to it was not read."""
        failed = [f"{c}: {_why(o)}" for c, o in self.commands.items() if o.error or o.exit_status]
        return (*([f"kernel log: {self.log.error}"] if self.log.error else []), *failed)

    def all_counters(self, vendor: GpuVendor | None) -> dict[str, Mapping[str, float]]:
        """Device -> counter -> value, from sysfs and from the commands of the vendor of the GPUs.

        Raises:
            UnreadableGpuError: the output of a command is not what it should be.
        """
        return {**self.counters, **(vendor.error_counters({c: o.stdout for c, o in self.commands.items()}) if vendor else {})}

    def log_since(self, uptime_s: float) -> tuple[str, ...]:
        """The lines after a time since boot; a line without a readable time counts."""
        return tuple(line for line in self.log.lines if (at := _LOG_TIME.search(line)) is None or float(at.group(1)) > uptime_s)


def read_error_snapshot(text: str) -> ErrorSnapshot:
    """The snapshot in the script's output.

    Raises:
        UnparsableError: it is empty, cut off, or something else.
    """
    try:
        return ErrorSnapshot.model_validate_json(text)
    except (ValidationError, ValueError) as e:
        first = e.errors()[0]["msg"] if isinstance(e, ValidationError) else str(e)
        raise UnparsableError(tool=_TOOL, reason=first[:200]) from e


def parse(text: str) -> tuple[Sample, ...]:
    """Every counter as a sample.

    Raises:
        UnparsableError: the text is not a snapshot, or the output of one of its commands cannot be read.
    """
    try:
        snapshot = read_error_snapshot(text)
        counters = snapshot.all_counters(vendor_of_commands(snapshot.commands))
    except UnreadableGpuError as e:
        raise UnparsableError(tool=_TOOL, reason=str(e)[:200]) from e
    return tuple(Sample(name, float(value), "count", device=device) for device, own in counters.items() for name, value in own.items())


def _why(output: CommandOutput) -> str:
    lines = (output.stderr.strip() or output.stdout.strip()).splitlines()
    return output.error or f"exit status {output.exit_status}{f': {lines[0][:160]}' if lines else ''}"
