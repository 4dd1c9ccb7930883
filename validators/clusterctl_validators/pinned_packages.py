"""One check that several roles share: a package is installed in exactly the declared version, and held."""

from typing import Mapping

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
