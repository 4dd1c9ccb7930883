"""A driver that NVIDIA's installer (`.run`) put on the node is refused before packages with the same files are installed."""

from __future__ import annotations

from typing import Any

from support.plain_yaml import load_yaml
from support.roles import ROOT

TASKS = ROOT / "roles/nvidia_driver/tasks"


def test_the_role_refuses_a_driver_of_the_installer_before_it_changes_anything() -> None:
    names = [str(task) for task in load_yaml((TASKS / "main.yml").read_text())]
    at = next((i for i, text in enumerate(names) if "installer.yml" in text), len(names))
    assert at < next(i for i, text in enumerate(names) if "repository_" in text)
    looked, refused = (task for task in load_yaml((TASKS / "installer.yml").read_text()))
    # Its uninstaller, which no package has (NVIDIA/cloud-native-stack playbooks/cns-uninstall.yaml looks for it, too).
    assert looked["ansible.builtin.stat"]["path"] == "/usr/bin/nvidia-uninstall"
    check: dict[str, Any] = refused["ansible.builtin.assert"]
    assert f"not {looked['register']}.stat.exists" in check["that"]
    assert "nvidia-uninstall" in check["fail_msg"]
    assert "package_differences" in str(refused["vars"]), "nothing is refused where the declared packages are there already"
