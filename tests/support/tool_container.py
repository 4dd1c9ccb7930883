"""Tools that run from a container image: a declaration, and the script that the role gpu_tools writes for it."""

from __future__ import annotations

import shlex
from typing import Any

import jinja2

from support.plain_yaml import load_yaml
from support.roles import ROOT

ROLE = ROOT / "roles" / "gpu_tools"
IMAGE = "registry.example.net/gpu-tools@sha256:" + "0123456789abcdef" * 4
GROUP = ["all_reduce_perf", "mpirun", "orted"]


def container(*programs: str, **changes: Any) -> dict[str, Any]:
    """A declaration of these programs; without any, of those of a group."""
    return {"runtime": "podman", "image": IMAGE, "programs": [{"name": p} for p in programs or GROUP], **changes}


def script(runtime: str = "podman", **changes: Any) -> str:
    """The script as Ansible renders it."""
    environment = jinja2.Environment(trim_blocks=True, keep_trailing_newline=True)  # noqa: S701 a shell script
    environment.filters["quote"] = shlex.quote
    variables = load_yaml((ROLE / "vars" / "main.yml").read_text())
    declared = container(runtime=runtime, **changes)
    options = {
        name: environment.from_string(variables[name]).render(gpu_tools_container=declared)
        for name in ("__gpu_tools_remove_options", "__gpu_tools_gpu_options")
    }
    text = (ROLE / "templates" / "run-in-container.sh.j2").read_text()
    return environment.from_string(text).render(gpu_tools_container=declared, nccl_topology_file="/opt/site/topology.xml", **options)
