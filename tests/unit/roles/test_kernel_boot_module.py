"""The modules kernel_boot and kernel_drivers: which kernel GRUB starts, once or from now on, and what it lacks. A fake GRUB in a folder."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from support.filters import module_plugin

if TYPE_CHECKING:
    from pathlib import Path

boot = module_plugin("kernel_boot")
drivers = module_plugin("kernel_drivers")
OLD, NEW = "6.8.0-60-generic", "6.8.0-1046-nvidia"
MENU = """set default="{default}"
menuentry 'Ubuntu' $menuentry_id_option 'gnulinux-simple-a' {{
	linux	/vmlinuz-6.8.0-60-generic ro
}}
submenu 'Advanced options' $menuentry_id_option 'advanced' {{
	menuentry 'old' $menuentry_id_option 'gnulinux-6.8.0-60-generic-advanced-a' {{
		linux	/vmlinuz-6.8.0-60-generic ro
	}}
	menuentry 'new' $menuentry_id_option 'gnulinux-6.8.0-1046-nvidia-advanced-a' {{
		linux	/vmlinuz-6.8.0-1046-nvidia ro
	}}
}}
"""
SAVED = "${saved_entry}"
ENTRY = {release: f"advanced>gnulinux-{release}-advanced-a" for release in (OLD, NEW)}


class Machine:
    """A machine with GRUB, or with loader entries; `deaf`: tools that change nothing."""

    def __init__(self, root: Path, *, loader_entries: bool = False) -> None:
        self.root = root
        self.env: dict[str, str] = {}
        self.calls: list[str] = []
        self.deaf: set[str] = set()
        self.write("boot/grub/grub.cfg", MENU.format(default=SAVED))
        for release in (OLD, NEW):
            self.write(f"boot/vmlinuz-{release}", "")
        self.write("etc/default/grub", "GRUB_DEFAULT=0\n#GRUB_DEFAULT=1\nGRUB_DEFAULT=saved\n")
        self.loader = (boot.LoaderEntries if loader_entries else boot.Grub)(self.run, root)
        self.save()

    def write(self, path: str, text: str) -> None:
        (self.root / path).parent.mkdir(parents=True, exist_ok=True)
        (self.root / path).write_text(text)

    def save(self, **values: str) -> None:
        self.env.update(values)
        self.write("boot/grub/grubenv", "# GRUB Environment Block\n" + "".join(f"{k}={v}\n" for k, v in self.env.items()) + "###")

    def run(self, words: list[str]) -> str:
        tool, *rest = words
        if rest[-1:] == ["list"]:
            return "".join(f"{k}={v}\n" for k, v in self.env.items())
        if rest[0].startswith("--info="):
            return f'index=1\nkernel="{rest[0][7:]}"\nid="{ENTRY[rest[0].rpartition("vmlinuz-")[2]]}"\n'
        if rest == ["--default-kernel"]:
            return next((f"/boot/vmlinuz-{r}\n" for r, entry in ENTRY.items() if entry == self.env.get("saved_entry")), "\n")
        self.calls.append(tool)
        if tool in self.deaf:
            return ""
        if tool.endswith("-reboot"):
            self.env["next_entry"] = rest[0]
        elif tool.endswith("-editenv"):
            self.env.pop(rest[-1])
        else:
            self.env["saved_entry"] = ENTRY[rest[0].rpartition("vmlinuz-")[2]] if tool == "grubby" else rest[0]
        self.save()
        return ""

    def choose(self, release: str, *, once: bool = False, check_mode: bool = False, running: str = OLD) -> dict[str, object]:
        found: dict[str, object] = boot.choose(self.loader, release, running, once=once, check_mode=check_mode)
        return found


@pytest.fixture(params=[False, True], ids=["menu", "loader entries"])
def machine(request: pytest.FixtureRequest, tmp_path: Path) -> Machine:
    return Machine(tmp_path, loader_entries=request.param)


def test_a_kernel_is_chosen_for_one_boot_after_the_running_one_became_the_default(machine: Machine) -> None:
    found = machine.choose(NEW, once=True)
    assert (found["changed"], found["fallback"], found["entry"]) == (True, OLD, ENTRY[NEW])
    assert machine.env == {"saved_entry": ENTRY[OLD], "next_entry": ENTRY[NEW]}
    assert not machine.choose(NEW, once=True)["changed"]


def test_a_new_kernel_that_a_package_made_the_default_is_so_no_longer(machine: Machine) -> None:
    machine.save(saved_entry=ENTRY[NEW])
    assert machine.choose(NEW, once=True)["changed"]
    assert machine.env == {"saved_entry": ENTRY[OLD], "next_entry": ENTRY[NEW]}


def test_the_default_is_kept_and_a_choice_is_taken_back(machine: Machine) -> None:
    machine.choose(NEW, once=True)
    assert machine.choose(NEW, running=NEW)["changed"]
    assert machine.env == {"saved_entry": ENTRY[NEW]}
    assert not machine.choose(NEW, running=NEW)["changed"]


def test_check_mode_shows_and_writes_nothing(machine: Machine) -> None:
    machine.save(saved_entry=ENTRY[NEW])
    assert machine.choose(NEW, once=True, check_mode=True)["changed"]
    assert machine.choose(OLD, check_mode=True)["changed"]
    assert machine.calls == []


def test_a_tool_that_did_nothing_is_an_error(machine: Machine) -> None:
    machine.save(saved_entry=ENTRY[OLD])
    machine.deaf = {"grub-reboot", "grub2-reboot", "grub-set-default", "grubby"}
    with pytest.raises(boot.BootChoiceError, match="next_entry is"):
        machine.choose(NEW, once=True)
    with pytest.raises(boot.BootChoiceError, match=f"was made the default, but the boot menu starts {OLD}"):
        machine.choose(NEW)


def test_a_menu_with_a_fixed_default_is_refused(tmp_path: Path) -> None:
    machine = Machine(tmp_path)
    machine.write("boot/grub/grub.cfg", MENU.format(default="0"))
    for once in (True, False):
        with pytest.raises(boot.BootChoiceError, match="GRUB_DEFAULT=saved is not in force"):
            machine.choose(NEW, once=once)


def test_loader_entries_need_the_saved_default(tmp_path: Path) -> None:
    machine = Machine(tmp_path, loader_entries=True)
    machine.write("etc/default/grub", "GRUB_DEFAULT=0\n")
    with pytest.raises(boot.BootChoiceError, match="GRUB_DEFAULT=saved is not in force"):
        machine.choose(NEW, once=True)


def test_an_unknown_kernel_is_an_error_and_a_running_one_without_an_entry_is_none(machine: Machine) -> None:
    with pytest.raises(boot.BootChoiceError, match=r"has no entry that starts 5\.15"):
        machine.choose("5.15", once=True)
    assert machine.choose("5.15", running="5.15")["entry"] == ""


def test_nothing_to_fall_back_to_is_an_error(tmp_path: Path) -> None:
    machine = Machine(tmp_path)
    machine.save(saved_entry=ENTRY[NEW])
    with pytest.raises(boot.BootChoiceError, match="nothing to fall back to"):
        machine.choose(NEW, once=True, running="5.15")


def test_storage_that_grub_cannot_write_is_reported(tmp_path: Path) -> None:
    machine = Machine(tmp_path)
    machine.write("boot/grub/grub.cfg", "# GRUB lacks write support for diskfilter, so\n" + MENU.format(default=SAVED))
    assert machine.choose(NEW, once=True)["stuck"] == "diskfilter"


@pytest.mark.parametrize(("env", "kernel"), [("", OLD), (f"saved_entry={ENTRY[NEW]}\n", NEW), (f"next_entry={ENTRY[NEW]}\n", NEW)])
def test_the_kernel_of_the_next_boot(env: str, kernel: str, tmp_path: Path) -> None:
    machine = Machine(tmp_path)
    machine.write("boot/grub/grubenv", env)
    assert drivers.next_release(lambda _words: (1, "", ""), tmp_path) == kernel


def test_the_kernel_of_the_next_boot_with_loader_entries_and_without_a_menu(tmp_path: Path) -> None:
    assert drivers.next_release(lambda _words: (1, "", ""), tmp_path) == ""
    (tmp_path / "boot/loader/entries").mkdir(parents=True)
    (tmp_path / "boot/loader/entries/a.conf").touch()
    assert drivers.next_release(lambda _words: (0, f"/boot/vmlinuz-{NEW}\n", ""), tmp_path) == NEW


def test_the_running_kernel_and_an_unknown_one_lack_nothing(tmp_path: Path) -> None:
    for release in ("", OLD):
        assert drivers.examine(release, OLD, tmp_path) == {"changed": False, "release": release, "missing": [], "text": ""}


def test_what_is_missing_has_driver_device_and_package(tmp_path: Path) -> None:
    device = tmp_path / "sys/devices/0000:18:00.0"
    for folder in (device, tmp_path / "sys/class/net/eth0", tmp_path / "sys/module/mlx5_core", tmp_path / "sys/driver", tmp_path / "etc"):
        folder.mkdir(parents=True)
    (tmp_path / "sys/class/net/eth0/device").symlink_to(device)
    (tmp_path / "sys/module/mlx5_core/initstate").write_text("live\n")
    (tmp_path / "sys/driver/module").symlink_to(tmp_path / "sys/module/mlx5_core")
    (device / "driver").symlink_to(tmp_path / "sys/driver")
    (tmp_path / "etc/debian_version").touch()
    found = drivers.examine(NEW, OLD, tmp_path)
    assert found["missing"] == [{"driver": "mlx5_core", "device": "eth0"}]
    assert found["text"].startswith(
        f"kernel {NEW} lacks drivers that this node runs with: mlx5_core (eth0): install linux-modules-extra-{NEW}"
    )
