"""What one more node costs a peer."""

from __future__ import annotations

import hashlib
import subprocess
import sys
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from cpu_cost import CannotMeasureError, Ran, must, run

if TYPE_CHECKING:
    from collections.abc import Callable

    from lab_site import Lab

ROOT = Path(__file__).resolve().parents[1]
_LOCKED = ROOT / "requirements" / "bench.txt"


@dataclass(frozen=True)
class Cost:
    """A peer over one node and over two.

    Attributes:
        cpu_s_per_node: the difference of the two runs: start-up is not in it, the connection of the second node is.
        did: what the peer did for each node, counted from what it said.
        of: what is counted: tasks, checks, operations.
    """

    cpu_s_per_node: float
    cpu_s_one: float
    cpu_s_two: float
    wall_s_two: float
    did: int
    of: str

    def numbers(self, name: str) -> dict[str, Any]:
        """For build/bench.json."""
        return {f"{name}_controller_s_per_node": self.cpu_s_per_node, f"{name}_{self.of}": self.did, f"{name}_cost": asdict(self)}


def per_node(
    lab: Lab,
    argv_for: Callable[[tuple[str, ...]], list[str]],
    count: Callable[[Ran, tuple[str, ...]], int],
    of: str,
    *,
    env: dict[str, str],
    good: tuple[int, ...] = (0,),
) -> Cost:
    """Run a peer over one node, then over both. Each run opens its own connections; they end with it and are counted.

    Raises:
        CannotMeasureError: a run failed, or did less for one node than for another.
    """
    ran, did = {}, set()
    for names in (lab.names[:1], lab.names):
        argv = argv_for(names)
        ran[len(names)] = must(run(argv, cwd=lab.site, env=env), Path(argv[0]).name, good)
        did.add(count(ran[len(names)], names))
    if len(did) != 1 or not min(did):
        raise CannotMeasureError(f"not the same number of {of} for each node: {sorted(did)}")
    one, two = ran[1], ran[2]
    return Cost(two.cpu_s - one.cpu_s, one.cpu_s, two.cpu_s, two.wall_s, did.pop(), of)


def environment(folder: Path) -> Path:
    """The peers' own virtual environment, made from the locked list; its `bin`.

    Raises:
        CannotMeasureError: it cannot be installed.
    """
    wanted = hashlib.sha256(_LOCKED.read_bytes()).hexdigest()
    stamp = folder / "installed-from"
    if not stamp.is_file() or stamp.read_text() != wanted:
        pip = [str(folder / "bin" / "python"), "-m", "pip", "install", "-q", "--disable-pip-version-check", "--require-hashes"]
        for argv in ([sys.executable, "-m", "venv", "--clear", str(folder)], [*pip, "-r", str(_LOCKED)]):
            done = subprocess.run(argv, capture_output=True, text=True, check=False)
            if done.returncode:
                raise CannotMeasureError(f"the peers cannot be installed: {(done.stdout + done.stderr)[-600:]}")
        stamp.write_text(wanted)
    return folder / "bin"
