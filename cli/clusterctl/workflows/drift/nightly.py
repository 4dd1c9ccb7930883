"""Writes the files for a nightly drift run: systemd service and timer, Kubernetes CronJob, Prometheus alert rules."""

from __future__ import annotations

from pathlib import Path

from clusterctl.model.errors import PathError

FILES = Path(__file__).parent / "nightly_files"


def write(folder: Path) -> tuple[Path, ...]:
    """Write them into a folder, which is created if needed; existing files of these names are replaced.

    Raises:
        PathError: the folder cannot be written.
    """
    sources = sorted(p for p in FILES.iterdir() if p.is_file())
    try:
        folder.mkdir(parents=True, exist_ok=True)
        for source in sources:
            (folder / source.name).write_bytes(source.read_bytes())
    except OSError as e:
        raise PathError(path=folder, detail=e.strerror, hint="name a folder that this user may write to") from e
    return tuple(folder / s.name for s in sources)
