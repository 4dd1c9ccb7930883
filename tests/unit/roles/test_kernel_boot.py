from __future__ import annotations

import subprocess
from typing import TYPE_CHECKING, Any

import jinja2
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from support.filters import filter_plugin
from support.roles import ROOT

if TYPE_CHECKING:
    from pathlib import Path

boot = filter_plugin("kernel_boot")
MENU = """set default="{default}"
menuentry 'Ubuntu' --class ubuntu $menuentry_id_option 'gnulinux-simple-a' {{
	linux	/boot/vmlinuz-6.8.0-60-generic root=UUID=a ro {words}
}}
submenu 'Advanced options for Ubuntu' $menuentry_id_option 'gnulinux-advanced-a' {{
	menuentry 'Ubuntu, with Linux 6.8.0-1046-nvidia' --class ubuntu $menuentry_id_option 'gnulinux-6.8.0-1046-nvidia-advanced-a' {{
		linux	/boot/vmlinuz-6.8.0-1046-nvidia root=UUID=a ro {words}
	}}
	menuentry 'Ubuntu, with Linux 6.8.0-1046-nvidia (recovery mode)' --class ubuntu $menuentry_id_option 'gnulinux-6.8.0-1046-nvidia-recovery-a' {{
		linux	/boot/vmlinuz-6.8.0-1046-nvidia root=UUID=a ro recovery nomodeset
	}}
}}
menuentry 'UEFI Firmware Settings' $menuentry_id_option 'uefi-firmware' {{
	fwsetup
}}
"""
DECLARED = {"iommu": "pt", "init-on-alloc": 0, "nosmt": True, "quiet": False, "console": ["tty0", "ttyS0,115200n8"]}
GOOD = "iommu=pt init_on_alloc=0 nosmt console=tty0 console=ttyS0,115200n8"


def drop_in(tmp_path: Path, declared: dict[str, Any], default_grub: str, times: int = 1) -> tuple[str, str]:
    """The two command lines as grub-mkconfig reads them: /etc/default/grub, then the drop-in."""
    env = jinja2.Environment(trim_blocks=True, autoescape=False, loader=jinja2.FileSystemLoader(ROOT / "roles" / "shared" / "templates"))  # noqa: S701 shell, not HTML
    env.filters.update({f"clusterctl.gpu.{name}": function for name, function in boot.FilterModule().filters().items()})
    file = tmp_path / "90-clusterctl.cfg"
    file.write_text(
        env.get_template("grub.cfg.j2").render(
            role_name="kernel", shared_cmdline_names=list(declared), shared_cmdline_words=boot.cmdline_words(declared)
        )
    )
    script = default_grub + f". {file}\n" * times + 'printf "%s\\0%s" "$GRUB_CMDLINE_LINUX" "$GRUB_CMDLINE_LINUX_DEFAULT"'
    always, normal = subprocess.run(["sh", "-euc", script], capture_output=True, text=True, check=True, cwd=tmp_path).stdout.split("\0")
    return always, normal


@pytest.mark.parametrize("times", [1, 3])
def test_the_drop_in_replaces_parameters_without_duplicates(times: int, tmp_path: Path) -> None:
    grub = 'GRUB_CMDLINE_LINUX="crashkernel=1G init_on_alloc=1 console=tty1"\nGRUB_CMDLINE_LINUX_DEFAULT="quiet splash iommu=on iommu=pt dyndbg=\\"file * +p\\""\n'
    (tmp_path / "a file that * would match").touch()
    always, normal = drop_in(tmp_path, DECLARED, grub, times)
    assert always == "crashkernel=1G"
    assert normal == 'splash dyndbg="file * +p" iommu=pt init-on-alloc=0 nosmt console=tty0 console=ttyS0,115200n8'


def test_the_drop_in_with_nothing_before_it(tmp_path: Path) -> None:
    always, normal = drop_in(tmp_path, {"iommu": "pt"}, 'GRUB_CMDLINE_LINUX=""\nGRUB_CMDLINE_LINUX_DEFAULT=""\n')
    assert (always, normal.strip()) == ("", "iommu=pt")


