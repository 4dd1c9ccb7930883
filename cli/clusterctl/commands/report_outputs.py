"""What `clusterctl report` writes."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from clusterctl.adapters.run_directory import write_atomically, write_parts_atomically
from clusterctl.model.errors import ConfigError, UsageProblemError
from clusterctl.terminal import messages
from clusterctl.terminal.out import print_lines, print_text
from clusterctl.workflows.collect_pictures import with_pictures
from clusterctl.workflows.collect_report import collect

if TYPE_CHECKING:
    from collections.abc import Mapping

    from clusterctl.adapters.store import Store
    from clusterctl.model.records import RunRow


def check_folders(files: Mapping[str, Path | None]) -> None:
    """Refuse a file whose folder does not exist, before anything is collected.

    Raises:
        ConfigError: there is none.
    """
    for option, path in files.items():
        if path and not path.absolute().parent.is_dir():
            raise ConfigError(detail=f"{path.absolute().parent} is not a directory", hint=f"choose another file for {option}")


def write_page(store: Store, row: RunRow, out: Path | None) -> None:
    """The HTML page; prints its path."""
    from clusterctl.report.page import render_page  # noqa: PLC0415 templates and tables, which no other output needs

    path = (out or Path(row.directory) / "report.html").absolute()
    if path.is_dir():
        raise UsageProblemError(detail=f"--out: {path} is a directory", hint="name a file in it")
    write_atomically(path, render_page(with_pictures(store, collect(store, row, path.parent))))
    print_text(str(path))


def write_test_runs(store: Store, row: RunRow, out: Path | None) -> None:
    """OCP Test & Validation output: to a file, to a file per node in a folder, or printed."""
    from clusterctl.report.ocptv_output import output_lines  # noqa: PLC0415
    from clusterctl.workflows.collect_test_runs import collect_test_runs  # noqa: PLC0415

    report = collect(store, row, Path(row.directory))
    test_runs = collect_test_runs(store, report)
    if out and out.is_dir():
        for one in test_runs:
            write_parts_atomically(out / f"{one.section.name}.jsonl", output_lines(report, one))
        return
    lines = (line for one in test_runs for line in output_lines(report, one))
    if out:
        write_parts_atomically(out, lines)
    else:
        print_lines(lines)


def write_bundle(store: Store, row: RunRow, bundle: Path) -> None:
    """The archive with page and evidence; prints its path."""
    from clusterctl.adapters.run_bundle import write_archive  # noqa: PLC0415
    from clusterctl.report.page import render_page  # noqa: PLC0415
    from clusterctl.terminal.findings import findings_json_parts  # noqa: PLC0415
    from clusterctl.workflows.collect_bundle import collect_bundle  # noqa: PLC0415

    report, files = collect_bundle(store, row)
    texts = {"report.html": render_page(with_pictures(store, report))}
    own = [s.findings for s in report.sections if s.findings and not s.findings_earlier]
    if own and "findings.json" not in files.names:
        texts["findings.json"] = "".join(findings_json_parts(own, row.id))
    path = bundle.absolute()
    write_archive(path, Path(row.directory), files.names, texts, row.started_at)
    for name in files.left_out:
        messages.note(f"left out: {name} holds the secret of a plan")
    print_text(str(path))
