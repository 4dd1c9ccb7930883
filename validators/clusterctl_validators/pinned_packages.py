"""Checks of packages that several roles share: there at all, or there in exactly the declared version and held."""

from typing import Iterable, Mapping

from clusterctl_validators.probe import Probe
from clusterctl_validators.record import Record


def check_package(record: Record, probe: Probe, package: Mapping[str, str], hold: bool) -> None:
    """Record `<role>.package[<name>].version` (running) and `.held` (what keeps it so)."""
    at = "{}.package[{}].".format(record.role, package["name"])
    found = probe.packages().get(package["name"])
    installed = found is not None and found.installed
    hint = "`clusterctl provision NODE` installs the declared version; look who changed it in the package manager's log"
    record.equal(at + "version", package["version"], found.version if found and installed else "absent", hint=hint)
    if installed and found:
        words = {True: "held", False: "not held"}
        record.equal(at + "held", words[hold], words[found.held], hint="an upgrade would move it: apt-mark hold / dnf versionlock")


def check_present(record: Record, probe: Probe, names: Iterable[str]) -> None:
    """Record `<role>.packages[<name>]`: installed, in whatever version the distribution has."""
    for name in names:
        package = probe.packages().get(name)
        found = "installed" if package and package.installed else "absent"
        record.equal("{}.packages[{}]".format(record.role, name), "installed", found, hint="apply the role {}".format(record.role))
