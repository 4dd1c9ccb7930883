"""nvidia-smi --query-gpu=... --format=csv: the numbers of every GPU."""

from __future__ import annotations

import csv
import io

from clusterctl.core.parsers.numbers import number
from clusterctl.core.parsers.unparsable import UnparsableError
from clusterctl.model.gate_result import Sample

_TOOL = "nvidia_smi_query"


def parse(text: str) -> tuple[Sample, ...]:
    """One sample per GPU and numeric column, named as the column; what is N/A or text is left out.

    Raises:
        UnparsableError: no header with commas, a row of another length, or no number.
    """
    try:
        rows = [[cell.strip() for cell in row] for row in csv.reader(io.StringIO(text)) if row]
    except csv.Error as e:
        raise UnparsableError(tool=_TOOL, reason=str(e)) from e
    if len(rows) < 2 or len(rows[0]) < 2 or not _name_and_unit(rows[0][0])[0].replace(".", "_").isidentifier():  # noqa: PLR2004 header and a row
        raise UnparsableError(tool=_TOOL, reason="no header line and rows; was --format=csv,noheader used?")
    header = rows[0]
    samples = []
    for index, row in enumerate(rows[1:]):
        if len(row) != len(header):
            raise UnparsableError(tool=_TOOL, reason=f"row {index + 1} has {len(row)} fields, the header {len(header)}")
        named = dict(zip(header, row, strict=True))
        device = f"gpu{named.get('index', index)}"
        for column, cell in named.items():
            name, unit = _name_and_unit(column)
            value = number(cell.split()[0]) if cell else None
            if value is not None and column not in ("index", "timestamp"):
                samples.append(Sample(name, value, unit or "".join(cell.split()[1:]), device=device))
    if not samples:
        raise UnparsableError(tool=_TOOL, reason="no number in it")
    return tuple(samples)


def _name_and_unit(column: str) -> tuple[str, str]:
    """`memory.total [MiB]` -> its two parts; the unit is empty where there is none."""
    name, _, unit = column.removesuffix("]").partition("[") if column.endswith("]") else (column, "", "")
    return name.rstrip(), unit
