"""What training_proxy.py prints on the nodes of a group, for tests; and the program itself, as if each process were a node."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from functools import cache
from typing import TYPE_CHECKING, Any

from clusterctl.core.gates.subject import subject_of
from clusterctl.core.gates.training_proxy import parts_of
from clusterctl.model.level import LEVELS
from clusterctl_tools.training_proxy import TrainingLoad, training_argv
from support.agents import FILES
from support.gates import TODAY, gates, node, record

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from clusterctl.core.gates.subject import Subject
    from clusterctl.model.gate_result import RawRecord
    from clusterctl_tools.training_proxy import NodePart

STEPS = 20
GPUS = 2
LOAD = TrainingLoad(width=64, layers=1, sequence=8, batch=2, steps=STEPS, kill_rank=True, meet_s=30, limit_s=120)
KIND = ["NVIDIA H100 80GB HBM3", "2.11.0+cu130", "13.0", "580.159.04"]
LOSSES = [6.4 - 0.1 * step for step in range(STEPS)]


@cache
def torch_python() -> str:
    """An interpreter that has PyTorch: that of CLUSTERCTL_TORCH_PYTHON, else this one; empty where it has none."""
    program = os.environ.get("CLUSTERCTL_TORCH_PYTHON", sys.executable)
    found = subprocess.run([program, "-c", "import torch.distributed"], capture_output=True, check=False)
    return program if found.returncode == 0 else ""


class TrainingNode:
    """A process of the program in a folder of its own, with ranks on CPUs; `patch`: text of training_rank.py -> what stands there instead."""

    def __init__(
        self,
        folder: Path,
        part: NodePart,
        port: int,
        load: TrainingLoad = LOAD,
        *,
        patch: Mapping[str, str] | None = None,
        program: str = "",
    ) -> None:
        self.folder = folder / f"node{part.number}"
        shutil.copytree(FILES, self.folder, ignore=shutil.ignore_patterns("__pycache__"))
        rank = self.folder / "training_rank.py"
        for text, other in (patch or {}).items():
            content = rank.read_text(encoding="utf-8")
            assert text in content
            rank.write_text(content.replace(text, other), encoding="utf-8")
        self.before = sorted(self.folder.iterdir())
        argv = training_argv("127.0.0.1", port, part, load, interpreter=program or torch_python(), environment={"GLOO_SOCKET_IFNAME": "lo"})
        self.process = subprocess.Popen(
            [*argv, "--device", "cpu"], cwd=self.folder, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
        )

    def end(self, seconds: float = 200) -> tuple[int, str]:
        """Exit status and output. No file of it stays."""
        out, err = self.process.communicate(timeout=seconds)
        assert "Traceback" not in err, err
        assert sorted(p for p in self.folder.iterdir() if p.name != "__pycache__") == self.before
        return self.process.returncode, out


def rank_line(run: str, rank: int, **own: Any) -> dict[str, Any]:
    """What a good rank prints at its end. `own`: what differs; a letter is a digest of it, `losses_at` {step: loss} changes some losses."""
    start = STEPS // 2 if run == "resumed" else 0
    changed = {int(step): loss for step, loss in own.pop("losses_at", {}).items()}
    compute = own.pop("compute", 20000)
    line = {
        "line": "rank",
        "run": run,
        "rank": rank,
        "gpu": rank % own.pop("gpus", GPUS),
        "kind": KIND,
        "start": start,
        "losses": [changed.get(step, loss) for step, loss in enumerate(LOSSES)][start:],
        "bad_step": None,
        "compute_us": [compute + 20 * step for step in range(start, STEPS)],
        "communicate_us": [5000] * (STEPS - start),
        "weights": "a",
        "probes": ["b", "c"],
        **own,
    }
    digests = {"weights": line["weights"] * 64, "probes": [letter * 64 for letter in line["probes"]]}
    return {**line, **digests}


def training_output(number: int, nodes: int, other: Mapping[str, Any] | None = None, *, cut: int | None = None, gpus: int = GPUS) -> str:
    """All lines of a node with `gpus` ranks.

    `other`: `whole0`, `resumed1` ... -> what differs in the line of that GPU, None leaves it out; `head` -> what differs in it; `more` -> further lines;
    `problem` -> the line in place of the last one. `cut`: only so many lines.
    """
    changes = dict(other or {})
    first = number * gpus
    head = {"line": "head", "schema_version": 1, "index": number, "nodes": nodes, "first_rank": first, "ranks": gpus, "world": nodes * gpus}
    lines: list[Any] = [{**head, "steps": STEPS, **changes.pop("head", {})}]
    for run in ("whole", "resumed"):
        for gpu in range(gpus):
            own = changes.pop(f"{run}{gpu}", changes.get("ranks", {}))
            lines += [] if own is None else [rank_line(run, first + gpu, gpus=gpus, **own)]
    changes.pop("ranks", None)
    lines += changes.pop("more", [])
    problem = changes.pop("problem", None)
    lines.append({"line": "problem", "problem": problem, "detail": "as told"} if problem else {"line": "end"})
    assert not changes
    return "".join(json.dumps(line, sort_keys=True) + "\n" for line in lines[:cut])


def training_records(names: Sequence[str], outputs: Mapping[str, str] | None = None, **changed: Mapping[str, Any]) -> list[RawRecord]:
    """The records of a group; `outputs`: node -> its own text, `changed`: node -> fields of its record."""
    parts = parts_of([training_subject(name) for name in names])
    records = []
    for number, name in enumerate(names):
        first = number == 0
        text = (outputs or {}).get(name, training_output(number, len(names)))
        more: dict[str, Any] = {
            "step": "group" if first else "member",
            "tool": "training_proxy",
            "peers": tuple(names) if first else (),
            "peer": "" if first else names[0],
            "argv": tuple(training_argv(names[0], 18700, parts[name], LOAD)),
        }
        records.append(record("training_proxy", name, text, **{**more, **changed.get(name, {})}))
    return records


def training_subject(
    name: str, *, gpus: int = GPUS, host: str = "", baselines: Sequence[Mapping[str, Any]] = (), **settings: Any
) -> Subject:
    """A node with GPUs."""
    declared = gates(
        gates_levels={level: ["training_proxy"] for level in LEVELS},
        gates_baselines=[dict(b) for b in baselines],
        gates_settings={"training_proxy": {"steps": STEPS, **settings}},
    )
    return subject_of(node(name, declared=declared, gpus=gpus, host=host), TODAY)


_PLACE = {"line": "place", "run": "whole", "rank": 0, "gpu": 0, "step": 7, "phase": "compute", "status": None}
TRAINING_PAIR = tuple(training_subject(name) for name in ("n1", "n2"))
# Ranks with other weights, that are slow and resume otherwise; a loss that is not finite; a node whose ranks hang; the part of another group.
BAD_TRAININGS = [
    training_output(0, 2, {"whole0": {"weights": "d", "compute": 90000}, "resumed1": {"losses_at": {15: 9.9}}}),
    training_output(0, 2, {"whole1": {"losses_at": {3: None}, "bad_step": 3}}),
    training_output(0, 2, {"resumed0": None, "resumed1": None, "more": [_PLACE], "problem": "hangs"}),
    training_output(1, 3),
]


def training_pair_records(text: str) -> list[RawRecord]:
    """The records of the pair, with a text from the first node."""
    return training_records(("n1", "n2"), {"n1": text})
