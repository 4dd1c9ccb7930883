"""Collects what the archive of a run gets: its report, with links to the files that are in the archive."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from clusterctl.adapters.run_bundle import bundle_files
from clusterctl.adapters.run_directory import RunDir
from clusterctl.workflows.collect_report import collect

if TYPE_CHECKING:
    from collections.abc import Iterable

    from clusterctl.adapters.run_bundle import BundleFiles
    from clusterctl.adapters.store import Store
    from clusterctl.model.records import RunRow
    from clusterctl.model.run_report import EvidenceLink, RunReport


def collect_bundle(store: Store, run: RunRow) -> tuple[RunReport, BundleFiles]:
    """The report of a run as it is in its archive, and the files of the run directory that go with it.

    Raises:
        RunDirectoryGoneError: the run directory does not exist, or the run never had one.
    """
    directory = RunDir.of(run).path
    files = bundle_files(directory)
    report = collect(store, run, directory)
    packed = frozenset(files.names)
    sections = tuple(replace(s, links=_only(s.links, packed)) for s in report.sections)
    return replace(report, sections=sections, links=_only(report.links, packed)), files


def _only(links: Iterable[EvidenceLink], packed: frozenset[str]) -> tuple[EvidenceLink, ...]:
    return tuple(link for link in links if link.text in packed)
