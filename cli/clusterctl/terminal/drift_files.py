"""The renderings of a drift run that are kept as files: JUnit for CI, HTML for people."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from clusterctl.report import drift_page
from clusterctl.terminal import drift

if TYPE_CHECKING:
    from collections.abc import Mapping

    from clusterctl.model.drift import DriftReport


def render_files(report: DriftReport, body: Mapping[str, Any], made_at: str) -> dict[str, str]:
    """File name -> text."""
    return {"drift.xml": drift.junit(report), "drift.html": drift_page.render_drift_page(body, made_at)}
