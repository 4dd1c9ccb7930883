"""What pydantic found wrong with a document, as `path: message`. Pure."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping

_UNION_BRANCHES = ("dict[", "constrained-", "function-", "list[")


def schema_error(error: Mapping[str, Any]) -> tuple[str, str]:
    """Path and message of one entry of `ValidationError.errors()`; the branches of a union are not part of the path."""
    path = ""
    for part in error["loc"]:
        if isinstance(part, int):
            path += f"[{part}]"
        elif part not in ("int", "float", "str", "bool") and not part.startswith(_UNION_BRANCHES):
            path += f".{part}" if path else part
    if error["type"] == "missing":
        return path, "missing"
    if error["type"] == "extra_forbidden":
        return path, "unknown key"
    message = str(error["msg"]).replace("Input should be", "should be")
    return path, f"{message[0].lower() + message[1:]}, is {error['input']!r}"
