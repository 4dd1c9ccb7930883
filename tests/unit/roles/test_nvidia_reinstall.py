"""A kernel module that is not the declared one although its package is installed; modinfo, apt-get and dnf are scripts."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

import pytest

from support.filters import filter_plugin
from support.local_play import FinishedPlay, role_tasks, run_play

if TYPE_CHECKING:
    from pathlib import Path

module_packages = filter_plugin("nvidia_source").module_packages
VERSION = "580.126.20"
MODULES = {"component": "kernel_module", "name": "linux-modules-nvidia-580-server-open-6.8.0-1046-nvidia", "version": "6.8.0-1046.49"}
DKMS = {"component": "driver", "name": "nvidia-dkms-580-open", "version": "580.126.20-1ubuntu1"}
OTHERS = [
    {"component": "driver", "name": "nvidia-utils-580", "version": "580.126.20-1ubuntu1"},
    {"component": "driver", "name": "nvidia-headless-no-dkms-580-server-open", "version": "580.126.20-0ubuntu0.24.04.2"},
]
# The package manager puts the declared module in place.
_MANAGER = """#!/bin/sh
echo "{name} $*" >> {log}
[ {exit} = 0 ] && {{ echo 580.126.20 > {folder}/version; echo "Dual MIT/GPL" > {folder}/license; }}
exit {exit}
"""
_MODINFO = '#!/bin/sh\ncat {folder}/"$2"\n'


def reinstall(folder: Path, *words: str, found: str, packages: list[dict[str, str]], **more: Any) -> tuple[FinishedPlay, list[str]]:
    """The finished play, and the calls of the package managers. `found`: version and license of the module on the node, separated by a space."""
    log = folder / "calls"
    log.touch()
    version, _, license_text = found.partition(" ")
    for name, text in (("version", version), ("license", license_text), ("filename", "/lib/modules/6.8.0/updates/nvidia.ko")):
        (folder / name).write_text(f"{text}\n" if text else "")
    scripts = {name: _MANAGER.format(name=name, log=log, folder=folder, exit=more.get("exit", 0)) for name in ("apt-get", "dnf")}
    scripts["apt-mark"] = f'#!/bin/sh\necho "apt-mark $*" >> {log}\n'
    scripts["dpkg-query"] = "#!/bin/sh\n" + "".join(f"printf '{p['name']}\\t{p['version']}\\tinstall\\tinstalled\\n'\n" for p in packages)
    for name, text in {**scripts, "modinfo": _MODINFO.format(folder=folder)}.items():
        (folder / name).write_text(text)
        (folder / name).chmod(0o755)
    variables = {
        "ansible_facts": {"os_family": more.get("family", "Debian"), "kernel": "6.8.0-1046-nvidia"},
        "nvidia_driver_version": VERSION,
        "nvidia_driver_packages": packages,
        "nvidia_driver_hold": more.get("hold", False),
        "__nvidia_driver_initramfs_tool": {"stat": {"exists": False}},
    }
    if "--check" in words:  # extra variables would hide what the role itself reads
        variables["__shared_listed"] = {"stdout": "".join(f"{p['name']}\t{p['version']}\thold\tinstalled\n" for p in packages)}
    done = run_play(
        folder,
        role_tasks("nvidia_driver", "reinstall.yml", *(["verify.yml"] if "--check" not in words else [])),
        *words,
        variables=variables | {"__nvidia_driver_is_loaded": False},
        environment={"PATH": f"{folder}:{os.environ['PATH']}"},
    )
    return done, log.read_text().splitlines()


APT = "apt-get --yes --reinstall --allow-change-held-packages -o DPkg::Lock::Timeout=60 install "


@pytest.mark.parametrize("found", ["", "580.65.06 Dual MIT/GPL", f"{VERSION} NVIDIA"])
def test_the_package_of_another_module_is_installed_again(tmp_path: Path, found: str) -> None:
    done, calls = reinstall(tmp_path, found=found, packages=[MODULES, *OTHERS])
    assert calls == [f"{APT}{MODULES['name']}=6.8.0-1046.49"], done.output
    assert (done.code, done.changed) == (0, 1)


def test_packages_are_held_again_because_apt_forgets_the_hold_of_what_it_installs_again(tmp_path: Path) -> None:
    done, calls = reinstall(tmp_path, found="", packages=[DKMS, OTHERS[0]], hold=True)
    assert calls == [f"{APT}nvidia-dkms-580-open=580.126.20-1ubuntu1", "apt-mark hold nvidia-dkms-580-open nvidia-utils-580"], done.output


def test_the_declared_module_is_left_alone(tmp_path: Path) -> None:
    done, calls = reinstall(tmp_path, found=f"{VERSION} Dual MIT/GPL", packages=[DKMS, *OTHERS])
    assert (done.code, done.changed, calls) == (0, 0, []), done.output


def test_dnf_gets_its_own_words(tmp_path: Path) -> None:
    kmod = {"component": "driver", "name": "kmod-nvidia-open-dkms", "version": "3:580.126.20-1.el9"}
    done, calls = reinstall(tmp_path, found="580.65.06 Dual MIT/GPL", packages=[kmod], family="RedHat")
    assert calls == ["dnf --assumeyes --disableexcludes=all reinstall kmod-nvidia-open-dkms-3:580.126.20-1.el9"], done.output


def test_check_mode_names_the_packages_and_installs_nothing(tmp_path: Path) -> None:
    done, calls = reinstall(tmp_path, "--check", found="580.65.06 Dual MIT/GPL", packages=[DKMS, *OTHERS])
    assert (done.code, done.changed, calls) == (0, 1, [])
    assert "has 580.65.06 Dual MIT/GPL /lib/modules/6.8.0/updates/nvidia.ko: nvidia-dkms-580-open=580.126.20-1ubuntu1" in done.output


def test_where_no_package_of_a_module_is_declared_the_role_stops(tmp_path: Path) -> None:
    done, calls = reinstall(tmp_path, found="580.65.06 Dual MIT/GPL", packages=OTHERS)
    assert (done.code, calls) == (2, [])
    assert "has 580.65.06 Dual MIT/GPL /lib/modules/6.8.0/updates/nvidia.ko" in done.output


def test_a_package_manager_that_fails_fails_the_role(tmp_path: Path) -> None:
    done, calls = reinstall(tmp_path, found="580.65.06 Dual MIT/GPL", packages=[DKMS], exit=100)
    assert (done.code, len(calls)) == (2, 1)


def test_packages_that_bring_or_build_a_module() -> None:
    names = ["nvidia-dkms-open", "kmod-nvidia-latest-dkms", "linux-modules-nvidia-580-open-6.8.0-60-generic"]
    others = ["nvidia-dkmsx", "linux-modules-6.8.0-60-generic", "nvidia-headless-no-dkms-580", "kmod"]
    packages = [{"name": name, "version": "1"} for name in (*names, *others)]
    assert module_packages(packages, "RedHat") == [f"{name}-1" for name in names]
    assert module_packages([], "Debian") == []
