"""`python -m fuzz`: spoils outputs of tools, feeds them to parsers and judge, writes build/fuzz.json. Exits 1 if anything crashed, passed or was slow."""

from __future__ import annotations

import argparse
import json
import os
import signal
import sys
import time
from collections import Counter
from contextlib import contextmanager
from dataclasses import dataclass, field
from fnmatch import fnmatch
from multiprocessing import Pool
from pathlib import Path
from random import Random
from typing import TYPE_CHECKING

from fuzz.mutators import mutate
from fuzz.targets import all_targets
from support.roles import ROOT

if TYPE_CHECKING:
    from collections.abc import Iterator

_CHUNK = 2000
_SLOW_S = 1.0
_LONGEST_S = 10
_KEPT = 20


@dataclass
class Tally:
    """The result of some inputs; `problems` are at most some, with the input that shows them."""

    inputs: Counter[str] = field(default_factory=Counter)
    crashes: int = 0
    wrong: int = 0
    slow: int = 0
    slowest_s: float = 0.0
    problems: list[dict[str, str]] = field(default_factory=list)

    def add(self, other: Tally) -> None:
        """Count those of another one, too."""
        self.inputs += other.inputs
        self.crashes, self.wrong, self.slow = self.crashes + other.crashes, self.wrong + other.wrong, self.slow + other.slow
        self.slowest_s = max(self.slowest_s, other.slowest_s)
        self.problems = (self.problems + other.problems)[:_KEPT]


def main() -> int:
    """Run. Returns 0 if nothing was found."""
    args = _arguments()
    began = time.monotonic()
    targets = [number for number, target in enumerate(all_targets()) if fnmatch(target.name, args.only)]
    if not targets:
        print(f"no target is named {args.only!r}: {', '.join(t.name for t in all_targets())}", file=sys.stderr)
        return 2
    each = -(-args.inputs // len(targets))
    jobs = [(t, args.seed, first, min(_CHUNK, each - first)) for t in targets for first in range(0, each, _CHUNK)]
    total = Tally()
    with Pool(args.processes) as pool:
        for number, part in enumerate(pool.imap_unordered(_run, jobs), 1):
            total.add(part)
            if sys.stderr.isatty() or number % 50 == 0:
                print(
                    f"[{time.monotonic() - began:5.0f}s] {total.inputs.total()} inputs, {total.crashes} crashes, {total.wrong} wrong",
                    file=sys.stderr,
                )
    document = {
        "inputs": total.inputs.total(),
        "crashes": total.crashes,
        "false_passes": total.wrong,
        "over_1_s": total.slow,
        "slowest_s": round(total.slowest_s, 3),
        "seed": args.seed,
        "duration_s": round(time.monotonic() - began),
        "targets": dict(total.inputs),
        "problems": total.problems,
    }
    args.out.parent.mkdir(parents=True, exist_ok=True)
    args.out.write_text(json.dumps(document, indent=2) + "\n", encoding="utf-8")
    print(f"{document['inputs']} inputs: {total.crashes} crashes, {total.wrong} false passes, {total.slow} over 1 s; {args.out}")
    return 1 if total.crashes or total.wrong or total.slow else 0


class _EndlessError(BaseException):
    """No error of a reader: none of them may catch it."""


@contextmanager
def _limited() -> Iterator[None]:
    """End what takes longer than `_LONGEST_S` of CPU time; workers have no other signals."""

    def end(*_args: object) -> None:
        raise _EndlessError

    before = signal.signal(signal.SIGVTALRM, end)
    signal.setitimer(signal.ITIMER_VIRTUAL, _LONGEST_S)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_VIRTUAL, 0)
        signal.signal(signal.SIGVTALRM, before)


def _run(job: tuple[int, int, int, int]) -> Tally:
    number, seed, first, count = job
    target = all_targets()[number]
    tally = Tally()
    for index in range(first, first + count):
        random = Random(f"{seed}/{target.name}/{index}")  # noqa: S311 repeatable, not secret
        text = mutate(random.choice(target.corpus), random)
        began = time.process_time()
        try:
            with _limited():
                wrong = target.check(text)
        except _EndlessError:
            wrong = f"took {_LONGEST_S} s, and was ended"
            tally.slow += 1
        except Exception as e:  # noqa: BLE001 the crash of a reader is what is looked for
            wrong = ""
            tally.crashes += 1
            tally.problems.append(
                {"target": target.name, "index": str(index), "problem": f"{type(e).__name__}: {e}"[:300], "input": text[:2000]}
            )
        spent_s = time.process_time() - began
        tally.slowest_s = max(tally.slowest_s, spent_s)
        if spent_s > _SLOW_S and not wrong:
            tally.slow += 1
            wrong = f"took {spent_s:.1f} s"
        if wrong:
            tally.wrong += not wrong.startswith("took")
            tally.problems.append({"target": target.name, "index": str(index), "problem": wrong, "input": text[:2000]})
    tally.inputs[target.name] = count
    return tally


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="fuzz", description=__doc__)
    parser.add_argument("--inputs", type=int, default=1_000_000, help="number of inputs, spread evenly over the targets")
    parser.add_argument("--seed", type=int, default=1, help="the same seed gives the same inputs")
    parser.add_argument("--only", default="*", metavar="PATTERN", help="targets whose name matches, for example 'judge *'")
    parser.add_argument("--processes", type=int, default=os.cpu_count())
    parser.add_argument("--out", type=Path, default=ROOT / "build" / "fuzz.json")
    return parser.parse_args()


if __name__ == "__main__":
    sys.exit(main())
