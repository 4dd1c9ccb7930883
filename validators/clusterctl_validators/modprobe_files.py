"""The files of modprobe, in the order in which it reads them: of two values of an option the last one counts."""

from typing import Dict

from clusterctl_validators.probe import Probe

# A file hides those of the same name before it.
_FOLDERS = ("/usr/lib/modprobe.d", "/run/modprobe.d", "/etc/modprobe.d")


def read_all(probe: Probe) -> str:
    """The lines of all files: by file name; a file in /etc hides one of the same name in /usr/lib. One that a backslash continues is one line (modprobe.d(5))."""
    files: Dict[str, str] = {}
    for folder in _FOLDERS:
        files.update({path.rpartition("/")[2]: path for path in probe.glob(folder + "/*.conf")})
    return "\n".join((probe.read(files[name]) or "").replace("\\\n", " ") for name in sorted(files))
