"""Text of nodes and inventories, made safe for a terminal: it must not move the cursor, set a title or pass for another line."""

from __future__ import annotations


def printable(text: str) -> str:
    """One line: control characters and surrogates, line breaks too, are written as Python escapes."""
    return text if text.isprintable() else "".join(c if c.isprintable() else repr(c)[1:-1] for c in text)


def printable_lines(text: str) -> str:
    """Several lines, each safe for a terminal."""
    return "\n".join(printable(line) for line in text.rstrip().splitlines())
