"""A run in one archive: what may leave the controller of its directory, and texts that are made for it."""

from __future__ import annotations

import io
import re
import tarfile
from dataclasses import dataclass
from datetime import datetime
from gzip import GzipFile
from typing import TYPE_CHECKING

from clusterctl.adapters.run_directory import RunDir, new_file

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

# Only these: plans of agents hold the secret of their run, and requests and variables paths of the controller.
_EVIDENCE = re.compile(
    r"(findings|result|plan|drift)\.json|drift\.(xml|prom)|provision\.log|(verdicts|admission)/[^/]+\.json(\.sig)?|(gates|phases)/.+\.json"
    r"|(burnin/[^/]+/)?ansible/([^/]+/)?(events\.jsonl|ansible[^/]*\.log)"
)
_PLAN = re.compile(r"burnin/[^/]+/plans/.+")
# As `workflows.burnin.agent_plan` writes it; found in a plan that was cut off, too.
_TOKEN = re.compile(rb'"token": "([0-9a-f]+)"')
_MODE = 0o644


@dataclass(frozen=True, slots=True)
class BundleFiles:
    """The files of a run directory that its archive gets, as sorted relative paths; `left_out` hold the secret of a plan."""

    names: tuple[str, ...]
    left_out: tuple[str, ...]


def bundle_files(directory: Path) -> BundleFiles:
    """What of a run directory is evidence.

    Raises:
        RunDirectoryGoneError: it does not exist.
    """
    rundir = RunDir.open(directory)
    files = rundir.files()
    plans = b"".join(rundir.read_bytes(name) for name in files if _PLAN.fullmatch(name))
    secrets = set(_TOKEN.findall(plans))
    names = [name for name in files if _EVIDENCE.fullmatch(name)]
    left_out = tuple(n for n in names if secrets and any(secret in rundir.read_bytes(n) for secret in secrets))
    return BundleFiles(tuple(n for n in names if n not in left_out), left_out)


def write_archive(path: Path, directory: Path, names: Sequence[str], texts: Mapping[str, str], at: str) -> None:
    """A compressed tar of files of `directory` and of `texts`, all below a folder with the run's id, by name, with `at` as their time.

    Raises:
        StoreError: it cannot be written, or a file cannot be read; an older archive stays.
    """
    rundir = RunDir.open(directory)
    moment = int(datetime.fromisoformat(at).timestamp())
    with (
        new_file(path) as file,
        GzipFile(filename="", fileobj=file, mode="wb", mtime=moment) as packed,
        tarfile.open(fileobj=packed, mode="w", format=tarfile.PAX_FORMAT) as archive,
    ):
        for name in sorted({*names, *texts}):
            content = texts[name].encode("utf-8", "backslashreplace") if name in texts else rundir.read_bytes(name)
            member = tarfile.TarInfo(f"{rundir.id}/{name}")
            member.size, member.mtime, member.mode = len(content), moment, _MODE
            archive.addfile(member, io.BytesIO(content))
