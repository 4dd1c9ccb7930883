"""training_proxy.py of the burn-in: the GPUs of a group train a small model together with PyTorch.

The program is clusterctl's own (role burnin); it needs an interpreter that has PyTorch, and NCCL in it.
"""

import math
from typing import Any, Dict, List, Mapping, NamedTuple, Optional, Sequence, Tuple

from .json_lines import list_in, object_in, text_in

PROGRAM = "training_proxy.py"
INTERPRETER = "python3"
NO_TORCH, FAILED, ALONE, PORT_TAKEN, HANGS = 3, 4, 5, 6, 7
# Each start of the ranks meets at a port of its own: the first at the declared one.
STARTS = 3
WHOLE, KILLED, RESUMED = "whole", "killed", "resumed"
# In the order in which a rank goes through them.
PHASES = ("start", "meet", "compute", "communicate", "update", "end")

_RUNS = (WHOLE, KILLED, RESUMED)
_DIGEST_LENGTH = 64
# Above all that is measured; a number with more digits is none of the program's.
_MOST = 1 << 40


class TrainingLoad(NamedTuple):
    """What all ranks do.

    Attributes:
        width, layers: of the transformer; sequence, batch: tokens of a sequence, and sequences of a rank in each step.
        kill_rank: the ranks start again, the last one kills itself, and all resume from a checkpoint.
        meet_s: how long the ranks wait for each other; limit_s: of the whole run.
    """

    width: int
    layers: int
    sequence: int
    batch: int
    steps: int
    kill_rank: bool
    meet_s: int
    limit_s: int


class NodePart(NamedTuple):
    """The part of one node: its number among `nodes`, and its ranks among `world`, one per GPU."""

    number: int
    nodes: int
    first_rank: int
    ranks: int
    world: int


class RankRun(NamedTuple):
    """What a rank that went to its end did.

    Attributes:
        run: `whole`, or `resumed` from the checkpoint.
        kind: what equal GPUs have in common: model, PyTorch, CUDA, driver.
        start: its first step.
        losses: of each step, the mean over all ranks; None where it was not finite.
        bad_step: the first step whose loss or gradients were not finite before they were summed; None where all were.
        compute_s, communicate_s: of each step; the first without, the second with waiting for others.
        weights: SHA-256 of the weights after the last step.
        probes: SHA-256 of the gradients of a batch that is the same on all ranks, before the first step and after the last.
    """

    run: str
    rank: int
    gpu: int
    kind: Tuple[str, ...]
    start: int
    losses: Tuple[Optional[float], ...]
    bad_step: Optional[int]
    compute_s: Tuple[float, ...]
    communicate_s: Tuple[float, ...]
    weights: str
    probes: Tuple[str, ...]


class RankPlace(NamedTuple):
    """Where a rank stood when its node gave up: in which run, step and phase; status: that of its process, None where it still ran."""

    rank: int
    gpu: int
    run: str
    step: int
    phase: str
    status: Optional[int]


class RankError(NamedTuple):
    """What ended a rank, as PyTorch words it; missing: ranks that did not come, as far as it could find out."""

    rank: int
    run: str
    error: str
    missing: Tuple[int, ...]


class TrainingRun(NamedTuple):
    """The output of one node, complete or not.

    Attributes:
        problem: what ended it: `no_torch`, `failed`, `alone`, `port_taken`, `hangs`; detail: the same for people.
        ended: it went to its end.
    """

    part: NodePart
    steps: int
    ranks: Tuple[RankRun, ...]
    places: Tuple[RankPlace, ...]
    errors: Tuple[RankError, ...]
    problem: str
    detail: str
    ended: bool

    def of(self, run: str) -> Tuple[RankRun, ...]:
        """The ranks of one start that went to its end."""
        return tuple(rank for rank in self.ranks if rank.run == run)


def training_argv(
    address: str,
    port: int,
    part: NodePart,
    load: TrainingLoad,
    *,
    interpreter: str = INTERPRETER,
    environment: Optional[Mapping[str, str]] = None,
) -> Sequence[str]:
    """The command of one node; the ranks meet at `address`, that of the first node, on STARTS ports from `port` on."""
    variables = {"CUDA_DEVICE_ORDER": "PCI_BUS_ID", **(environment or {})}
    words = {"--address": address, "--port": port, "--index": part.number, "--nodes": part.nodes}
    ranks = {"--first-rank": part.first_rank, "--ranks": part.ranks, "--world": part.world}
    sizes = {"--width": load.width, "--layers": load.layers, "--sequence": load.sequence, "--batch": load.batch, "--steps": load.steps}
    more = {"--kill-rank": int(load.kill_rank), "--meet-s": load.meet_s, "--limit-s": load.limit_s}
    options = (str(word) for pair in {**words, **ranks, **sizes, **more}.items() for word in pair)
    return ("env", *("{}={}".format(*pair) for pair in variables.items()), interpreter, PROGRAM, *options)


def version_argv(interpreter: str = INTERPRETER) -> Sequence[str]:
    """Its version is that of PyTorch."""
    return (interpreter, PROGRAM, "--version")


