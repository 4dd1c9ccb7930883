"""Pure readers of the NVIDIA kernel module: what is loaded, with which parameters, and what the persisted files say."""

import re
from dataclasses import dataclass
from typing import Any, Dict, List, Mapping

_LOADED = re.compile(r"NVRM version:\s+NVIDIA UNIX (?P<text>.*?)\s+(?P<version>\d{3}\.\d{2,3}(?:\.\d{2})?)(?:\s|$)", re.MULTILINE)
_OPTION = re.compile(r'(\w+)=(?:"([^"]*)"|(\S+))')
# Parameters that the module lists under another name in /proc/driver/nvidia/params (kernel-open/nvidia/nv-reg.h).
_LISTED_AS = {"RestrictProfilingToAdminUsers": "RmProfilingAdminOnly"}


class UnreadableModuleError(ValueError):
    """The file is not what the NVIDIA module writes."""


@dataclass(frozen=True)
class LoadedModule:
    """The module in the kernel; `flavour` is `open` or `proprietary`."""

    version: str
    flavour: str


def parse_version(text: str) -> LoadedModule:
    """Read /proc/driver/nvidia/version. UnreadableModuleError if no version is in it."""
    found = _LOADED.search(text)
    if not found:
        raise UnreadableModuleError("/proc/driver/nvidia/version: {!r}".format(text[:80]))
    return LoadedModule(found.group("version"), "open" if "Open Kernel Module" in found.group("text") else "proprietary")


def flavour_of_license(text: str) -> str:
    """What `modinfo -F license nvidia` tells: the open module is dual-licensed."""
    return "open" if "GPL" in text else "proprietary"


def parse_parameters(text: str) -> Dict[str, str]:
    """Name -> value as /proc/driver/nvidia/params lists them."""
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
    """Declared parameters as files and the kernel write them: booleans are 1 and 0."""
    return {name: str(int(v)) if isinstance(v, bool) else str(v) for name, v in parameters.items()}
