"""Runs the role bios with ansible-playbook against a BMC on this machine."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import yaml

from support.redfish_bmc import PASSWORD, USER
from support.roles import ROLES_ENVIRONMENT

if TYPE_CHECKING:
    from support.redfish_bmc import Bmc

_PLAY = [
    {
        "name": "Set the BIOS",
        "hosts": "all",
        "gather_facts": False,
        "roles": ["bios"],
        "post_tasks": [
            {
                "name": "Report the facts",
                "ansible.builtin.copy": {
                    "content": "{{ {'reboot': bios_reboot_required, 'again': bios_apply_again} | to_json }}",
                    "dest": "{{ report }}",
                    "mode": "0600",
                },
                "delegate_to": "localhost",
                "vars": {"ansible_connection": "local", "ansible_python_interpreter": "{{ ansible_playbook_python }}"},
                "check_mode": False,
                "changed_when": False,
            }
        ],
    }
]


@dataclass(frozen=True)
class BiosRoleRun:
    """One run of the role.

    Attributes:
        changed: number of changed tasks.
        output: complete output with -vvv.
        reboot, again: facts set by the role; None if it failed.
    """

    ok: bool
    changed: int
    output: str
    reboot: bool | None
    again: bool | None


def run_bios_role(bmc: Bmc, folder: Path, *, check: bool = False, **variables: Any) -> BiosRoleRun:
    """Run the role for a node that does not exist, with `bmc` as its BMC."""
    folder.mkdir(parents=True, exist_ok=True)
    report = folder / "report.json"
    report.unlink(missing_ok=True)
    known = {
        "bmc_url": bmc.url,
        "bmc_user": USER,
        "bmc_password": PASSWORD,
        "bmc_ca_file": str(bmc.ca_file),
        "bios_record_dir": str(folder / "record"),
        "bios_apply": True,
        "ansible_host": "192.0.2.1",
        "report": str(report),
    }
    (folder / "hosts.yml").write_text(yaml.safe_dump({"all": {"hosts": {"r12-n01": known | variables}}}))
    (folder / "play.yml").write_text(yaml.safe_dump(_PLAY, sort_keys=False))
    words = ["-i", str(folder / "hosts.yml"), str(folder / "play.yml"), "-vvv", "--diff", *(["--check"] if check else [])]
    kept = {k: v for k, v in os.environ.items() if not k.lower().endswith("_proxy")}
    done = subprocess.run(
        [str(Path(sys.executable).with_name("ansible-playbook")), *words],
        env=kept | ROLES_ENVIRONMENT | {"ANSIBLE_NOCOLOR": "1", "ANSIBLE_LOCAL_TEMP": str(folder / "tmp")},
        cwd=folder,
        capture_output=True,
        text=True,
        timeout=240,
        check=False,
    )
    recap = next((line for line in done.stdout.splitlines() if line.startswith("r12-n01") and "changed=" in line), "changed=0")
    facts: dict[str, Any] = json.loads(report.read_text()) if report.exists() else {}
    changed = int(recap.split("changed=")[1].split()[0])
    return BiosRoleRun(done.returncode == 0, changed, done.stdout + done.stderr, facts.get("reboot"), facts.get("again"))
