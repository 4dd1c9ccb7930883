"""YAML that a person wrote: errors name the line, and a key that stands twice is one."""

from __future__ import annotations

from math import inf
from typing import TYPE_CHECKING, Any

import yaml

from clusterctl.adapters.given_file import encoding_problem, read_given
from clusterctl.model.errors import ConfigError

if TYPE_CHECKING:
    from pathlib import Path

_MERGE = "<<"


class _Loader(yaml.SafeLoader):
    """Of a key that stands twice, YAML's own loader takes the last without a word."""

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Any, Any]:
        seen: dict[str, int] = {}
        for key in (k for k, _ in node.value if isinstance(k, yaml.ScalarNode) and k.value != _MERGE):
            if key.value in seen:
                raise yaml.constructor.ConstructorError(
                    None, None, f"{key.value!r} stands in line {seen[key.value]} already", key.start_mark
                )
            seen[key.value] = key.start_mark.line + 1
        return super().construct_mapping(node, deep)


def given_yaml(file: Path, *, most_brackets: float = inf) -> object:
    """The content of a file.

    Raises:
        OSError: as `read_given`.
        ConfigError: it is not YAML in UTF-8, a key stands twice, or it has more than `most_brackets`: nested, they take the reader a second and more.
    """
    content = read_given(file)
    if foreign := encoding_problem(content):
        raise ConfigError(detail=f"{file}:{foreign}", hint="save the file in UTF-8")
    text = content.decode("utf-8")
    try:
        if text.count("[") + text.count("{") > most_brackets:
            raise ConfigError(detail=f"{file}: has more than {most_brackets} brackets", hint="`clusterctl init DIR` writes an example")
        return yaml.load(text, Loader=_Loader)  # noqa: S506 a safe one
    except yaml.MarkedYAMLError as e:
        raise ConfigError(
            detail=f"{file}{_line(e)}: {_problem_text(e)}", hint="correct the YAML; it is indented with spaces, never with tabs"
        ) from e
    except (yaml.YAMLError, ValueError, RecursionError) as e:  # ValueError: no date, thousands of digits
        raise ConfigError(detail=f"{file}: {' '.join(str(e).split())}", hint="correct the YAML") from e


def _line(error: yaml.MarkedYAMLError) -> str:
    mark = error.problem_mark or error.context_mark
    return f":{mark.line + 1}" if mark else ""


def _problem_text(error: yaml.MarkedYAMLError) -> str:
    return ": ".join(part for part in (error.context, error.problem) if part)
