"""The result of the role: whether a reboot is required, and a second run because the rest needs the loaded driver."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from support.local_play import role_tasks, run_play

if TYPE_CHECKING:
    from pathlib import Path

TASKS = [
    *role_tasks("nvidia_driver", "reboot"),
    {
        "ansible.builtin.copy": {
            "content": "{{ {'reboot': nvidia_driver_reboot_required, 'again': nvidia_driver_apply_again} | to_json }}",
            "dest": "{{ out }}",
            "mode": "0600",
        }
    },
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
    given = {
        "out": str(tmp_path / "out.json"),
        "nvidia_driver_ecc": ecc,
        "nvidia_driver_peermem": False,
        "__nvidia_driver_is_loaded": loaded,
        "__nvidia_driver_gpus": [],
        "__nvidia_driver_parameters": {},
        "__nvidia_driver_files": {},
    }
    done = run_play(tmp_path, TASKS, variables=given)
    assert done.code == 0, done.output
    assert json.loads((tmp_path / "out.json").read_text()) == asked
