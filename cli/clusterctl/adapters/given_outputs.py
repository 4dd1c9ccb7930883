"""Outputs of tools that a person hands in: `DIRECTORY/NODE/GATE.EXTENSION`, one file for each gate of a node."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from clusterctl.adapters.given_file import read_given
from clusterctl.model.errors import ConfigError

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

_HINT = "one folder for each node, in it one file for each gate: {directory}/r12-n01/dcgm_diag.json"


@dataclass(frozen=True, slots=True)
class GivenOutput:
    """What a tool printed on a node, by somebody else's hand.

    Attributes:
        gate: the first part of the file's name.
        written_at: when the file was last changed, in UTC.
    """

    node: str
    gate: str
    text: str
    written_at: str


def read_outputs(directory: Path) -> tuple[GivenOutput, ...]:
    """The outputs below `directory`, by node and gate. Bytes that are not UTF-8 are replaced, as in what nodes send.

    Raises:
        ConfigError: it is not such a directory, a file cannot be read, or a node has two files of one gate.
    """
    hint = _HINT.format(directory=directory)
    try:
        outputs = tuple(_outputs(directory))
    except OSError as e:
        raise ConfigError(detail=f"{e.filename or directory}: {e.strerror or e}", hint=hint) from e
    if not outputs:
        raise ConfigError(detail=f"{directory}: no output in it", hint=hint)
    seen: set[tuple[str, str]] = set()
    for output in outputs:
        if (output.node, output.gate) in seen:
            raise ConfigError(detail=f"{directory / output.node}: two files of gate {output.gate}", hint=hint)
        seen.add((output.node, output.gate))
    return outputs


def _outputs(directory: Path) -> Iterator[GivenOutput]:
    for node in _visible(directory):
        for file in _visible(node):
            written_at = datetime.fromtimestamp(file.stat().st_mtime, UTC).isoformat(timespec="seconds")
            yield GivenOutput(node.name, file.name.partition(".")[0], read_given(file).decode("utf-8", "replace"), written_at)


def _visible(folder: Path) -> list[Path]:
    return sorted(path for path in folder.iterdir() if not path.name.startswith("."))
