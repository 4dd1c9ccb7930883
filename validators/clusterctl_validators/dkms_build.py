"""What DKMS has built for a kernel, and whether that is what lies in /lib/modules."""

from clusterctl_tools import dkms
from clusterctl_validators.probe import Probe
from clusterctl_validators.record import Record


def judge_build(check: str, name: str, kernel: str, probe: Probe, record: Record) -> None:
    """Whether the modules of this package of DKMS are installed for this kernel."""
    status = probe.run(dkms.STATUS)
    if status.error or status.rc != 0:
        record.could_not_run(check, "dkms: " + (status.error or status.stderr.strip()))
        return
    rows = [m for m in dkms.parse_status(status.stdout) if (m.name, m.kernel) == (name, kernel)]
    states = {m.state for m in rows}
    if states == {"installed"} and any(m.differs for m in rows):
        # Not a failure: a module that the site signs itself differs, too. Version and vermagic of the file are judged by themselves.
        hint = "signed or stripped afterwards, or of another build: dkms install --force {}/{} -k {}".format(name, rows[0].version, kernel)
        record.warn(check, expected="installed", found="installed, but /lib/modules has another file than dkms built", hint=hint)
        return
    record.equal(check, "installed", ", ".join(sorted(states)) or "not built for " + kernel, hint="dkms install, then update the initramfs")
