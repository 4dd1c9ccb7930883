"""`python -m recorded_outputs`: reads every recording in ../shared with the reader of its tool and writes build/recorded.json.

Exits 1 if a reader raised anything but its own error, found nothing where its entry gives no reason for that, or a file is missing; 3 if there are no
recordings here.
"""

from __future__ import annotations

import importlib
import json
import re
import sys
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Any

from clusterctl.core.parsers import TOOLS, UnparsableError, parse_output
from support.plain_yaml import load_yaml
from support.roles import ROOT

if TYPE_CHECKING:
    from collections.abc import Iterator

SHARED = ROOT.parent / "shared"
MANIFESTS = ("recorded/manifest.jsonl", "reality/outputs/manifest.jsonl")
_READERS = load_yaml(Path(__file__).with_name("readers.yml").read_text(encoding="utf-8"))


def recordings() -> Iterator[tuple[Path, str]]:
    """(file, tool) of every recording in the manifests."""
    for manifest in MANIFESTS:
        path = SHARED / manifest
        if path.is_file():
            for line in path.read_text(encoding="utf-8").splitlines():
                entry = json.loads(line)
                yield path.parent / entry["file"], entry["tool"]


def outcome_of(file: Path, tool: str) -> dict[str, Any]:
    """What the reader of a recording says: `read` with a number of values, `empty` with the reason why there may be none, `refused` with its reason,
    `no_reader`, `nothing_found`, `missing` or `crashed`."""
    name = str(file.relative_to(SHARED)).partition("/")[2].removeprefix("outputs/")
    entry = next(e for e in _READERS if re.search(e["match"], f"{name} {tool}"))
    found: dict[str, Any] = {"file": name, "tool": tool, "reader": entry.get("reader", "")}
    if not file.exists():
        return found | {"outcome": "missing"}
    if "reader" not in entry:
        return found | {"outcome": "no_reader", "why": entry["why"]}
    text = file.read_text(encoding="utf-8", errors="replace")
    try:
        values = _values(entry["reader"], text)
    except UnparsableError as e:
        return found | {"outcome": "refused", "why": str(e)[:300]}
    except Exception as e:  # noqa: BLE001 a crash of a reader is what is looked for
        outcome = "refused" if type(e).__name__.startswith("Unreadable") else "crashed"
        return found | {"outcome": outcome, "why": f"{type(e).__name__}: {e}"[:300]}
    if values:
        return found | {"outcome": "read", "values": values}
    return found | ({"outcome": "empty", "why": entry["empty"]} if "empty" in entry else {"outcome": "nothing_found"})


def _values(reader: str, text: str) -> int:
    if reader in TOOLS:
        return len(parse_output(reader, text))
    module, _, function = reader.partition(":")
    answer = getattr(importlib.import_module(module), function)(text)
    return len(answer) if isinstance(answer, dict | list | tuple) else 1


def main() -> int:
    """Read all. Returns the exit status."""
    outcomes = [outcome_of(file, tool) for file, tool in recordings()]
    if not outcomes:
        print("no recordings: ../shared/recorded is not here", file=sys.stderr)
        return 3
    counts = Counter(o["outcome"] for o in outcomes)
    out = ROOT / "build" / "recorded.json"
    out.parent.mkdir(exist_ok=True)
    out.write_text(
        json.dumps({"files": len(outcomes), "outcomes": dict(counts), "recordings": outcomes}, indent=1) + "\n", encoding="utf-8"
    )
    print(f"{len(outcomes)} recordings: {', '.join(f'{n} {name}' for name, n in sorted(counts.items()))}; {out}")
    return 1 if counts["crashed"] or counts["nothing_found"] or counts["missing"] else 0


if __name__ == "__main__":
    sys.exit(main())