def read_run(text: str) -> TrainingRun:
    """The output of a run, complete or not.

    Raises:
        ValueError: a line is not one of its lines, one occurs twice, or the first one is missing.
    """
    lines: Dict[str, Dict[str, Any]] = {}
    ranks: List[RankRun] = []
    places: List[RankPlace] = []
    errors: List[RankError] = []
    for line in filter(str.strip, text.splitlines()):
        values = object_in(line)
        name = text_in(values, "line")
        if name == "rank":
            ranks.append(_rank(values))
        elif name == "place":
            places.append(_place(values))
        elif name == "error":
            missing = tuple(_whole(value) for value in list_in(values, "missing"))
            errors.append(RankError(_number(values, "rank"), _run_of(values), text_in(values, "error"), missing))
        elif name not in ("head", "problem", "end") or lines.setdefault(name, values) is not values:
            raise ValueError("its line {!r} is not known, or occurs twice".format(name))
    if "head" not in lines:
        raise ValueError("it has no line that names its part")
    part, steps = _part(lines["head"])
    numbers = [r.rank for r in ranks] + [p.rank for p in places] + [e.rank for e in errors]
    _check(part, steps, ranks, numbers)
    problem = lines.get("problem")
    return TrainingRun(
        part=part,
        steps=steps,
        ranks=tuple(ranks),
        places=tuple(places),
        errors=tuple(errors),
        problem=text_in(problem, "problem") if problem else "",
        detail=text_in(problem, "detail") if problem else "",
        ended="end" in lines,
    )


def _part(head: Dict[str, Any]) -> Tuple[NodePart, int]:
    part = NodePart(*(_number(head, name) for name in ("index", "nodes", "first_rank", "ranks", "world")))
    if not part.number < part.nodes or part.first_rank + part.ranks > part.world:
        raise ValueError("it is number {} of {}, with ranks from {} on".format(part.number, part.nodes, part.first_rank))
    return part, _number(head, "steps")


def _check(part: NodePart, steps: int, ranks: Sequence[RankRun], numbers: Sequence[int]) -> None:
    """Each rank is one of the node, and once in each run."""
    if any(not part.first_rank <= number < part.first_rank + part.ranks for number in numbers):
        raise ValueError("it has a rank of another node")
    if len({(r.run, r.rank) for r in ranks}) != len(ranks):
        raise ValueError("one of its ranks occurs twice")
    if any(r.start + len(r.losses) != steps or (r.run == WHOLE and r.start) for r in ranks):
        raise ValueError("one of its ranks has other steps than were requested")


def _rank(values: Dict[str, Any]) -> RankRun:
    losses = tuple(None if value is None else _real(value) for value in list_in(values, "losses"))
    compute, communicate = (tuple(_whole(v) / 1e6 for v in list_in(values, name)) for name in ("compute_us", "communicate_us"))
    if not len(losses) == len(compute) == len(communicate):
        raise ValueError("it has {} losses and {} times".format(len(losses), len(compute)))
    kind = tuple(str(_word(value)) for value in list_in(values, "kind"))
    if not kind or not kind[0]:
        raise ValueError("it does not name the GPU")
    return RankRun(
        run=_run_of(values),
        rank=_number(values, "rank"),
        gpu=_number(values, "gpu"),
        kind=kind,
        start=_number(values, "start"),
        losses=losses,
        bad_step=None if values.get("bad_step") is None else _number(values, "bad_step"),
        compute_s=compute,
        communicate_s=communicate,
        weights=_digest(values.get("weights")),
        probes=tuple(_digest(value) for value in list_in(values, "probes")),
    )


def _place(values: Dict[str, Any]) -> RankPlace:
    phase, status = text_in(values, "phase"), values.get("status")
    if phase not in PHASES or (status is not None and (not isinstance(status, int) or isinstance(status, bool))):
        raise ValueError("its place is {!r}".format(values))
    return RankPlace(_number(values, "rank"), _number(values, "gpu"), _run_of(values), _number(values, "step"), phase, status)


def _run_of(values: Dict[str, Any]) -> str:
    run = text_in(values, "run")
    if run not in _RUNS:
        raise ValueError("its run is {!r}".format(run))
    return run


def _word(value: Any) -> str:
    if not isinstance(value, str):
        raise ValueError("a text in it is {!r}".format(value))  # noqa: TRY004 one kind of error for all bad output
    return value


def _number(values: Dict[str, Any], name: str) -> int:
    return _whole(values.get(name))


def _whole(value: Any) -> int:
    if not isinstance(value, int) or isinstance(value, bool) or not 0 <= value < _MOST:
        raise ValueError("a number in it is {!r}".format(value))
    return value


def _real(value: Any) -> float:
    if not isinstance(value, (int, float)) or isinstance(value, bool) or not math.isfinite(value) or abs(value) >= _MOST:
        raise ValueError("a loss in it is {!r}".format(value))
    return float(value)


def _digest(value: Any) -> str:
    found = _word(value)
    if len(found) != _DIGEST_LENGTH or set(found) - set("0123456789abcdef"):
        raise ValueError("a digest in it is {!r}".format(value))
    return found
