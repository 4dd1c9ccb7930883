"""Reduces NCCL's logs of the ranks of this node to the lines that show how each communicates; prints them as JSON.

    rank_log.py PATTERN

The lines stay in NCCL's own format. Of each rank: one line for each way of a channel, warnings, and the lines about its initialisation,
its network and its NVLink domain; at most LINES of LINE_LIMIT characters. Standard library, Python 3.8+.
"""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path
from typing import Any

LINES, LINE_LIMIT, FILES = 40, 300, 64
VIA = re.compile(r" via (\S+)")
NUMBERS = re.compile(r"\d+(?:\(\d+\))?")
# A pattern, and how many lines of it are kept.
KINDS = (
    (re.compile(r"NCCL WARN"), 10),
    (re.compile(r"nranks \d+ .*Init COMPLETE"), 2),
    (re.compile(r"NCCL version "), 1),
    (re.compile(r"Using network "), 1),
    (re.compile(r"NCCL INFO NET/"), 6),
    (re.compile(r"\bMNNVL \d"), 2),
    (re.compile(r"\d nvls channels"), 1),
    (re.compile(r"NCCL INFO NVLS comm "), 1),
)


def reduced(file: Path) -> list[str]:
    """The lines of one rank that are kept."""
    kept: list[str] = []
    ways: set[str] = set()
    counts = dict.fromkeys(range(len(KINDS)), 0)
    with file.open(encoding="utf-8", errors="replace") as lines:
        for line in lines:
            text = line.strip()[:LINE_LIMIT]
            via = VIA.search(text)
            if via and "NCCL WARN" not in text:
                way = NUMBERS.sub("#", via.group(1))
                if way not in ways:
                    ways.add(way)
                    kept.append(text)
                continue
            for index, (pattern, most) in enumerate(KINDS):
                if pattern.search(text):
                    counts[index] += 1
                    if counts[index] <= most:
                        kept.append(text)
                    break
    return kept[:LINES]


def main(pattern: str) -> int:
    """Print what the files of a pattern in this folder show."""
    files = sorted(Path().glob(pattern))
    document: dict[str, Any] = {"schema_version": 1, "files": [{"name": f.name, "lines": reduced(f)} for f in files[:FILES]]}
    sys.stdout.write(json.dumps(document) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
