"""The sysctls that differ are written in their declared order, with a sysctl that records how it was called."""

from __future__ import annotations

import json
import sys
from typing import TYPE_CHECKING

from support.local_play import role_tasks, run_play

if TYPE_CHECKING:
    from pathlib import Path

# ip-sysctl.rst of the kernel, ip_forward: "This variable is special, its change resets all configuration parameters to their default state".
DECLARED = {
    "net.ipv4.ip_forward": 1,
    "net.ipv4.conf.all.rp_filter": 2,
    "net.ipv4.conf.all.arp_ignore": 1,
    "net.ipv4.conf.all.arp_announce": 2,
    "net.ipv4.conf.all.accept_redirects": 0,
    "net.ipv4.conf.default.accept_redirects": 0,
    "vm.swappiness": 10,
}
SYSCTL = """#!{python}
import json, pathlib, sys
if sys.argv[1] == "--write":
    pathlib.Path("{folder}/written").write_text(json.dumps(sys.argv[2:]))
else:
    print("vm.swappiness = 10")
"""
# What the other files of the machine that runs the test have is not to be changed.
GREP = "#!/bin/sh\nexit 1\n"


def test_the_settings_that_differ_are_written_in_their_order(tmp_path: Path) -> None:
    folder = tmp_path / "bin"
    folder.mkdir()
    for name, text in (("sysctl", SYSCTL.format(python=sys.executable, folder=tmp_path)), ("grep", GREP)):
        (folder / name).write_text(text)
        (folder / name).chmod(0o755)
    values = json.dumps({"os_tuning_sysctl": DECLARED, "__os_tuning_sysctl_file": str(tmp_path / "90-clusterctl.conf")})
    done = run_play(tmp_path, role_tasks("os_tuning", "sysctl"), "-e", values, environment={"PATH": f"{folder}:/usr/bin:/bin"})
    assert done.code == 0, done.output[-3000:]
    written = json.loads((tmp_path / "written").read_text())
    assert written == [f"{name}={value}" for name, value in DECLARED.items() if name != "vm.swappiness"]
