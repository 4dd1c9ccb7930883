"""galaxy.yml: each entry of the top level is in the collection, or is named as left out."""

from __future__ import annotations

import fnmatch
import subprocess

from support.plain_yaml import load_yaml
from support.roles import ROOT

CARRIED = {"CHANGELOG.md", "LICENSE", "README.md", "galaxy.yml", "meta", "playbooks", "plugins", "roles", "tools"}


def test_each_entry_of_the_top_level_is_carried_or_left_out() -> None:
    listed = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, check=True, capture_output=True, text=True).stdout.split("\0")
    top = {path.split("/")[0] for path in listed if path}
    ignored = load_yaml((ROOT / "galaxy.yml").read_text())["build_ignore"]
    left_out = {entry for entry in top if any(fnmatch.fnmatchcase(entry, pattern) for pattern in ignored)}
    assert top - left_out == CARRIED
