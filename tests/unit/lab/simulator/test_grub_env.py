"""What a start of the simulated machine takes from GRUB's environment block."""

from __future__ import annotations

from pathlib import Path

import pytest

from clusterctl_lab.simulator import grub_env, state, uname

MENU = """if [ "${next_entry}" ] ; then
   set default="${next_entry}"
else
   set default="%s"
fi
menuentry 'Debian' $menuentry_id_option 'simple' {
	linux	/boot/vmlinuz-6.9 root=UUID=x ro  iommu=pt
}
submenu 'Advanced' $menuentry_id_option 'advanced' {
	menuentry 'Debian, with 6.8' $menuentry_id_option 'with-6.8' {
		linux	/boot/vmlinuz-6.8 root=UUID=x ro panic=9
	}
}
"""
SAVED = MENU % "${saved_entry}"
OLD = "advanced>with-6.8"


@pytest.fixture
def block(tmp_path: Path) -> str:
    return str(tmp_path / "boot" / "grubenv")


def started(menu: str, block: str) -> str:
    entry = grub_env.take_entry(menu, block)
    assert entry is not None
    return entry.release


def test_the_first_entry_starts_where_nothing_is_saved(block: str) -> None:
    entry = grub_env.take_entry(SAVED, block)
    assert entry is not None
    assert entry.cmdline == "BOOT_IMAGE=/boot/vmlinuz-6.9 root=UUID=x ro iommu=pt"
    assert started(MENU % "0", block) == "6.9"


@pytest.mark.parametrize("name", [OLD, "Advanced>Debian, with 6.8"])
def test_a_saved_entry_starts_each_time(name: str, block: str) -> None:
    grub_env.write_env({"saved_entry": name}, block)
    assert [started(SAVED, block), started(SAVED, block)] == ["6.8", "6.8"]


def test_a_choice_for_one_boot_is_used_up(block: str) -> None:
    grub_env.write_env({"saved_entry": OLD, "next_entry": "simple"}, block)
    assert [started(SAVED, block), started(SAVED, block)] == ["6.9", "6.8"]
    assert grub_env.read_env(block) == {"saved_entry": OLD}


def test_a_name_that_no_entry_has_starts_the_first_one(block: str) -> None:
    grub_env.write_env({"saved_entry": "removed"}, block)
    assert started(SAVED, block) == "6.9"
    assert grub_env.take_entry("", block) is None


def test_the_block_keeps_its_size(block: str) -> None:
    grub_env.write_env({"saved_entry": OLD}, block)
    assert Path(block).stat().st_size == 1024


def test_the_tools_write_what_a_start_reads(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    written: list[dict[str, str]] = [{}]
    monkeypatch.setattr(grub_env, "read_env", lambda: written[-1])
    monkeypatch.setattr(grub_env, "write_env", written.append)
    assert grub_env.main(["/usr/sbin/grub-reboot", "simple"]) == 0
    assert grub_env.main(["/usr/sbin/grub-set-default", OLD]) == 0
    assert grub_env.main(["/usr/bin/grub-editenv", "-", "list"]) == 0
    assert sorted(capsys.readouterr().out.split()) == ["next_entry=simple", f"saved_entry={OLD}"]
    assert grub_env.main(["/usr/bin/grub-editenv", "-", "unset", "next_entry"]) == 0
    assert written[-1] == {"saved_entry": OLD}
    assert grub_env.main(["/usr/bin/grub-editenv", "-", "create"]) == 1
    assert grub_env.main(["/usr/sbin/grub-reboot"]) == 1


def test_a_kernel_that_panics_resets_the_machine_which_starts_the_saved_one(monkeypatch: pytest.MonkeyPatch) -> None:
    taken = iter(
        [grub_env.MenuEntry((), "/boot/vmlinuz-6.9", "ro panic=9"), grub_env.MenuEntry((), f"/boot/vmlinuz-{uname.release()}", "")]
    )
    waits: list[float] = []
    monkeypatch.setattr(grub_env, "take_entry", lambda _menu: next(taken))
    monkeypatch.setattr(state, "read_faults", lambda: state.Faults((state.Fault("kernel_panic"),)))
    monkeypatch.setattr("time.sleep", waits.append)
    entry = grub_env.start_kernel()
    assert entry is not None
    assert entry.release == uname.release()
    assert waits == [2]


def test_the_modules_of_an_installed_kernel_are_those_that_it_lists(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(state, "read", lambda path: "kernel/net/mlx5-core.ko.zst: kernel/a.ko\n" if path.endswith("modules.dep") else "")
    assert uname.has_module("mlx5_core")
    assert not uname.has_module("nfs")
