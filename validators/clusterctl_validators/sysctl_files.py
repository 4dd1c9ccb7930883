"""The value of a kernel setting that files restore at boot, by the rules of systemd-sysctl."""

from typing import Dict, Tuple

from clusterctl_validators.probe import Probe

# Lowest precedence first: a file hides those of the same name before it.
_FOLDERS = ("/usr/lib/sysctl.d", "/usr/local/lib/sysctl.d", "/run/sysctl.d", "/etc/sysctl.d")
_LAST = "/etc/sysctl.conf"


def restored_at_boot(probe: Probe) -> Dict[str, Tuple[str, str]]:
    """`{dotted key: (value, file)}`; the last assignment counts. /etc/sysctl.conf comes last, as in `sysctl --system`."""
    files: Dict[str, str] = {}
    for folder in _FOLDERS:
        files.update({path.rpartition("/")[2]: path for path in probe.glob(folder + "/*.conf")})
    values: Dict[str, Tuple[str, str]] = {}
    for path in [files[name] for name in sorted(files)] + [_LAST]:
        for key, value in parse(probe.read(path) or "").items():
            values[key] = (value, path)
    return values


def parse(text: str) -> Dict[str, str]:
    """The assignments of one file."""
    found = {}
    for line in text.splitlines():
        stripped = line.strip().lstrip("-")
        if stripped and stripped[0] not in "#;" and "=" in stripped:
            key, _, value = stripped.partition("=")
            found[dotted(key.strip())] = plain(value)
    return found


def dotted(key: str) -> str:
    """`net/ipv4/conf/eth0.100/x` is `net.ipv4.conf.eth0/100.x`: if the first separator is a slash, dots and slashes swap."""
    first = next((c for c in key if c in "./"), ".")
    return key.translate(str.maketrans("./", "/.")) if first == "/" else key


def proc_path(key: str) -> str:
    """The /proc path of a dotted key."""
    return "/proc/sys/" + dotted(key).translate(str.maketrans("./", "/."))


def plain(value: object) -> str:
    """Each run of blanks as one blank."""
    return " ".join(str(value).split())
