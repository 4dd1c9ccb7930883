"""lctl of Lustre: the values of a parameter on all of its targets."""

import re
from typing import Set, Tuple


def get_argv(name: str) -> Tuple[str, ...]:
    """The command that prints the values of a parameter without its names.

    Args:
        name: of one parameter, or a pattern.
    """
    return ("lctl", "get_param", "-n", name)


def parse_values(name: str, text: str) -> Set[str]:
    """The values that `set_param` would set, of the output of `get_argv`.

    `max_cached_mb` prints a record, whose line of its own name has the value (ll_max_cached_mb_seq_show), and `checksum_type` all types with the chosen one
    in brackets.
    """
    lines = [" ".join(line.split()) for line in text.splitlines() if line.strip()]
    own = name.rpartition(".")[2] + ": "
    lines = [line[len(own) :] for line in lines if line.startswith(own)] or lines
    return {_chosen(line) for line in lines}


# osc_checksum_type_seq_show (lustre/osc/lproc_osc.c) prints the chosen type of `checksum_type` in brackets.
def _chosen(line: str) -> str:
    chosen = re.findall(r"(?:^| )\[(\w+)\](?= |$)", line)
    return chosen[0] if len(chosen) == 1 else line
