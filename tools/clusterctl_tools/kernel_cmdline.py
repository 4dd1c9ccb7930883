"""The kernel command line: parameters in order, by the kernel's own rules."""

import re
from typing import Any, Dict, List, Optional

Parameters = Dict[str, List[Optional[str]]]

# The kernel reads each `pci=` by itself (drivers/pci/pci.c, early_param): `pci=config_acs=...` of rdma_topo does not undo a declared `pci=realloc=off`.
_ADD_UP = frozenset({"pci"})
_PARAMETER = re.compile(r'(?:"[^"]*"|[^\s"])+')


def kernel_words(text: str) -> List[str]:
    """The words that count: the kernel takes what follows `--` for arguments of init."""
    # Names with a dot count there, too: modprobe (kmod 84fa569, libkmod-config.c) and dracut (dracut-ng 02e7ae10, src/util/util.c) do not stop at `--`.
    words = _PARAMETER.findall(text)
    end = words.index("--") if "--" in words else len(words)
    return words[:end] + [word for word in words[end + 1 :] if "." in word.partition("=")[0]]


def parse(text: str) -> Parameters:
    """Name -> values in order, None for one without a value. Blanks separate, double quotes keep blanks together."""
    parameters: Parameters = {}
    for word in kernel_words(text):
        name, equals, value = word.partition("=")
        parameters.setdefault(name.strip('"'), []).append(value.strip('"') if equals else None)
    return parameters


def canonical(name: str) -> str:
    """The kernel treats `-` and `_` in parameter names as equal."""
    return name.replace("-", "_")


def by_canonical_name(parameters: Parameters) -> Parameters:
    """Parameters with all spellings of a name merged."""
    result: Parameters = {}
    for name, values in parameters.items():
        result.setdefault(canonical(name), []).extend(values)
    return result


def parse_canonical(text: str) -> Parameters:
    """A command line by canonical parameter name."""
    return by_canonical_name(parse(text))


def declared_values(declared: Any) -> List[Optional[str]]:
    """The values that a declared parameter must have, in order; an empty list means absent, None means without a value."""
    if declared is False:
        return []
    items = declared if isinstance(declared, list) else [declared]
    return [None if item is True else str(item) for item in items]


def options(name: str, values: List[Optional[str]]) -> List[str]:
    """The names of the options that these values have, of a parameter whose words add up; none of another one."""
    return [option.partition("=")[0] for value in values for option in (value or "").split(",")] if canonical(name) in _ADD_UP else []


def managed(name: str, declared: List[Optional[str]], found: List[Optional[str]]) -> List[Optional[str]]:
    """What of the values found to compare with the declared ones: all, but of a parameter whose words add up only the declared options."""
    wanted = options(name, declared)
    if not wanted:
        return found
    kept = [",".join(o for o in (value or "").split(",") if o.partition("=")[0] in wanted) for value in found]
    return [value for value in kept if value]


def as_words(name: str, values: List[Optional[str]]) -> str:
    """`console=tty0 console=ttyS0`, for display; `(absent)` for no value."""
    return " ".join(name if v is None else "{}={}".format(name, v) for v in values) or "(absent)"
