from __future__ import annotations

import shutil
import subprocess

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from clusterctl_tools.mount_unit import difference, read_settings, unit_name

NAMES = [
    ("/mnt/a", "mnt-a.mount"),
    ("/mnt/a-b_c.d", r"mnt-a\x2db_c.d.mount"),
    ("/data", "data.mount"),
    ("/dev/hugepages1G", "dev-hugepages1G.mount"),
    ("/mnt/huge-2M", r"mnt-huge\x2d2M.mount"),
    ("/mnt//a/", "mnt-a.mount"),
    ("/.snap/.x", r"\x2esnap-.x.mount"),
    ("/mnt/a b~c", r"mnt-a\x20b\x7ec.mount"),
    ("/", "-.mount"),
]


@pytest.mark.parametrize(("path", "unit"), NAMES)
def test_a_mount_unit_has_the_name_that_systemd_requires(path: str, unit: str) -> None:
    assert unit_name(path) == unit


@pytest.mark.skipif(not shutil.which("systemd-escape"), reason="no systemd here")
@settings(max_examples=20)
@given(st.lists(st.text(alphabet="ab.-_:~ é", min_size=1, max_size=4), max_size=3))
@example([".a", "b-c"])
def test_the_name_is_that_of_systemd_escape(parts: list[str]) -> None:
    path = "/" + "/".join(p for p in parts if p not in (".", ".."))
    done = subprocess.run(["systemd-escape", "--path", "--suffix=mount", "--", path], capture_output=True, text=True, check=True)
    assert done.stdout.rstrip("\n") == unit_name(path)


def test_repeated_settings_of_a_unit_file_are_joined() -> None:
    text = "# a comment\n[Unit]\nDescription=any\nAfter=a.service\nAfter=b.service\n[Mount]\nWhat=x\n"
    found = read_settings(text)
    assert found == {"After": "a.service + b.service", "What": "x"}
    assert difference({"What": "x", "Where": "/a"}, found) == "After=a.service + b.service, Where=absent"
