"""The files of modprobe, in the order in which it reads them: of two values of an option the last one counts."""

import re
from typing import Dict

from clusterctl_validators.probe import Probe
from clusterctl_validators.record import Record

# A file hides those of the same name before it.
_FOLDERS = ("/usr/lib/modprobe.d", "/run/modprobe.d", "/etc/modprobe.d")


def read_all(probe: Probe) -> str:
    """The lines of all files: by file name; a file in /etc hides one of the same name in /usr/lib. One that a backslash continues is one line (modprobe.d(5))."""
    files: Dict[str, str] = {}
    for folder in _FOLDERS:
        files.update({path.rpartition("/")[2]: path for path in probe.glob(folder + "/*.conf")})
    return "\n".join((probe.read(files[name]) or "").replace("\\\n", " ") for name in sorted(files))


def blocked_by(probe: Probe, module: str) -> str:
    """The line that keeps systemd-modules-load from loading a module, although a file of modules-load.d lists it; empty if there is none.

    It honours `blacklist` of modprobe.d and of the command line (modprobe.d(5)), and runs what `install` names in place of loading.
    """
    name = "[-_]".join(map(re.escape, re.split("[-_]", module)))
    line = re.search(
        r"^\s*(?:blacklist\s+{0}|install\s+{0}\s+(?:/usr)?/bin/(?:true|false))\s*$".format(name), read_all(probe), re.MULTILINE
    )
    if line:
        return "`{}` in modprobe.d".format(" ".join(line.group(0).split()))
    for word in (probe.read("/proc/cmdline") or "").split():
        key, _, value = word.partition("=")
        if key in ("modprobe.blacklist", "module_blacklist") and any(re.fullmatch(name, listed) for listed in value.split(",")):
            return "`{}` on the kernel's command line".format(word)
    return ""


def judge_blocked(record: Record, probe: Probe, check: str, module: str) -> None:
    """A declared module that the next boot would not load; no role takes a line of others away."""
    blocked = blocked_by(probe, module)
    if blocked:
        hint = "the next boot does not load it: remove that line, or declare the module no longer"
        record.ok(check + ".blacklisted", False, expected="on no blacklist", found=blocked, hint=hint)
