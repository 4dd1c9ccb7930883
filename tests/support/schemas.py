"""The published JSON schemas of documents."""

from __future__ import annotations

import json
from typing import Any

from jsonschema import Draft202012Validator

from support.roles import ROOT

FOLDER = ROOT / "docs" / "reference" / "schemas"
_FILES = {"samples": "parse", "burnin": "judge"}


def schema(kind: str) -> dict[str, Any]:
    """The schema of a kind of document."""
    found: dict[str, Any] = json.loads((FOLDER / f"{_FILES.get(kind, kind)}.schema.json").read_text())
    return found


def checked_document(text: str) -> dict[str, Any]:
    """The document that a verb printed.

    Raises:
        ValidationError: it does not follow the schema of its kind.
    """
    found: dict[str, Any] = json.loads(text)
    Draft202012Validator(schema(found["kind"])).validate(found)
    return found
