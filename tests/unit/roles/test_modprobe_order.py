"""Parameters of the NVIDIA module: the role's file is read after those of vendors, so its values count."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import yaml

from support.roles import ROOT

# OCI's images of HGX and GB200 have the first two (oci-hpc-images, roles/nvidia_driver), Ubuntu's packages the third.
OTHERS = ("nvidia.conf", "nvidia-gsp.conf", "nvidia-graphics-drivers-kms.conf", "99-site.conf")


def test_the_options_of_the_driver_are_read_last() -> None:
    values: dict[str, Any] = yaml.safe_load((ROOT / "roles" / "nvidia_driver" / "vars" / "main.yml").read_text())
    name = Path(values["__nvidia_driver_options_file"]).name
    assert [other for other in OTHERS if other > name] == []
    tasks = yaml.safe_load((ROOT / "roles" / "nvidia_driver" / "tasks" / "module.yml").read_text())
    removed = " ".join(str(task["loop"]) for task in tasks if "loop" in task)
    assert "__nvidia_driver_options_file_before" in removed
