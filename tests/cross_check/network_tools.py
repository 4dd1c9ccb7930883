"""ethtool needs an interface with rings and pause frames, which a virtual one does not have.

`-g` asks an interface of this machine, so only labels and spaces are compared. `-a` asks a library between it and the kernel (pause_from_environment.c).
"""

from __future__ import annotations

import subprocess
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

from cross_check.comparison import Comparison, Normalisation, ToolReport
from cross_check.compiled import compiled
from cross_check.world import Answer, World, simulated
from support.unpacked_tools import environment, which

if TYPE_CHECKING:
    from collections.abc import Sequence

TOOLS = ("ethtool",)
HARDWARE = "hgx_h100_roce"
# Other releases have other rows.
_VERSION = "ethtool version 6.1"
_NAME = "ens10np0"
_PAUSE = (("off", "off"), ("on", "on"), ("on", "off"))
_RINGS = (
    Normalisation(r"(:\t+)\S+$", r"\1V", "the values are those of this machine's interface"),
    Normalisation(r"for \S+:$", "for N:", "likewise the name"),
)


@cache
def interface() -> str:
    """An interface of this machine that has rings; empty if none has."""
    names = sorted(p.name for p in Path("/sys/class/net").iterdir())
    return next((name for name in names if _real("-g", name).rc == 0), "")


def _real(*words: str, **extra: str) -> Answer:
    done = subprocess.run(["ethtool", *words], env=environment() | extra, capture_output=True, text=True, check=False, timeout=30)
    return Answer(done.returncode, done.stdout, done.stderr)


def why_missing(tool: str) -> str:
    """What is absent to run it; empty if nothing is."""
    absent = next((name for name in (tool, "gcc") if not which(name)), "")
    return absent or ("" if _real("--version").stdout.strip() == _VERSION else _VERSION)


def compare(tools: Sequence[str]) -> list[ToolReport]:
    """Compare rings where an interface has some, pause parameters, and the answer for an interface that has neither."""
    return [ToolReport(tool, _VERSION, [*_rings(), *_pause(), *_unsupported()]) for tool in tools]


def _rings() -> list[Comparison]:
    if not interface():
        return []
    own = World(HARDWARE).run([simulated("ethtool", ["ethtool", "-g", _NAME])])[0]
    return [Comparison("ethtool", HARDWARE, "-g", _real("-g", interface()).text, own.text, _RINGS)]


def _pause() -> list[Comparison]:
    set_and_show = [[["ethtool", "-A", _NAME, "rx", rx, "tx", tx], ["ethtool", "-a", _NAME]] for rx, tx in _PAUSE]
    answers = World(HARDWARE).run([simulated("ethtool", words) for pair in set_and_show for words in pair])[1::2]
    library = str(compiled("pause_from_environment.c"))
    found = []
    for (rx, tx), own in zip(_PAUSE, answers, strict=True):
        values = f"0 {int(rx == 'on')} {int(tx == 'on')}"
        real = _real("-a", _NAME, LD_PRELOAD=library, PAUSE=values)
        found.append(Comparison("ethtool", HARDWARE, f"-a with rx {rx}, tx {tx}", real.text, own.text))
    return found


def _unsupported() -> list[Comparison]:
    """The loopback interface has neither rings nor pause frames, on any machine."""
    commands = [["ethtool", option, "lo"] for option in ("-g", "-a")]
    pairs = [argv for words in commands for argv in (words, simulated("ethtool", words))]
    answers = World(HARDWARE).run(pairs)
    return [
        Comparison("ethtool", HARDWARE, " ".join(w), r.text, o.text) for w, r, o in zip(commands, answers[::2], answers[1::2], strict=True)
    ]
