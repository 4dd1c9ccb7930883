"""The page of a drift run: one HTML file that needs nothing else. Everything in it is escaped."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from jinja2 import Environment, FileSystemLoader, StrictUndefined

from clusterctl.core import timestamps

if TYPE_CHECKING:
    from collections.abc import Mapping

_TEMPLATES = Path(__file__).parent / "templates"


def render_drift_page(body: Mapping[str, Any], made_at: str) -> str:
    """The HTML of a drift document."""
    environment = Environment(
        autoescape=True, loader=FileSystemLoader(_TEMPLATES), undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True
    )
    environment.filters["moment"] = timestamps.short
    style = (_TEMPLATES / "style.css").read_text(encoding="utf-8")
    return environment.get_template("drift.html.j2").render(drift=body, made_at=made_at, style=style)
