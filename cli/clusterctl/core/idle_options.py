"""Options of ansible-playbook with which it changes nothing, and a run that applied nothing would look like one that did."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

# ansible-playbook --help; argparse takes every unique beginning of a long option
_LONG = ("--list-tasks", "--list-hosts", "--list-tags", "--syntax-check", "--check", "--version", "--help")
# short options that take no value, with -C or -h among them
_SHORT = re.compile(r"-[vbDKkJ]*[Ch]")
_WITH_VALUE = frozenset({"-e", "--extra-vars", "-t", "--tags", "--skip-tags", "-l", "--limit", "--start-at-task", "-i", "-f", "--forks"})
_SHORTEST = len("--sy")


def idle_option(ansible_args: Sequence[str]) -> str:
    """The first of the arguments with which ansible-playbook changes nothing, as typed; empty if there is none."""
    words = iter(ansible_args)
    for word in words:
        if word in _WITH_VALUE:
            next(words, "")
        elif _SHORT.match(word) or (len(word) >= _SHORTEST and any(name.startswith(word) for name in _LONG)):
            return word
    return ""
