"""The tasks that put rails into firewalld's zone trusted, with a firewall-cmd that keeps its zones in files."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

import pytest

from support.local_play import run_play
from support.roles import ROOT

if TYPE_CHECKING:
    from pathlib import Path

# Options and answers as firewall-cmd(1) has them; the state 252 is that of a daemon that does not run.
FIREWALL_CMD = """#!{python}
import pathlib, sys
folder = pathlib.Path("{folder}")
words = sys.argv[1:]
if not (folder / "running").exists():
    print("not running"); sys.exit(252)
if words == ["--state"]:
    print("running"); sys.exit(0)
where = "permanent" if "--permanent" in words else "runtime"
assert "--zone=trusted" in words
for word in words:
    if word.startswith("--list-"):
        file = folder / (where + "-" + word[len("--list-"):])
        print(" ".join(file.read_text().split()) if file.exists() else "")
    if word.startswith("--change-"):
        kind, _, entry = word[len("--change-"):].partition("=")
        file = folder / (where + "-" + kind + "s")
        file.write_text((file.read_text() if file.exists() else "") + entry + "\\n")
        print("success")
"""
TRUSTED = ["eno5np0", "192.0.2.0/24", "2001:db8::/64"]


def apply(root: Path, *words: str) -> Any:
    (root / "bin").mkdir(exist_ok=True)
    program = root / "bin" / "firewall-cmd"
    program.write_text(FIREWALL_CMD.format(python=sys.executable, folder=root))
    program.chmod(0o755)
    tasks = [{"name": "Trust", "ansible.builtin.include_tasks": str(ROOT / "roles" / "os_tuning" / "tasks" / "firewall.yml")}]
    path = f"{root}/bin:/usr/bin:/bin"
    keywords = {"vars": {"os_tuning_firewall_trusted": TRUSTED}}
    done = run_play(root, tasks, *words, environment={"PATH": path}, keywords=keywords)
    assert done.code == 0, done.output[-3000:]
    return done


def zone(root: Path) -> dict[str, list[str]]:
    names = [f"{where}-{what}" for where in ("runtime", "permanent") for what in ("interfaces", "sources")]
    return {n: (root / n).read_text().split() if (root / n).exists() else [] for n in names}


@pytest.mark.slow
def test_rails_are_trusted_now_and_at_boot_and_others_stay(tmp_path: Path) -> None:
    (tmp_path / "running").touch()
    (tmp_path / "runtime-interfaces").write_text("eno6np0\n")
    (tmp_path / "permanent-sources").write_text("192.0.2.0/24\n")
    apply(tmp_path, "--check")
    assert zone(tmp_path)["runtime-sources"] == []
    apply(tmp_path)
    expected = {
        "runtime-interfaces": ["eno6np0", "eno5np0"],
        "runtime-sources": TRUSTED[1:],
        "permanent-interfaces": ["eno5np0"],
        "permanent-sources": TRUSTED[1:],
    }
    assert zone(tmp_path) == expected
    again = apply(tmp_path)
    assert "changed=0" in again.output
    assert zone(tmp_path) == expected


@pytest.mark.slow
def test_where_firewalld_does_not_run_nothing_is_done(tmp_path: Path) -> None:
    done = apply(tmp_path)
    assert "changed=0" in done.output
    assert set(map(tuple, zone(tmp_path).values())) == {()}
