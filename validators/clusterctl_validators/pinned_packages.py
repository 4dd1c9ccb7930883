"""Package checks that several roles share: installed at all, or installed in exactly the declared version and held."""

from typing import Iterable, Mapping

from clusterctl_validators.probe import Probe
from clusterctl_validators.record import Record


def check_package(record: Record, probe: Probe, package: Mapping[str, str], hold: bool) -> None:
    """Record `<role>.package[<name>].version` (installed version) and `.held` (protected from upgrades)."""
    at = "{}.package[{}].".format(record.role, package["name"])
    found = probe.packages().get(package["name"])
    installed = found is not None and found.installed
    hint = "`clusterctl provision NODE` installs the declared version; the package manager's log shows what changed it"
    record.equal(at + "version", package["version"], found.version if found and installed else "absent", hint=hint)
    if installed and found:
        words = {True: "held", False: "not held"}
        record.equal(at + "held", words[hold], words[found.held], hint="an upgrade would change it: apt-mark hold / dnf versionlock")


def check_present(record: Record, probe: Probe, names: Iterable[str]) -> None:
    """Record `<role>.packages[<name>]`: installed in any version."""
    for name in names:
        package = probe.packages().get(name)
        found = "installed" if package and package.installed else "absent"
        record.equal("{}.packages[{}]".format(record.role, name), "installed", found, hint="apply the role {}".format(record.role))
