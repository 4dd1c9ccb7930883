"""gpu_burn: a GPU multiplies the same matrices again and again and compares every result with the first one.

Source of options, output and exit statuses: gpu_burn-drv.cpp and compare.cu of wilicc/gpu-burn@3ead140.
"""

import re
from typing import List, NamedTuple, Optional, Sequence, Tuple

PROGRAM = "gpu_burn"
# It has no version: its help shows that it is there, and whether it is the lab's.
VERSION_OPTION = "-h"
# The kernel that compares, which `make` builds beside the program; a package of the site has it here.
COMPARE = "/usr/share/gpu-burn/compare.fatbin"
# No client was left: `exit(ENOMEDIUM)`.
EXIT_ALL_DIED = 123
# It waits so long for its clients to end, always, before it kills those that are left (SIGTERM_TIMEOUT_THRESHOLD_SECS).
END_S = 30
# It takes any word with one of these inside for an option, the path after -c as well.
_OPTIONS_ANYWHERE = ("-h", "-l", "-d", "-tc")

_PROCESSED = re.compile(r"(?:proc'd: | - )(-?[0-9]{1,15}) \(([0-9]{1,15}) Gflop/s\)")
_ERRORS = re.compile(r"(-?\d{1,20}) {1,2}(?:\((DIED|WARNING)!\))?")
_TESTED = re.compile(r"^Tested (\d{1,4}) GPUs:", re.MULTILINE)
_VERDICT = re.compile(r"^\s*GPU (\d{1,4}): (OK|FAULTY)\s*$", re.MULTILINE)
_ITERATIONS = re.compile(r"thus performing (\d{1,10}) iterations")
_LINE_ENDS = re.compile(r"[\r\n]+")
_CAUSE = re.compile(r"(Couldn't init a GPU test|Couldn't init CUDA|Failure during compute): ?(.*)")
_NEVER_BEGAN = "Couldn't init"


class BurnedGpu(NamedTuple):
    """What it printed about one GPU.

    Attributes:
        multiplications: how many it had done at the last report; 0 = none that were compared, whatever the verdict is.
        died: its process ended before its time.
        errors: the number of differing elements in the worst report; it wraps at 2^31, so negative ones are errors, too.
        faulty: FAULTY in the verdict; None where the run ended without one.
    """

    multiplications: int
    died: bool
    errors: int
    faulty: Optional[bool]


class Burned(NamedTuple):
    """An output as a whole.

    Attributes:
        at_once: results that are kept and compared, the least of all GPUs; 0 where it does not print it.
        cause: why a process ended before its time, as it printed it.
        began: that process had multiplied before.
    """

    gpus: Tuple[BurnedGpu, ...]
    at_once: int
    cause: str
    began: bool


def burn_argv(
    gpu: int, seconds: int, *, memory_percent: int = 90, end_s: int = END_S, program: str = PROGRAM, compare: str = COMPARE
) -> Sequence[str]:
    """The command that burns one GPU, numbered by PCI address as nvidia-smi does, on its Tensor Cores."""
    words = (program, "-c", compare, "-m", "%d%%" % memory_percent, "-tc", "-stts", str(end_s), "-i", str(gpu), str(seconds))
    return ("env", "CUDA_DEVICE_ORDER=PCI_BUS_ID", *words)


def requested_s(argv: Sequence[str]) -> float:
    """The run time that `burn_argv` requested; 0 for another command."""
    words = list(argv)
    return float(words[-1]) if "-tc" in words and words[-1].isdigit() else 0.0


def misread(word: str) -> str:
    """The option for which it would take a path; empty if it takes it for a path."""
    return next((option for option in _OPTIONS_ANYWHERE if option in word), "")


def read_burn(stdout: str, stderr: str = "") -> Burned:
    """The output of a run, complete or not.

    Raises:
        ValueError: nothing in it is a report of a GPU.
    """
    reports = [found for found in map(_report, _LINE_ENDS.split(stdout)) if found]
    verdicts = _verdicts(stdout)
    cause = _CAUSE.search(stderr) or _CAUSE.search(stdout)
    began = any(done > 0 for report in reports for done, _, _ in report)
    if not reports and cause is None:
        raise ValueError("it has no report of a GPU (`proc'd:`)")
    if reports and len({len(report) for report in reports}) != 1:
        raise ValueError("its reports are of different numbers of GPUs")
    count = len(reports[0]) if reports else 0
    if verdicts is not None and len(verdicts) != count:
        raise ValueError("it has verdicts on %d GPUs and reports of %d" % (len(verdicts), count))
    gpus = []
    for place in range(count):
        column = [report[place] for report in reports]
        gpus.append(
            BurnedGpu(
                max(0, *(done for done, _, _ in column)),
                any(died for _, _, died in column),
                max((errors for _, errors, _ in column), key=abs),
                None if verdicts is None else verdicts[place],
            )
        )
    at_once = [int(found) for found in _ITERATIONS.findall(stdout)]
    text = "" if cause is None else "%s: %s" % (cause.group(1), cause.group(2).strip())
    return Burned(tuple(gpus), min(at_once) if at_once else 0, text, began and not text.startswith(_NEVER_BEGAN))


def _report(line: str) -> List[Tuple[int, int, bool]]:
    """Of each GPU the multiplications, the errors, and whether it died; empty where the line is not a complete report."""
    done, found, rest = line.partition("  errors: ")
    errors, ended, _ = rest.partition("  temps: ")
    if not found or not ended or "proc'd: " not in done:
        return []
    # Without a rate it multiplied nothing: both are 0 until the first results of a GPU are compared.
    processed = [int(number) if int(rate) or number.startswith("-") else 0 for number, rate in _PROCESSED.findall(done)]
    wrong = _ERRORS.findall(errors + " ")
    if len(processed) != len(wrong):
        return []
    return [(number, int(count), note == "DIED" or number < 0) for number, (count, note) in zip(processed, wrong)]


def _verdicts(text: str) -> Optional[List[bool]]:
    """FAULTY or not, in the order of the GPUs; None where there is no verdict at all.

    Raises:
        ValueError: it announces more or fewer than it has.
    """
    heads = list(_TESTED.finditer(text))
    if not heads:
        return None
    found = _VERDICT.findall(text[heads[-1].end() :])
    if len(found) != int(heads[-1].group(1)) or [int(number) for number, _ in found] != list(range(len(found))):
        raise ValueError("it announces %s verdicts and has %d" % (heads[-1].group(1), len(found)))
    return [word == "FAULTY" for _, word in found]
