"""The files of a nightly drift run: systemd service and timer, Kubernetes CronJob, Prometheus alert rules. Used as they are or as a start."""

from __future__ import annotations

from pathlib import Path

FILES = Path(__file__).parent / "nightly_files"


def write(folder: Path) -> tuple[Path, ...]:
    """Write them into a folder, which is made if need be; files of these names are replaced."""
    folder.mkdir(parents=True, exist_ok=True)
    written = []
    for source in sorted(p for p in FILES.iterdir() if p.is_file()):
        (folder / source.name).write_bytes(source.read_bytes())
        written.append(folder / source.name)
    return tuple(written)
