"""Templates of pages: what nodes send is text in them, whatever it is."""

from __future__ import annotations

import re
import shlex
from functools import cache
from pathlib import Path
from urllib.parse import quote

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup, escape

from clusterctl.core import timestamps
from clusterctl.model.exit_codes import MEANINGS, ExitCode
from clusterctl.model.running_text import counted, first_of
from clusterctl.report.inert import inert_json, visible
from clusterctl.report.node_ranges import node_ranges

_LONG = re.compile(r"(\S{25,})")
_AFTER = re.compile(r"(?<=[./,=:;|\]\-])")
# So many devices of a node are named.
_TEMPLATES = Path(__file__).parent / "templates"


@cache
def environment(*folders: Path) -> Environment:
    """Templates that escape everything and make control characters visible: those in `folders`, and those of the report."""
    made = Environment(
        autoescape=True,
        loader=FileSystemLoader([*folders, _TEMPLATES]),
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        finalize=visible,
    )
    made.filters |= {
        "moment": timestamps.short,
        "path": quote,
        "command": shlex.join,
        "exit_meaning": _exit_meaning,
        "inert_json": inert_json,
        "ranges": node_ranges,
        "counted": counted,
        "commands": _commands,
        "breakable": _breakable,
        "first_of": first_of,
    }
    return made


def own_file(name: str) -> Markup:
    """A file of ours beside the templates, which goes into a page as it is."""
    return Markup((_TEMPLATES / name).read_text(encoding="utf-8"))  # noqa: S704 no text of a node is in it


def own_script(*names: str) -> Markup:
    """Scripts of ours, in this order, without indentation and comments: of each page they are a large part. No text in them goes over a line."""
    lines = (line.strip() for name in names for line in own_file(name).splitlines())
    return Markup("".join(f"{line}\n" for line in lines if line and not line.startswith("//")))  # noqa: S704 no text of a node is in it


def _breakable(text: str) -> Markup:
    """Text in which long names may break after some characters, not in a word."""
    parts = _LONG.split(visible(text))
    return Markup("").join(Markup("<wbr>").join(_AFTER.split(p)) if i % 2 else escape(p) for i, p in enumerate(parts))


def _commands(text: str) -> Markup:
    """Text with what stands between backticks as code."""
    parts = visible(text).split("`")
    marked = (Markup("<code>{}</code>").format(p) if i % 2 and i < len(parts) - 1 else _breakable(p) for i, p in enumerate(parts))
    return Markup("").join(marked)


def _exit_meaning(code: int | None) -> str:
    known = {int(c) for c in ExitCode}
    return MEANINGS[ExitCode(code)] if code in known else ""
