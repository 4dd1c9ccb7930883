"""Writes the keys of clusterctl.yml into docs/reference/configuration.md, and their JSON schema; `--check` fails if one is stale."""

from __future__ import annotations

import json
import sys

from clusterctl.adapters.config_keys import KEYS, Key
from generated_files import ROOT, write_or_check

PAGE = ROOT / "docs" / "reference" / "configuration.md"
SCHEMA = ROOT / "docs" / "reference" / "schemas" / "clusterctl.schema.json"
BEGIN, END = "<!-- keys: written by scripts/configuration_table.py -->\n", "<!-- end of keys -->\n"


def main(argv: list[str]) -> int:
    """Write page and schema, or report with `--check` which are stale."""
    return write_or_check({PAGE: page(), SCHEMA: schema()}, argv)


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