@pytest.mark.parametrize(
    ("cmdline", "different"),
    [
        (GOOD, []),
        (GOOD.replace("iommu=pt", "iommu=pt iommu=pt"), []),
        ("", ["iommu", "init-on-alloc", "nosmt", "console"]),
        (GOOD + " quiet", ["quiet"]),
        (GOOD.replace("init_on_alloc=0", "init_on_alloc=1"), ["init-on-alloc"]),
        (GOOD.replace("nosmt", "nosmt=force"), ["nosmt"]),
        (GOOD.replace("console=tty0 ", ""), ["console"]),
        (GOOD + " iommu=on", ["iommu"]),
    ],
)
def test_a_running_command_line_is_compared(cmdline: str, different: list[str]) -> None:
    assert [d.split(":")[0] for d in boot.cmdline_differences(cmdline, DECLARED)] == different


def test_the_menu_is_compared_without_its_recovery_entries() -> None:
    assert boot.boot_differences(MENU.format(default="0", words=GOOD), DECLARED) == []
    assert boot.boot_differences(MENU.format(default="0", words=GOOD + " iommu=pt"), DECLARED) == ["iommu: given 2 times"]
    assert boot.boot_differences(MENU.format(default="0", words=GOOD + " quiet"), DECLARED) == ["quiet: declared (absent), found quiet"]


def test_options_of_others_in_the_menu_are_no_difference() -> None:
    declared = {"pci": "realloc=off"}
    acs = 'pci=config_acs="xx111x0@0008:00:00.0;xx110x1@0008:02:00.0"'
    assert boot.boot_differences(MENU.format(default="0", words=f"{acs} pci=realloc=off"), declared) == []
    assert boot.boot_differences(MENU.format(default="0", words=f"pci=realloc=off {acs} pci=realloc=off"), declared) == [
        "pci: given 2 times"
    ]
    assert boot.boot_differences(MENU.format(default="0", words=acs), declared) == ["pci: declared pci=realloc=off, found (absent)"]


@pytest.mark.parametrize("menu", ["", "menuentry 'x' {\n\tchainloader\n}\n", "\0\0 garbage"])
def test_a_menu_that_starts_nothing_differs(menu: str) -> None:
    assert boot.boot_differences(menu, {}) == ["the boot menu has no entry that starts a kernel"]


def test_grubby_entries() -> None:
    info = 'index=0\nkernel="/boot/vmlinuz-5.14.0"\nargs="ro iommu=pt"\nindex=1\nargs="ro"\n'
    assert boot.boot_differences(info, {"iommu": "pt"}) == ["iommu: declared iommu=pt, found (absent)"]
    assert boot.boot_differences(info, {"quiet": False}) == []


def test_builtin_modules_and_options() -> None:
    assert boot.builtin_modules("kernel/drivers/block/loop.ko\nkernel/drivers/char/ipmi-msghandler.ko.zst\n") == ["loop", "ipmi_msghandler"]
    options = {"nvidia-uvm": {"uvm_disable_hmm": True}, "gone": {"a": 1}}
    uvm = "/sys/module/nvidia_uvm/parameters/uvm_disable_hmm"
    assert boot.option_files(options) == [uvm, "/sys/module/gone/parameters/a", "/dev/null"]
    assert boot.option_files({}) == []
    assert boot.option_differences([f"{uvm}:Y"], options) == []
    assert boot.option_differences([f"{uvm}:N"], options) == [f"{uvm}: declared True, found N"]


VALUES = st.one_of(st.booleans(), st.integers(0, 9), st.from_regex(r"[a-z0-9,=.]{1,8}", fullmatch=True))
NAMES = st.from_regex(r"[a-z]{1,6}", fullmatch=True).filter(lambda n: n not in {"hugepages", "hugepagesz"})


@settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(st.dictionaries(NAMES, VALUES, max_size=5), st.lists(NAMES, max_size=4))
def test_declared_parameters_are_found_again(declared: dict[str, Any], others: list[str]) -> None:
    assert boot.cmdline_errors(declared) == []
    kept = [o for o in others if o not in declared]
    assert boot.cmdline_differences(" ".join([*kept, *boot.cmdline_words(declared)]), declared) == []
