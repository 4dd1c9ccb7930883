"""stressapptest of Google: it fills memory with patterns, copies it from page to page by all processors, and compares every page with what was written.

Formats: sat.cc, worker.cc and error_diag.cc of stressapptest/stressapptest@73b9df2 (1.0.11); 1.0.6 prints the same without the time of each line.
"""

import re
from math import isfinite
from typing import List, Match, NamedTuple, Optional, Pattern

PROGRAM = "stressapptest"

# Each occurs once in a run that went to its end; its counters have 64 bits.
_LINES = {
    "started": re.compile(r"Stats: Starting SAT, (\d{1,19})M, (\d{1,19}) seconds"),
    "found": re.compile(r"Stats: Found (\d{1,19}) hardware incidents"),
    "completed": re.compile(r"Stats: Completed: [\d.]+M in ([\d.]+)s [\d.]+MB/s, with (-?\d{1,19}) hardware incidents, (\d{1,19}) errors"),
    "copied": re.compile(r"Stats: Memory Copy: ([\d.]+)M at ([\d.]+)MB/s"),
    "verdict": re.compile(r"Status: (PASS|FAIL) - (please verify no corrected errors|test (?:discovered|encountered) \w+ \w+)"),
}
_REPORT = re.compile(r"Report Error: miscompare : ")
# Its checksum was wrong and the words read again were right: it prints this and counts nothing (CrcCheckPage).
_PASSING = re.compile(r"CrcCheckPage CRC mismatch [0-9a-f !=]{1,200}, but no miscompares found")
_WHERE = re.compile(r"(?:Hardware|Page|Block) Error: miscompare on .*")
_COMPLAINT = re.compile(r"(?:Process|Procedural) Error: (?!CPU \d)(.*)")
_FIRST_LENGTH = 200


class StressRun(NamedTuple):
    """The output of a run, complete or not.

    Attributes:
        tested_mib, requested_s: what was requested of it, and what it could allocate; None where it did not begin.
        hugepages: it took reserved huge pages in place of free memory.
        reported: words that it printed as read otherwise than written: 30 of each thread at most, also where it was killed before it counted them.
        where: the first of them, as it prints it: processor, address, what was read.
        found: its own count. Before 1.0.9 it may be 0, and the verdict PASS, where words were reported (its issue 56); None where it did not come to it.
        ran_s: how long it loaded the memory; copied_mib: read and written, so twice what was copied; rate_mib_s: of both.
        passed: its verdict; None where it did not come to one.
        complaint: the first error that is not one of the memory; empty where there is none.
        unallocated: it could not get the memory.
    """

    tested_mib: Optional[int]
    requested_s: Optional[int]
    hugepages: bool
    reported: int
    where: str
    found: Optional[int]
    ran_s: Optional[float]
    copied_mib: float
    rate_mib_s: float
    passed: Optional[bool]
    complaint: str
    unallocated: bool

    @property
    def incidents(self) -> int:
        """Words that were read otherwise than written, by its count or by what it printed, whichever is more."""
        return max(self.found or 0, self.reported)


def read_stress(text: str) -> StressRun:
    """The output of a run, complete or not.

    Raises:
        ValueError: a line that occurs once is there twice, or a number in it is not finite.
    """
    seen = {name: _once(name, pattern, text) for name, pattern in _LINES.items()}
    started, found, completed, copied = (seen[name] for name in ("started", "found", "completed", "copied"))
    verdict = seen["verdict"]
    # It prints the count twice, the second time with 32 bits.
    counts = [abs(int(m.group(i))) for m, i in ((found, 1), (completed, 2)) if m]
    where, complaint = _WHERE.search(text), _COMPLAINT.search(text)
    return StressRun(
        tested_mib=int(started.group(1)) if started else None,
        requested_s=int(started.group(2)) if started else None,
        hugepages="Log: Using shared hugepage object" in text,
        reported=len(_REPORT.findall(text)) + len(_PASSING.findall(text)),
        where=where.group(0)[:_FIRST_LENGTH] if where else "",
        found=max(counts) if found and completed else None,
        ran_s=_number(completed.group(1)) if completed else None,
        copied_mib=_number(copied.group(1)) if copied else 0.0,
        rate_mib_s=_number(copied.group(2)) if copied else 0.0,
        passed=verdict.group(1) == "PASS" and not (completed and int(completed.group(3))) if verdict else None,
        complaint=complaint.group(1).strip()[:_FIRST_LENGTH] if complaint else "",
        unallocated="Process Error: failed to allocate memory" in text,
    )


def _once(name: str, pattern: Pattern[str], text: str) -> Optional[Match[str]]:
    matches: List[Match[str]] = list(pattern.finditer(text))
    if len(matches) > 1:
        raise ValueError("it has the line {!r} {} times".format(name, len(matches)))
    return matches[0] if matches else None


def _number(word: str) -> float:
    number = float(word)
    if not isfinite(number):
        raise ValueError("a number in it is {}".format(number))
    return number
