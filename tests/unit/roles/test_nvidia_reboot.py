"""The result of the role: whether a reboot is required, and a second run because the rest needs the loaded driver."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from support.roles import ROLES_ENVIRONMENT

PLAY = [
    {
        "hosts": "localhost",
        "connection": "local",
        "gather_facts": False,
        "tasks": [
            {"ansible.builtin.include_role": {"name": "nvidia_driver", "tasks_from": "reboot"}},
            {
                "ansible.builtin.copy": {
                    "content": "{{ {'reboot': nvidia_driver_reboot_required, 'again': nvidia_driver_apply_again} | to_json }}",
                    "dest": "{{ out }}",
                    "mode": "0600",
                }
            },
        ],
    }
]


@pytest.mark.parametrize(
    ("loaded", "ecc", "asked"),
    [
        (False, "enabled", {"reboot": True, "again": True}),
        (False, "", {"reboot": True, "again": False}),
        (True, "enabled", {"reboot": False, "again": False}),
    ],
)
def test_reboot_and_second_run(loaded: bool, ecc: str, asked: dict[str, bool], tmp_path: Path) -> None:
    (tmp_path / "play.yml").write_text(json.dumps(PLAY))
    given = {
        "out": str(tmp_path / "out.json"),
        "nvidia_driver_ecc": ecc,
        "nvidia_driver_peermem": False,
        "__nvidia_driver_is_loaded": loaded,
        "__nvidia_driver_gpus": [],
        "__nvidia_driver_parameters": {},
        "__nvidia_driver_params": {},
    }
    argv = [str(Path(sys.executable).parent / "ansible-playbook"), "-i", "localhost,", "-e", json.dumps(given), str(tmp_path / "play.yml")]
    environment = os.environ | ROLES_ENVIRONMENT | {"ANSIBLE_PYTHON_INTERPRETER": sys.executable}
    done = subprocess.run(argv, env=environment, capture_output=True, text=True, check=False, timeout=120)
    assert done.returncode == 0, done.stdout + done.stderr
    assert json.loads((tmp_path / "out.json").read_text()) == asked
