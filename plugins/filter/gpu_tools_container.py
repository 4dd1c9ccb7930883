"""Measuring tools that run from a container image, as pure functions."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

_PINNED = re.compile(r"[^\s@]+@sha256:[0-9a-f]{64}")
_PROGRAM = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]*")
_LAUNCHERS = ("mpirun", "orted")
# Podman resolves CDI device names from this release on.
_PODMAN_WITH_CDI = (4, 1)
# What no container can serve, and why.
_ON_THE_NODE = {
    "dcgmi": "the host engine of the node runs the diagnosis with its own plug-ins; install DCGM as a package",
    "nvidia-smi": "it belongs to the driver of the node",
    "python3": "the burn-in agents run with the node's",
}


def container_errors(container: Mapping[str, Any], packages: Sequence[Mapping[str, Any]], toolkit: str) -> list[str]:
    """The reasons to refuse this container, one line each; `toolkit`: the version of the NVIDIA container toolkit.

    Args:
        container: gpu_tools_container: `runtime`, `image`, `programs`; empty for none.
        packages: rows of gpu_tools_packages.
        toolkit: the declared version of the NVIDIA container toolkit; empty for none.
    """
    if not container:
        return []
    names = [p["name"] for p in container.get("programs") or []]
    missing = [key for key in ("runtime", "image") if not container.get(key)] + ([] if names else ["programs"])
    errors = [f"{key} is not declared" for key in missing]
    if container.get("image") and not _PINNED.fullmatch(container["image"]):
        errors.append(f"image {container['image']} is not pinned by a digest (NAME@sha256:...); a tag can change")
    errors += [f"{name} is declared twice" for name in sorted({n for n in names if names.count(n) > 1})]
    errors += [f"{name} is not a plain program name" for name in names if not _PROGRAM.fullmatch(name)]
    errors += [f"{name} cannot run in a container: {why}" for name, why in _ON_THE_NODE.items() if name in names]
    errors += _mpi_errors(names)
    commands = {str(p.get("command") or "").partition(" ")[0]: p["name"] for p in packages}
    errors += [f"{n} comes from the package {commands[n]}, too; declare one of the two" for n in names if n in commands]
    if not toolkit:
        errors.append("nvidia_driver_container_toolkit_version is empty; without the toolkit no container has the GPUs")
    return errors


def _mpi_errors(names: Sequence[str]) -> list[str]:
    """Ranks find the daemon that started them by its own Open MPI, so all three come from one image."""
    ranks = [n for n in names if n.endswith("_perf")]
    absent = [n for n in _LAUNCHERS if n not in names]
    if ranks and absent:
        return [
            f"{', '.join(ranks)} run in a container, but {', '.join(absent)} would not: ranks work only with the Open MPI of their own image"
        ]
    if not ranks and len(absent) < len(_LAUNCHERS):
        return [
            "mpirun and orted run in a container, but no *_perf program does: daemons cannot start programs that are outside of their image"
        ]
    return []


def runtime_error(runtime: str, answer: str) -> str:
    """Why the installed runtime cannot be used; `answer`: what `--version` printed, empty if it is not installed.

    Args:
        runtime: `docker` or `podman`.
        answer: what `--version` printed, empty if it is not installed.
    """
    found = re.search(r"version (\d+)\.(\d+)", answer)
    if not found:
        package = {"docker": "docker.io"}.get(runtime, runtime)
        return f"{runtime} is not installed; declare its package in gpu_tools_packages, e.g. {package}"
    if runtime == "podman" and (int(found[1]), int(found[2])) < _PODMAN_WITH_CDI:
        return f"podman {found[1]}.{found[2]} has no support for CDI devices, so it cannot give GPUs to a container; use 4.1 or later, or docker"
    return ""


class FilterModule:
    """The filters of this role."""

    def filters(self) -> dict[str, Callable[..., Any]]:
        """Filter name -> function."""
        return {"gpu_tools_container_errors": container_errors, "gpu_tools_runtime_error": runtime_error}
