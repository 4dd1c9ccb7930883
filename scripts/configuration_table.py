"""Writes the keys of clusterctl.yml into docs/reference/configuration.md, and their JSON schema; `--check` fails if one is stale."""

from __future__ import annotations

import json
import sys
from pathlib import Path

from clusterctl.adapters.config_keys import KEYS, Key

ROOT = Path(__file__).resolve().parents[1]
PAGE = ROOT / "docs" / "reference" / "configuration.md"
SCHEMA = ROOT / "docs" / "reference" / "schemas" / "clusterctl.schema.json"
BEGIN, END = "<!-- keys: written by scripts/configuration_table.py -->\n", "<!-- end of keys -->\n"


def main(argv: list[str]) -> int:
    """Write page and schema, or report with `--check` whether one is stale."""
    stale = {
        file: text for file, text in ((PAGE, page()), (SCHEMA, schema())) if not file.exists() or file.read_text(encoding="utf-8") != text
    }
    for file, text in stale.items():
        if "--check" not in argv:
            file.write_text(text, encoding="utf-8")
        print(f"{'stale' if '--check' in argv else 'wrote'}: {file.relative_to(ROOT)}")
    return int("--check" in argv and bool(stale))


def page() -> str:
    """The page with the table of all keys."""
    head, _, rest = PAGE.read_text(encoding="utf-8").partition(BEGIN)
    rows = "".join(f"| `{key.name}` | {key.shown} | {_meaning(key)} |\n" for key in KEYS)
    return f"{head}{BEGIN}| key | default | meaning |\n|---|---|---|\n{rows}{END}{rest.partition(END)[2]}"


def _meaning(key: Key) -> str:
    overriding = [f"option `{key.option}`"] * bool(key.option) + [f"`{key.environment}`"] * bool(key.environment)
    return f"{key.meaning}; overridden by {', '.join(overriding)}" if overriding else key.meaning


def schema() -> str:
    """The JSON schema of the file."""
    keys = {key.name: {**key.schema, "description": key.meaning} for key in KEYS}
    document = {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "clusterctl.yml",
        "type": ["object", "null"],
        "additionalProperties": False,
        "properties": keys,
    }
    return json.dumps(document, indent=2) + "\n"


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
