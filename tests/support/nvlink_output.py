"""What `nvidia-smi nvlink -e` prints of a board, by the generation of its links."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping

# As stas00/ml-engineering shows H100, and as one site's driver 595.91.07 names the counters of B300.
_COUNTERS = {
    4: ("Replay Errors", "Recovery Errors", "CRC Errors"),
    5: (
        *(
            "Tx packets",
            "Malformed packet Errors",
            "Rx Errors",
            "Tx discards",
            "Link recovery successful events",
            "Link recovery failed events",
        ),
        *("Total link recovery events", "Symbol Errors", "FEC Errors - 1"),
    ),
}


def nvlink_counters(
    generation: int = 4, changed: Mapping[str, Mapping[str, int]] | None = None, without: Mapping[str, str] | None = None
) -> str:
    """Output of `nvidia-smi nvlink -e` for a whole board; `changed`: "gpu.link" -> counters that are not 0, `without`: "gpu.link" -> one that is not printed."""
    lines = []
    for gpu in range(8):
        lines.append(f"GPU {gpu}: NVIDIA H100 80GB HBM3 (UUID: GPU-00000000-0000-0000-0000-000000000000)")
        for at, link in ((f"{gpu}.{link}", link) for link in range(18)):
            own = {**dict.fromkeys(_COUNTERS[generation], 0), **(changed or {}).get(at, {})}
            lines += [f"\t Link {link}: {name}: {value}" for name, value in own.items() if name != (without or {}).get(at)]
            lines.append("")
    return "\n".join(lines)
