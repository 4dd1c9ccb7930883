"""Problems as an error, and back."""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

from clusterctl.model.errors import SpecInvalidError

if TYPE_CHECKING:
    from collections.abc import Iterable

    from clusterctl.model.problem import Problem


def spec_invalid_error(problems: Iterable[Problem]) -> SpecInvalidError:
    """The error that lists all `problems`, each once."""
    items = tuple(dict.fromkeys(problems))
    return SpecInvalidError(problems="\n".join(p.text() for p in items), items=items)


def problems_of(error: SpecInvalidError) -> tuple[Problem, ...]:
    """The problems that an error from `spec_invalid_error` lists."""
    return cast("tuple[Problem, ...]", error.values["items"])
