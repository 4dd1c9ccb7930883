"""The word of the role is the one that the kernel takes, whatever the package of kdump adds."""

from __future__ import annotations

import re
import subprocess
from typing import TYPE_CHECKING

import pytest
from jinja2 import Environment

from support.filters import filter_plugin
from support.local_play import role_tasks, run_play
from support.plain_yaml import load_yaml
from support.roles import ROOT

if TYPE_CHECKING:
    from pathlib import Path

VARS = load_yaml((ROOT / "roles/crash_evidence/vars/main.yml").read_text())
PACKAGE = 'GRUB_CMDLINE_LINUX_DEFAULT="$GRUB_CMDLINE_LINUX_DEFAULT crashkernel=384M-:128M"\n'


def test_the_file_of_the_package_does_not_win(tmp_path: Path) -> None:
    """Files in the order of GRUB's own loop: kdump-tools.cfg adds a word, the file of the role removes and replaces it."""
    environment = Environment(trim_blocks=True, autoescape=False)  # noqa: S701 shell, not HTML
    environment.filters["clusterctl.gpu.kernel_cmdline_pattern"] = filter_plugin("kernel_boot").cmdline_pattern
    text = (ROOT / "roles/shared/templates/grub.cfg.j2").read_text()
    name = VARS["__crash_evidence_grub_file"].rpartition("/")[2]
    words = environment.from_string(text).render(
        role_name="crash_evidence", shared_cmdline_names=["crashkernel"], shared_cmdline_words=["crashkernel=512M"]
    )
    (tmp_path / name).write_text(words)
    (tmp_path / "kdump-tools.cfg").write_text(PACKAGE)
    script = 'GRUB_CMDLINE_LINUX="crashkernel=auto ro"; for f in "$1"/*.cfg; do . "$f"; done; echo "$GRUB_CMDLINE_LINUX $GRUB_CMDLINE_LINUX_DEFAULT"'
    line = subprocess.run(["sh", "-c", script, "sh", str(tmp_path)], capture_output=True, text=True, check=True).stdout
    assert re.findall(r"crashkernel=\S+", line) == ["crashkernel=512M"]


def test_the_role_kernel_leaves_the_word_to_its_owner() -> None:
    errors = filter_plugin("kernel_boot").cmdline_errors({"crashkernel": "512M", "quiet": True})
    assert errors == ["kernel_cmdline.crashkernel: belongs to the role crash_evidence (crash_evidence_crashkernel)"]


@pytest.mark.parametrize("family", ["Debian", "RedHat"])
def test_settings_replace_those_of_the_package(family: str) -> None:
    """Each pattern matches the line that the package has (gen-kdump-conf.sh of kdump-utils), and the line that the role writes."""
    shipped = {
        "Debian": ["USE_KDUMP=0", '#KDUMP_COREDIR="/var/crash"', "#KDUMP_NUM_DUMPS="],
        "RedHat": ["path /var/crash"],
    }
    for setting, line in zip(VARS["__crash_evidence_kdump_settings"][family], shipped[family], strict=True):
        assert re.search(setting["pattern"], line)
        assert re.search(setting["pattern"], setting["line"])


def test_a_comment_of_kdump_conf_does_not_become_a_second_path() -> None:
    """lineinfile replaces the last match; kdumpctl: "Duplicated kdump config value of option path" (kdump-utils, _set_config)."""
    (setting,) = VARS["__crash_evidence_kdump_settings"]["RedHat"]
    lines = ["path /var/crash", "core_collector makedumpfile -l --message-level 7 -d 31", "#path /mnt/dumps", "# path <path>"]
    assert [line for line in lines if re.search(setting["pattern"], line)] == lines[:1]


@pytest.mark.parametrize(("disabled", "loaded", "refused"), [("1", "0", True), ("1", "1", False), ("0", "0", False), (None, "0", False)])
def test_kdump_is_refused_where_the_kernel_loads_nothing(disabled: str | None, loaded: str, refused: bool, tmp_path: Path) -> None:
    """A crash kernel that was loaded before the sysctl was set still starts (sysctl/kernel.rst of the kernel, kexec_load_disabled)."""
    files = {"/sys/kernel/kexec_crash_loaded": loaded, **({"/proc/sys/kernel/kexec_load_disabled": disabled} if disabled else {})}
    text = "\n".join(f"==> {path} <==\n{value}\n" for path, value in files.items())
    variables = {"__crash_evidence_kernel": {"stdout": text}, "ansible_facts": {"os_family": "RedHat"}}
    done = run_play(tmp_path, role_tasks("crash_evidence", "kexec"), variables=variables)
    assert ("kernel.kexec_load_disabled is 1" in done.output, done.code != 0) == (refused, refused), done.output
