"""Checks of files that a role installed: presence, mode and content."""

from typing import Dict, Mapping

from clusterctl_validators.probe import Probe
from clusterctl_validators.record import Record


def check_files(record: Record, probe: Probe, sums: str, modes: Mapping[str, str], hint: str) -> None:
    """One finding `<role>.files[<path>].persisted` each. `sums`: the checksum file that the role wrote with them (sha256sum format)."""
    verdicts = _verdicts(probe.run(["sha256sum", "--check", sums]).stdout)
    found = _modes(probe.run(["stat", "-c", "%U %a %n", *modes]).stdout)
    for path, mode in modes.items():
        expected = "root {}, as written".format(mode)
        if path not in found:
            state = "absent"
        else:
            content = {"OK": "as written", None: "not in " + sums}.get(verdicts.get(path), "changed")
            state = "{}, {}".format(found[path], content)
        record.equal("{}.files[{}].persisted".format(record.role, path), expected, state, hint=hint)


def _verdicts(text: str) -> Dict[str, str]:
    """`/path: OK` or `/path: FAILED ...`."""
    return {path: verdict.partition(" ")[0] for path, _, verdict in (line.rpartition(": ") for line in text.splitlines()) if path}


def _modes(text: str) -> Dict[str, str]:
    rows = (line.split(" ", 2) for line in text.splitlines() if line.count(" ") >= 2)
    return {path: "{} {}".format(owner, mode) for owner, mode, path in rows}
