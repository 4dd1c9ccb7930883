"""One rank of training_proxy.py: trains on one GPU with the ranks of all nodes, and prints one JSON object: its losses, times and digests.

It is started by training_proxy.py with the options of that one, and those of the rank. Gradients are summed over all ranks after they are computed,
not meanwhile, so that the time of a rank and that of waiting for others are told apart. PyTorch, Python 3.8+.
"""

from __future__ import annotations

import argparse
import math
import mmap
import os
import signal
import sys
import time
from contextlib import suppress
from datetime import timedelta
from pathlib import Path
from typing import Any

from torch_gemm import digest, emit, versions
from training_model import LEARNING_RATE, Gradients, new_model, sequences
from training_places import Place

NO_TORCH, FAILED, ALONE = 3, 4, 5
# The batch of the probe is that of no step.
PROBE_STEP = 1 << 20
# Who leaves first takes the store along.
LEAVE_S = 20


class AbsentError(Exception):
    """Ranks that did not come in time."""

    def __init__(self, missing: list[int]) -> None:
        super().__init__(f"ranks that did not come: {', '.join(map(str, missing)) or 'some'}")
        self.missing = missing


def meet(torch: Any, options: argparse.Namespace) -> Any:
    """Find the other ranks at the first one, and join the process group.

    Raises:
        AbsentError: some of them did not come. The first rank sees who, the others only whether it is there itself.
    """
    dist = torch.distributed
    wait = timedelta(seconds=options.meet_s)
    first = options.rank == 0
    try:
        store = dist.TCPStore(options.address, options.port, options.world, first, timeout=wait, wait_for_workers=False)
        store.set(f"here{options.rank}", "1")
    except RuntimeError:
        if first:
            raise
        raise AbsentError([0]) from None
    names = [f"here{rank}" for rank in range(options.world)]
    try:
        store.wait(names, wait)
    except RuntimeError:
        raise AbsentError([rank for rank, name in enumerate(names) if not store.check([name])] if first else []) from None
    backend = "nccl" if options.device == "cuda" else "gloo"
    dist.init_process_group(
        backend,
        store=dist.PrefixStore("ranks", store),
        rank=options.rank,
        world_size=options.world,
        timeout=timedelta(seconds=options.limit_s),
    )
    return store


def part(torch: Any, options: argparse.Namespace, store: Any) -> None:
    """Leave after all others have what they need of the store, which is in the first rank."""
    store.set(f"done{options.rank}", "1")
    if options.rank == 0:
        with suppress(RuntimeError):
            store.wait([f"done{rank}" for rank in range(options.world)], timedelta(seconds=LEAVE_S))
    torch.distributed.destroy_process_group()


def train(torch: Any, options: argparse.Namespace, device: Any, place: Place) -> dict[str, Any]:
    """All steps of this rank."""
    model = new_model(torch, options.width, options.layers).to(device)
    optimizer = torch.optim.Adam(model.parameters(), lr=LEARNING_RATE)
    checkpoint = Path(options.folder) / "checkpoint.pt"
    if options.start:
        state = torch.load(checkpoint, map_location=device, weights_only=True)
        model.load_state_dict(state["model"])
        optimizer.load_state_dict(state["optimizer"])
    gradients = Gradients(torch, model, device)

    def probe() -> str:
        gradients.compute(sequences(torch, PROBE_STEP, 0, options.batch, options.sequence))
        return digest(gradients.buffer)

    found: dict[str, Any] = {"losses": [], "compute_us": [], "communicate_us": [], "bad_step": None, "probes": [probe()]}
    for step in range(options.start, options.steps):
        if step == options.save and options.local == 0:
            torch.save({"model": model.state_dict(), "optimizer": optimizer.state_dict()}, checkpoint)
        place.at(step, "compute")
        batch = sequences(torch, step, options.rank, options.batch, options.sequence)
        begun = time.monotonic()
        finite = gradients.compute(batch)
        if not finite and found["bad_step"] is None:
            found["bad_step"] = step
        if step == options.kill and options.rank == options.world - 1:
            os.kill(os.getpid(), signal.SIGKILL)
        computed = time.monotonic()
        place.at(step, "communicate")
        torch.distributed.all_reduce(gradients.buffer)
        if device.type == "cuda":
            torch.cuda.synchronize(device)
        communicated = time.monotonic()
        place.at(step, "update")
        gradients.buffer /= options.world
        optimizer.step()
        loss = float(gradients.buffer[-1])
        updated = time.monotonic()
        found["losses"].append(loss if math.isfinite(loss) else None)
        found["compute_us"].append(round(1e6 * (updated - communicated + computed - begun)))
        found["communicate_us"].append(round(1e6 * (communicated - computed)))
    found["weights"] = digest(gradients.weights())
    found["probes"].append(probe())
    return found


def run(torch: Any, options: argparse.Namespace, place: Place) -> None:
    """The whole life of a rank."""
    torch.use_deterministic_algorithms(True)
    device = torch.device(options.device, options.local) if options.device == "cuda" else torch.device(options.device)
    if device.type == "cuda":
        torch.cuda.set_device(device)
    place.at(options.start, "meet")
    store = meet(torch, options)
    found = train(torch, options, device, place)
    name = torch.cuda.get_device_name(device) if device.type == "cuda" else device.type
    kind = [name, *versions(torch).values()]
    emit(line="rank", run=options.run, rank=options.rank, gpu=options.local, kind=kind, start=options.start, **found)
    place.at(options.steps, "end")
    part(torch, options, store)


def main(words: list[str]) -> int:
    """Read the options and run."""
    parser = argparse.ArgumentParser(description=__doc__)
    for name in ("address", "device", "folder", "run"):
        parser.add_argument(f"--{name}", required=True)
    for name in (
        "port",
        "world",
        "rank",
        "local",
        "width",
        "layers",
        "sequence",
        "batch",
        "steps",
        "start",
        "save",
        "kill",
        "meet-s",
        "limit-s",
    ):
        parser.add_argument(f"--{name}", type=int, required=True)
    options = parser.parse_args(words)
    try:
        import torch  # noqa: PLC0415 its absence is reported in one line
    except ImportError as e:
        emit(line="error", run=options.run, rank=options.rank, error=f"{sys.executable} has no PyTorch: {e}", missing=[])
        return NO_TORCH
    with Path(options.folder, f"place{options.local}").open("r+b") as file, mmap.mmap(file.fileno(), 0) as memory:
        try:
            run(torch, options, Place(memory))
        except AbsentError as e:
            emit(line="error", run=options.run, rank=options.rank, error=str(e), missing=e.missing)
            return ALONE
        except RuntimeError as e:
            # What CUDA, NCCL and gloo report: out of memory, a GPU that is gone, a connection that another rank closed.
            text = (str(e).strip().splitlines() or [type(e).__name__])[0]
            emit(line="error", run=options.run, rank=options.rank, error=text, missing=[])
            return FAILED
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
