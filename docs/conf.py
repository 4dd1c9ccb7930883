"""The documentation as a site: Sphinx reads the Markdown pages with MyST, furo draws them. `make docs` builds it.

It loads nothing from elsewhere, its search works from a file, and a broken link, a broken anchor or a page without a place in the navigation ends the build.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from sphinx.application import Sphinx

project = "clusterctl"
html_title = "clusterctl"
extensions = ["myst_parser"]
myst_heading_anchors = 6  # links name headings of every level
nitpicky = True
html_theme = "furo"
html_static_path = ["assets"]
html_css_files = ["docs.css"]
html_copy_source = False  # the pages are in the repository
html_use_index = False  # it lists names of a programming language
# The order of the pages; the index has them by task.
NAVIGATION = {
    "Start": ("tutorial",),
    "How-to guides": (
        "how-to/first-rack",
        "how-to/bring-up-hgx-h100",
        "how-to/bring-up-hgx-b200",
        "how-to/bring-up-gb200",
        "how-to/bring-up-xe9680",
        "how-to/hardened-nodes",
        "how-to/from-own-ansible",
        "how-to/owned-elsewhere",
        "how-to/inventory-sources",
        "how-to/own-profile",
        "how-to/own-role-validator-gate-pool",
        "how-to/pools",
        "how-to/add-and-remove-nodes",
        "how-to/between-tenants",
        "how-to/quarantined-node",
        "how-to/read-the-report",
        "how-to/one-gate",
        "how-to/observed-gates",
        "how-to/hosts-with-containers",
        "how-to/power-and-bmc",
        "how-to/queue",
        "how-to/scheduler-topology",
        "how-to/upgrade-the-driver",
        "how-to/new-kernel",
        "how-to/nightly-drift",
        "how-to/serve",
        "how-to/grafana",
        "how-to/events",
        "how-to/planned-maintenance",
        "how-to/backup-and-restore",
        "how-to/upgrade-clusterctl",
        "how-to/uninstall",
        "how-to/without-internet",
        "how-to/container",
        "how-to/awx",
        "how-to/ci",
        "how-to/lab",
        "how-to/acceptance",
    ),
    "Reference": (
        "reference/cli",
        "reference/documents",
        "reference/exit-codes",
        "reference/states",
        "reference/buyers-requirements",
        "reference/configuration",
        "reference/inventory",
        "reference/profiles",
        "reference/assumptions",
        "reference/roles",
        "reference/bios",
        "reference/fabric",
        "reference/storage",
        "reference/validators",
        "reference/gates",
        "reference/dcgm-errors",
        "reference/next-actions",
        "reference/baselines",
        "reference/samples",
        "reference/ocptv",
        "reference/ansible-modules",
        "reference/modules",
        "reference/mutation",
        "reference/chaos",
        "reference/drill",
        "reference/faults",
        "reference/benchmarks",
        "hardware-notes",
    ),
    "Explanation": (
        "explanation/lifecycle",
        "explanation/architecture",
        "explanation/where-ansible-runs",
    ),
}


def add_navigation(_app: Sphinx, page: str, source: list[str]) -> None:
    """Give the index its navigation, which a viewer of plain Markdown would show as code."""
    if page == "index":
        source[0] += "".join(
            f"\n```{{toctree}}\n:hidden:\n:caption: {title}\n\n{chr(10).join(pages)}\n```\n" for title, pages in NAVIGATION.items()
        )


def setup(app: Sphinx) -> None:
    """Called by Sphinx."""
    app.connect("source-read", add_navigation)
