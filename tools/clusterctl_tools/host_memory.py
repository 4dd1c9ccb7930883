"""host_memory.py of the burn-in: stressapptest fills the free memory of a node, between a line about the memory and one about the end.

The program is clusterctl's own (role burnin); stressapptest is of the site's package.
"""

from typing import Any, Dict, List, NamedTuple, Optional, Sequence

from .json_lines import object_in
from .stressapptest import PROGRAM as STRESSAPPTEST

PROGRAM = "host_memory.py"
# Exit statuses: there is no stressapptest; too little memory is free; it could not be started as it must be; it did not end with 0.
NO_STRESSAPPTEST, NO_ROOM, NOT_STARTED, ENDED_BADLY = 3, 4, 5, 6

_SECONDS = "--seconds"


class MemoryLoad(NamedTuple):
    """The lines of a run beside those of stressapptest.

    Attributes:
        node_mib: memory of the NUMA nodes with processors; free_mib: what of it was free, or could be freed; asked_mib: what was to be tested.
            None where the run ended before it read them.
        exit_status: of stressapptest; below 0 the signal that ended it; None where it is not known.
        oom_kills: processes that the kernel ended for lack of memory meanwhile.
        problem: why stressapptest was not started.
    """

    node_mib: Optional[int]
    free_mib: Optional[int]
    asked_mib: Optional[int]
    exit_status: Optional[int]
    oom_kills: int
    problem: str


def load_argv(seconds: int, *, memory_percent: int = 95, threads: Optional[int] = None, program: str = STRESSAPPTEST) -> Sequence[str]:
    """The command that loads the memory for so long, filling and the last comparison not counted."""
    own = ("--threads", str(threads)) if threads else ()
    return ("python3", PROGRAM, _SECONDS, str(seconds), "--memory-percent", str(memory_percent), *own, "--program", program)


def version_argv(program: str = STRESSAPPTEST) -> Sequence[str]:
    """Its version is that of stressapptest."""
    return ("python3", PROGRAM, "--version", "--program", program)


def requested_s(argv: Sequence[str]) -> float:
    """The run time that `load_argv` requested; 0 for another command."""
    words = list(argv)
    return float(words[words.index(_SECONDS) + 1]) if _SECONDS in words[:-1] else 0.0


def read_load(text: str) -> MemoryLoad:
    """The lines of a run, complete or not.

    Raises:
        ValueError: a line is cut off, has no value or another one than it must, or occurs twice; or none is about the memory or a problem.
    """
    begun: List[Dict[str, Any]] = []
    ended: List[Dict[str, Any]] = []
    problem = ""
    for line in text.splitlines():
        if not line.startswith("{"):
            continue  # of stressapptest
        values = object_in(line)
        if "problem" in values:
            problem = str(values["problem"])
        else:
            (begun if "schema_version" in values else ended).append(values)
    if len(begun) > 1 or len(ended) > 1 or (not begun and not problem):
        raise ValueError("its lines about the memory and the end are not there once")
    begin, end = begun[0] if begun else None, ended[0] if ended else None
    return MemoryLoad(
        node_mib=_count(begin, "node_mib") if begin else None,
        free_mib=_count(begin, "free_mib") if begin else None,
        asked_mib=_count(begin, "asked_mib") if begin else None,
        exit_status=_integer(end, "exit_status") if end else None,
        oom_kills=_count(end, "oom_kills") if end else 0,
        problem=problem,
    )


def _count(values: Dict[str, Any], name: str) -> int:
    number = _integer(values, name)
    if number < 0:
        raise ValueError("its {} is {}".format(name, number))
    return number


def _integer(values: Dict[str, Any], name: str) -> int:
    number = values.get(name)
    if not isinstance(number, int) or isinstance(number, bool):
        raise ValueError("its {} is {!r}".format(name, number))  # noqa: TRY004 one kind of error for all bad output
    return number
