"""The cost of a peer tool per node."""

from __future__ import annotations

import hashlib
import subprocess
import sys
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from cpu_cost import CannotMeasureError, FinishedCommand, require_success, run_command

if TYPE_CHECKING:
    from collections.abc import Callable

    from lab_site import Lab

ROOT = Path(__file__).resolve().parents[1]
_LOCKED = ROOT / "requirements" / "bench.txt"


@dataclass(frozen=True)
class PeerCost:
    """The cost of a peer on one node and on two.

    Attributes:
        cpu_s_per_node: difference of the two runs; includes the connection to the second node, but not the start-up.
        did: units of work per node, counted from the peer's output.
        of: unit of work: tasks, checks or operations.
    """

    cpu_s_per_node: float
    cpu_s_one: float
    cpu_s_two: float
    wall_s_two: float
    did: int
    of: str

    def numbers(self, name: str) -> dict[str, Any]:
        """The entries for build/bench.json."""
        return {f"{name}_controller_s_per_node": self.cpu_s_per_node, f"{name}_{self.of}": self.did, f"{name}_cost": asdict(self)}


def cost_per_node(
    lab: Lab,
    argv_for: Callable[[tuple[str, ...]], list[str]],
    count: Callable[[FinishedCommand, tuple[str, ...]], int],
    of: str,
    *,
    env: dict[str, str],
    good: tuple[int, ...] = (0,),
) -> PeerCost:
    """Run a peer on one node, then on both. Each run opens its own connections, whose cost is included.

    Raises:
        CannotMeasureError: a run failed, or did different work on the nodes.
    """
    ran, did = {}, set()
    for names in (lab.names[:1], lab.names):
        argv = argv_for(names)
        ran[len(names)] = require_success(run_command(argv, cwd=lab.site, env=env), Path(argv[0]).name, good)
        did.add(count(ran[len(names)], names))
    if len(did) != 1 or not min(did):
        raise CannotMeasureError(f"the nodes have different numbers of {of}: {sorted(did)}")
    one, two = ran[1], ran[2]
    return PeerCost(two.cpu_s - one.cpu_s, one.cpu_s, two.cpu_s, two.wall_s, did.pop(), of)


def peer_environment(folder: Path) -> Path:
    """Create the virtual environment of the peers from the locked list, and return its `bin`.

    Raises:
        CannotMeasureError: it cannot be installed.
    """
    digest = hashlib.sha256(_LOCKED.read_bytes()).hexdigest()
    stamp = folder / "installed-from"
    if not stamp.is_file() or stamp.read_text() != digest:
        pip = [str(folder / "bin" / "python"), "-m", "pip", "install", "-q", "--disable-pip-version-check", "--require-hashes"]
        for argv in ([sys.executable, "-m", "venv", "--clear", str(folder)], [*pip, "-r", str(_LOCKED)]):
            done = subprocess.run(argv, capture_output=True, text=True, check=False)
            if done.returncode:
                raise CannotMeasureError(f"the peers cannot be installed: {(done.stdout + done.stderr)[-600:]}")
        stamp.write_text(digest)
    return folder / "bin"
