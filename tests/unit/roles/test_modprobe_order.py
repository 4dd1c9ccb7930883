"""Options of kernel modules: the files of the roles are read after those of vendors, so their values count."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from support.plain_yaml import load_yaml
from support.roles import ROOT

# OCI's images of HGX and GB200 have the first two (oci-hpc-images, roles/nvidia_driver), its Lustre clients and Google's the third, Ubuntu's packages the fourth.
OTHERS = ("nvidia.conf", "nvidia-gsp.conf", "lnet.conf", "nvidia-graphics-drivers-kms.conf", "99-site.conf")
FILES = [
    ("nvidia_driver", "__nvidia_driver_options_file", "module.yml"),
    ("kernel", "__kernel_options_file", "modules.yml"),
    ("storage_client", "__storage_client_modprobe_file", "modules.yml"),
]


@pytest.mark.parametrize(("role", "variable", "tasks"), FILES, ids=[role for role, _, _ in FILES])
def test_the_options_of_a_role_are_read_last(role: str, variable: str, tasks: str) -> None:
    values: dict[str, Any] = load_yaml((ROOT / "roles" / role / "vars" / "main.yml").read_text())
    name = Path(values[variable]).name
    assert [other for other in OTHERS if other > name] == []
    removed = [task for task in load_yaml((ROOT / "roles" / role / "tasks" / tasks).read_text()) if "absent" in str(task)]
    assert f"{variable}_before" in str(removed), "the file of an earlier version stays"
    assert values[f"{variable}_before"] != values[variable]
