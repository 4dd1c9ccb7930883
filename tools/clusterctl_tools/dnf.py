"""dnf: streams of modules, and packages that a repository excludes."""

import re
from typing import List, Optional

_EXCLUDES = re.compile(r"^excludepkgs = *(.*)$", re.MULTILINE)


def enabled_streams_argv(module: str) -> List[str]:
    """The command that prints the enabled streams of a module."""
    return ["dnf", "--quiet", "module", "list", "--enabled", module]


def parse_streams(text: str, module: str) -> List[str]:
    """The streams of a module in `dnf module list`, in order."""
    rows = [line.split() for line in text.splitlines()]
    return [words[1] for words in rows if len(words) > 1 and words[0] == module]


def repository_argv(repository: str) -> List[str]:
    """The command that prints the settings of a repository in force (dnf-plugins-core)."""
    return ["dnf", "config-manager", "--dump", repository]


def parse_excludes(text: str) -> Optional[str]:
    """The packages that a repository excludes, `a,b`, from `dnf config-manager --dump`; None if it shows no such setting."""
    found = _EXCLUDES.search(text)
    return found.group(1).replace(" ", "") if found else None
