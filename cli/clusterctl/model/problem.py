"""One problem in the declared state, with its file and line."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from math import inf
from pathlib import Path
from typing import TYPE_CHECKING, Any

from clusterctl.model.running_text import first_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping


@dataclass(frozen=True, slots=True)
class Problem:
    """A problem.

    Attributes:
        path: the variable and the way into it: `hugepages_pages.1G.node0`, `roce_pfc_priorities[1]`.
        file: where the value is set; empty where nothing sets it (a missing required option).
        line: in `file`, from 1; 0 = unknown.
        nodes: the nodes it concerns; empty = all nodes of the target.
    """

    path: str
    message: str
    file: str = ""
    line: int = 0
    nodes: tuple[str, ...] = field(default=())

    def text(self, here: Path | None = None) -> str:
        """One line in the form of a compiler message; files below `here` are shown relative to it."""
        file = shown_path(self.file, here)
        place = f"{file}:{self.line}: " if file and self.line else f"{file}: " if file else ""
        path = f"{self.path}: " if self.path else ""
        return f"{place}{path}{self.message}{_who(self.nodes)}"

    def to_dict(self) -> dict[str, Any]:
        """The wire and JSON form."""
        return {**asdict(self), "nodes": list(self.nodes)}

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Problem:
        """The inverse of `to_dict`."""
        return cls(path=data["path"], message=data["message"], file=data["file"], line=data["line"], nodes=tuple(data["nodes"]))


def merge(problems: Iterable[Problem], everybody: float = inf) -> tuple[Problem, ...]:
    """Fold problems that differ only in their nodes; one that concerns all `everybody` nodes names none. Sorted by place."""
    nodes: dict[Problem, list[str]] = {}
    for p in problems:
        nodes.setdefault(Problem(p.path, p.message, p.file, p.line), []).extend(p.nodes)
    folded = []
    for p, names in nodes.items():
        unique = tuple(dict.fromkeys(names))
        folded.append(Problem(p.path, p.message, p.file, p.line, () if len(unique) >= everybody else unique))
    return tuple(sorted(folded, key=lambda p: (p.file, p.line, p.path, p.message)))


def shown_path(file: str, here: Path | None = None) -> str:
    """`file` relative to `here` (default: the working directory) where it is below it."""
    base = here or Path.cwd()
    if file and Path(file).is_relative_to(base):
        return str(Path(file).relative_to(base))
    return file


def _who(nodes: tuple[str, ...]) -> str:
    return f" ({first_of(nodes, 1)})" if nodes else ""
