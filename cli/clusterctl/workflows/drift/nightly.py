"""Writes the files for a nightly drift run: systemd service and timer, Kubernetes CronJob, Prometheus alert rules."""

from __future__ import annotations

from pathlib import Path

FILES = Path(__file__).parent / "nightly_files"


def write(folder: Path) -> tuple[Path, ...]:
    """Write them into a folder, which is created if needed; existing files of these names are replaced."""
    folder.mkdir(parents=True, exist_ok=True)
    written = []
    for source in sorted(p for p in FILES.iterdir() if p.is_file()):
        (folder / source.name).write_bytes(source.read_bytes())
        written.append(folder / source.name)
    return tuple(written)
