"""The apt preferences that keep all packages of a driver at one version, and whether the installed ones are."""

import re
from fnmatch import fnmatchcase
from typing import Dict, Mapping, Sequence

from clusterctl_tools.package_list import Package
from clusterctl_validators.record import Record

FILE = "/etc/apt/preferences.d/90-clusterctl-nvidia"
PRIORITY = "1001"
# Of NVIDIA's installer (a .run file); no package has it.
UNINSTALLER = "/usr/bin/nvidia-uninstall"
# 580.126.20-0ubuntu0.24.04.2; NVIDIA's own revisions are 1ubuntu1 and 0ubuntu1.
_UBUNTU = re.compile(r"-\S*ubuntu\d+(\.\d+)?~?\S*\d\d\.\d\d")
_UPSTREAM = re.compile(r"(?:\d+:)?([^-]+)")


def parse_pins(text: str) -> Dict[str, str]:
    """What `Package:` names -> `Pin:`, of the stanzas with the priority that also takes a package back to an older version."""
    stanzas = [dict(line.split(": ", 1) for line in s.splitlines() if ": " in line and line[0] != "#") for s in text.split("\n\n")]
    return {s.get("Package", ""): s.get("Pin", "") for s in stanzas if s.get("Pin-Priority") == PRIORITY}


def check_pins(record: Record, text: str, packages: Sequence[Mapping[str, str]], members: Sequence[str], *, hint: str) -> None:
    """Record whether each declared package and the whole set are pinned."""
    pins = parse_pins(text)
    for package in packages:
        check = "nvidia_driver.package[{}].pin.persisted".format(package["name"])
        record.equal(check, "version " + package["version"], pins.get(package["name"], "not pinned"), hint=hint)
    versions = sorted({p["version"] for p in packages if p["component"] == "driver"})
    if not members or not versions:
        record.not_applicable("nvidia_driver.set.pin.persisted", "no set or no driver package is declared")
        return
    # One stanza for all members; a file with other members pins another set.
    record.equal("nvidia_driver.set.pin.persisted", "version " + versions[-1], pins.get(" ".join(members), "not pinned"), hint=hint)


def check_members(record: Record, installed: Mapping[str, Package], members: Sequence[str], driver: str) -> None:
    """Record the installed packages of the set that have another version than the driver."""
    wrong = []
    for name, package in sorted(installed.items()):
        found = _UPSTREAM.match(package.version)
        if package.installed and any(fnmatchcase(name, m) for m in members) and found and found.group(1) != driver:
            wrong.append("{} {}".format(name, package.version))
    hint = "`clusterctl provision NODE`; packages of one driver work in one version only, a leftover of another branch must be removed"
    record.ok("nvidia_driver.set.version.persisted", not wrong, expected=driver, found=", ".join(wrong) or driver, hint=hint)


def check_source(record: Record, installed: Mapping[str, Package], packages: Sequence[Mapping[str, str]], source: str) -> None:
    """Record whether the declared driver packages that are installed come from the declared repository."""
    names = [p["name"] for p in packages if p["component"] in ("driver", "persistenced")]
    found = {n: "ubuntu" if _UBUNTU.search(installed[n].version) else "cuda" for n in names if n in installed and installed[n].installed}
    wrong = sorted("{} {}".format(name, installed[name].version) for name, where in found.items() if where != source)
    hint = "packages of both repositories have the same names and do not work together; `clusterctl provision NODE`"
    record.ok("nvidia_driver.source.persisted", not wrong, expected=source, found=", ".join(wrong) or source, hint=hint)


def check_installer(record: Record, found: Sequence[str], packages: Sequence[Mapping[str, str]]) -> None:
    """Record a driver of NVIDIA's installer: it has the files of the packages, and the later one of both has overwritten them."""
    check = "nvidia_driver.installer.persisted"
    if not any(p["component"] == "driver" for p in packages):
        record.not_applicable("nvidia_driver.installer", "no driver package is declared")
    elif found:
        hint = "drain the node, remove both (`nvidia-uninstall --silent`, then the packages), reboot, then `clusterctl provision NODE`"
        record.warn(check, expected="no driver of NVIDIA's installer beside the packages", found=", ".join(found), hint=hint)
    else:
        record.ok(check, True, expected="absent", found="absent")
