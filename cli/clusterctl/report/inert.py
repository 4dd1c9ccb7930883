"""Text of nodes inside a page: it is shown, and is neither markup nor the end of a script, and controls no terminal."""

from __future__ import annotations

import json
from typing import Any

from markupsafe import Markup

from clusterctl.terminal.safe_text import printable

# In a script element, HTML reads `</script` and `<!--` before JSON is read at all; `&` matters where a page is served as XML.
_ESCAPES = {ord("<"): "\\u003c", ord(">"): "\\u003e", ord("&"): "\\u0026", 0x2028: "\\u2028", 0x2029: "\\u2029"}


def visible(value: Any) -> Any:
    """Text with control characters, halves of character pairs and changes of direction written as escapes; anything else, markup too, as it is."""
    if not isinstance(value, str) or isinstance(value, Markup):
        return value
    return "\n".join(map(printable, value.splitlines()))


def inert_json(value: Any) -> Markup:
    """JSON for the inside of a script element."""
    text = json.dumps(value, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
    return Markup(text.translate(_ESCAPES))  # noqa: S704 nothing in it can be read as markup any more
