"""The page of a drift run: one HTML file that needs nothing else. Everything in it is escaped."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from clusterctl.report.templating import environment, own_file

if TYPE_CHECKING:
    from collections.abc import Mapping


def render_drift_page(body: Mapping[str, Any], made_at: str) -> str:
    """The HTML of a drift document."""
    return environment().get_template("drift.html.j2").render(drift=body, made_at=made_at, style=own_file("style.css"))
