"""Pure readers of the NVIDIA kernel module: version, parameters in force, and persisted parameters."""

import re
from dataclasses import dataclass
from typing import Any, Dict, List, Mapping

_LOADED = re.compile(r"NVRM version:\s+NVIDIA UNIX (?P<text>.*?)\s+(?P<version>\d{3}\.\d{2,3}(?:\.\d{2})?)(?:\s|$)", re.MULTILINE)
_OPTION = re.compile(r'(\w+)=(?:"([^"]*)"|(\S+))')
# Parameters that /proc/driver/nvidia/params lists under another name (kernel-open/nvidia/nv-reg.h).
_LISTED_AS = {"RestrictProfilingToAdminUsers": "RmProfilingAdminOnly"}


class UnreadableModuleError(ValueError):
    """The file is not what the NVIDIA module writes."""


@dataclass(frozen=True)
class LoadedModule:
    """The loaded module; `flavour` is `open` or `proprietary`."""

    version: str
    flavour: str


def parse_version(text: str) -> LoadedModule:
    """Parse /proc/driver/nvidia/version. Raises UnreadableModuleError if it contains no version."""
    found = _LOADED.search(text)
    if not found:
        raise UnreadableModuleError("/proc/driver/nvidia/version: {!r}".format(text[:80]))
    return LoadedModule(found.group("version"), "open" if "Open Kernel Module" in found.group("text") else "proprietary")


def flavour_of_license(text: str) -> str:
    """The flavour from `modinfo -F license nvidia`: the open module is dual-licensed."""
    return "open" if "GPL" in text else "proprietary"


def parse_parameters(text: str) -> Dict[str, str]:
    """Name -> value, from /proc/driver/nvidia/params."""
    pairs = (line.partition(":") for line in text.splitlines() if ":" in line)
    return {name.strip(): value.strip().strip('"') for name, _, value in pairs}


def listed_names(parameter: str) -> List[str]:
    """The names under which the module may list `NVreg_<Name>`."""
    plain = re.sub("^NVreg_", "", parameter)
    return [_LISTED_AS[plain], plain] if plain in _LISTED_AS else [plain]


def parse_options(text: str) -> Dict[str, str]:
    """Parameters on the `options nvidia` lines of a modprobe.d file."""
    lines = [line.split(None, 2)[2] for line in text.splitlines() if re.match(r"options\s+nvidia\s+\S", line)]
    return {name: quoted or bare for line in lines for name, quoted, bare in _OPTION.findall(line)}


def as_written(parameters: Mapping[str, Any]) -> Dict[str, str]:
    """Declared parameters in the form of files and kernel: booleans are 1 and 0."""
    return {name: str(int(v)) if isinstance(v, bool) else str(v) for name, v in parameters.items()}
