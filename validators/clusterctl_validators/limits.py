"""Limits of logins (PAM) and of services (systemd): as configured, and as a process has them."""

import re
from typing import Dict, List, Tuple

from clusterctl_validators.probe import Probe

# item of limits.conf -> (row of /proc/PID/limits, factor from the unit of limits.conf to the unit of that row)
PROC_ROWS: Dict[str, Tuple[str, int]] = {
    "core": ("Max core file size", 1024),
    "cpu": ("Max cpu time", 60),
    "data": ("Max data size", 1024),
    "fsize": ("Max file size", 1024),
    "memlock": ("Max locked memory", 1024),
    "msgqueue": ("Max msgqueue size", 1),
    "nofile": ("Max open files", 1),
    "nproc": ("Max processes", 1),
    "rss": ("Max resident set", 1024),
    "rtprio": ("Max realtime priority", 1),
    "sigpending": ("Max pending signals", 1),
    "stack": ("Max stack size", 1024),
}
_UNLIMITED = ("unlimited", "infinity", "-1")
_ROW = re.compile(r"^(Max .+?)\s{2,}(\S+)\s+(\S+)", re.MULTILINE)
_SUFFIX = {"K": 1, "M": 2, "G": 3, "T": 4, "P": 5, "E": 6}


def pam_limits(probe: Probe) -> Dict[Tuple[str, str, str], str]:
    """`{(domain, soft|hard, item): value}` of limits.conf and limits.d; the last assignment counts."""
    found: Dict[Tuple[str, str, str], str] = {}
    for path in ["/etc/security/limits.conf", *probe.glob("/etc/security/limits.d/*.conf")]:
        for line in (probe.read(path) or "").splitlines():
            words = line.partition("#")[0].split()
            if len(words) == 4:
                domain, kind, item, value = words
                for each in kinds(kind):
                    found[domain, each, item] = unlimited(value)
    return found


def kinds(kind: str) -> List[str]:
    """`-` means both."""
    return ["soft", "hard"] if kind == "-" else [kind]


def unlimited(value: object) -> str:
    """The three spellings of "no limit" as one."""
    return "unlimited" if str(value) in _UNLIMITED else str(value)


def parse_proc_limits(text: str) -> Dict[str, Tuple[str, str]]:
    """`{row: (soft, hard)}` of /proc/PID/limits."""
    return {row: (soft, hard) for row, soft, hard in _ROW.findall(text)}


def proc_value(item: str, value: object, most_files: str) -> str:
    """A value of limits.conf as /proc/PID/limits shows it; `most_files`: fs.nr_open, to which pam_limits sets an unlimited `nofile`."""
    text = unlimited(value)
    if item == "nofile" and text == "unlimited" and most_files:
        return most_files
    return text if text == "unlimited" else str(int(text) * PROC_ROWS[item][1])


def systemd_value(value: object) -> Tuple[str, str]:
    """(soft, hard) of a limit as systemd takes it: `65536`, `64K:infinity`; suffixes resolved."""
    soft, _, hard = str(value).partition(":")
    return _number(soft), _number(hard or soft)


def _number(text: str) -> str:
    if text[-1:] in _SUFFIX:
        return str(int(text[:-1]) * 1024 ** _SUFFIX[text[-1]])
    return text


def manager_settings(probe: Probe, kind: str) -> Dict[str, str]:
    """The [Manager] settings of system.conf or user.conf and their drop-ins; the last assignment counts."""
    files: Dict[str, str] = {}
    for folder in ("/usr/lib/systemd", "/etc/systemd"):
        files.update({path.rpartition("/")[2]: path for path in probe.glob("{}/{}.conf.d/*.conf".format(folder, kind))})
    settings: Dict[str, str] = {}
    for path in ["/etc/systemd/{}.conf".format(kind)] + [files[name] for name in sorted(files)]:
        for line in (probe.read(path) or "").splitlines():
            if "=" in line and line.strip()[0] not in "#;":
                name, _, value = line.strip().partition("=")
                settings[name.strip()] = value.strip()
    return settings
