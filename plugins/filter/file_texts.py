"""The files that one command has read, as a pure function."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable

_HEADER = re.compile(r"^==> (/.*) <==$\n?", re.MULTILINE)


def file_texts(output: str) -> dict[str, str]:
    """The texts by path of the files that `tail -v -n +1` has read; those that it could not read are absent.

    Args:
        output: of the command. Each file has a header with its path; none of them may have such a line itself.
    """
    _, *parts = _HEADER.split(output)
    return dict(zip(parts[::2], parts[1::2], strict=True))


class FilterModule:
    """The filter of this file."""

    def filters(self) -> dict[str, Callable[..., Any]]:
        """Filter name -> function."""
        return {"file_texts": file_texts}
