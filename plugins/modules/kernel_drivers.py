"""The drivers of disks and network that the next kernel lacks."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

from ansible.module_utils.basic import AnsibleModule
from ansible_collections.clusterctl.gpu.plugins.module_utils.clusterctl_tools import grub
from ansible_collections.clusterctl.gpu.plugins.module_utils.clusterctl_tools.kernel_drivers import (
    ROOT,
    missing_drivers,
    missing_text,
    package_hint,
)

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

DOCUMENTATION = r"""
module: kernel_drivers
short_description: Find the drivers of disks and network that the next kernel lacks
description:
  - Compares the drivers of the disks that hold /, /boot and /boot/efi, of all network ports and of RDMA adapters with the modules of the kernel that boots
    next. Changes nothing. A kernel without one of them starts a node that nobody reaches.
options:
  release: {description: "The kernel that boots next; empty means that of the boot menu, or of the choice for one boot.", type: str, default: ""}
author: clusterctl authors
"""
EXAMPLES = r"""
- name: Find the drivers that the declared kernel lacks
  clusterctl.gpu.kernel_drivers: {release: 6.8.0-1046-nvidia}
"""
RETURN = r"""
release: {description: "The kernel that was examined; empty if no boot menu shows which one boots.", type: str, returned: success}
missing: {description: "Driver and device, each.", type: list, returned: success}
text: {description: "What is missing, with the package that brings it; empty if nothing is.", type: str, returned: success}
"""
_FAMILIES = {"Debian": "etc/debian_version", "RedHat": "etc/redhat-release"}


def examine(release: str, running: str, root: Path = ROOT) -> dict[str, Any]:
    """The result for a kernel; the running one has all of its drivers."""
    missing = missing_drivers(release, root) if release not in ("", running) else []
    family = next((name for name, path in _FAMILIES.items() if (root / path).exists()), "")
    hint = package_hint(release, family)
    text = missing_text(release, missing) + (f": {hint}" if hint else "") if missing else ""
    return {"changed": False, "release": release, "missing": [{"driver": d.module, "device": d.device} for d in missing], "text": text}


def next_release(run: Callable[[list[str]], tuple[int, str, str]], root: Path = ROOT) -> str:
    """The kernel that the boot menu starts next; empty if it does not show it."""
    if any(root.glob(grub.LOADER_ENTRIES.lstrip("/"))):
        _, kernel, _ = run(list(grub.GRUBBY_DEFAULT))
    else:
        kernel = _of_menu(*(_read(root / path.lstrip("/")) for path in (grub.GRUB_CFG, grub.GRUBENV)))
    return kernel.strip().rpartition("vmlinuz-")[2]


def _of_menu(menu: str, environment: str) -> str:
    chosen = grub.parse_grubenv(environment).get("next_entry")
    once = grub.chosen_kernel(grub.parse_grub_cfg(menu), chosen) if chosen else ""
    try:
        return once or grub.default_kernel(menu, environment)
    except grub.UnknownDefaultError:
        return ""


def _read(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8", errors="replace")
    except OSError:
        return ""


def main() -> None:
    """Run the module."""
    module = AnsibleModule(argument_spec={"release": {"type": "str", "default": ""}}, supports_check_mode=True)
    module.exit_json(**examine(module.params["release"] or next_release(module.run_command), os.uname().release))


if __name__ == "__main__":
    main()
