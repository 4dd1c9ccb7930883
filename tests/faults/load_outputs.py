"""What a node shows of its GPUs under load: rates, and a trace of clocks, power and temperatures."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final

from clusterctl.model.trace_sample import TraceSample
from clusterctl_lab.simulator import machine
from clusterctl_lab.simulator.hardware_kinds import HGX_H100
from faults.world import gpu_address
from support.torch_gemm import PRODUCTS, RATE_GFLOPS, torch_output

if TYPE_CHECKING:
    from faults.world import Rack

_CLOCK_MHZ = 1485.0
_SOFTWARE_POWER_CAP = "0x0000000000000004"
# Every five seconds, as agents do, where samples are counted; elsewhere fewer do as well, ten of a short load.
_EVERY_S, _SELDOM_S, _LEAST_SAMPLES = 5.0, 60.0, 10
_ANSWER_S, _WAITED_S = 0.2, 30.0


def gemm(rack: Rack, node: str, gpu: int) -> str:
    """The output of ubergemm on one GPU: its rate follows its clock."""
    rate = machine.THIS.gemm_tflops * 1000 * _rate_share(rack, "gemm", node, gpu)
    return f"GFlops:{rate * 0.93:.4e} GFlops\nstarting....\n" + f"GFlops:{rate:.5e} GFlops\n" * 3


def torch_gemm(rack: Rack, node: str, gpu: int) -> str:
    """The output of torch_gemm.py on one GPU. Where all of its products are changed, they are equal to each other: only other GPUs show it."""
    found: dict[str, Any] = {
        "rate": RATE_GFLOPS * machine.THIS.gemm_tflops / HGX_H100.gemm_tflops * _rate_share(rack, "torch_gemm", node, gpu)
    }
    for change in (c for c in rack.of("torch_products", node) if c.gpu == gpu):
        if change.share == 1:
            found |= dict.fromkeys(("first", "last", "again"), "b")
        else:
            found["differing"] = max(1, round(change.share * PRODUCTS))
    return torch_output(**found)


def _rate_share(rack: Rack, noise_of: str, node: str, gpu: int) -> float:
    """The rate of a GPU as a share of the usual one; two programs have the same GPUs and not the same noise."""
    share = rack.bin_of(node, gpu) * rack.spread(rack.noise.gemm, noise_of, node, gpu)
    for change in (c for c in rack.of("gemm", node) if c.gpu == gpu):
        share *= change.factor * change.clock
    return share


def products(rack: Rack, node: str, gpu: int) -> str:
    """The output of gpu_burn on one GPU."""
    wrong = any(c.gpu == gpu for c in rack.of("products", node))
    report = f"\r100.0%  proc'd: 56000 (50900 Gflop/s)   errors: {'3  (WARNING!)' if wrong else '0 '}  temps: {62 + gpu} C \n"
    kept = "Results are 268435456 bytes each, thus performing 280 iterations\n"
    return f"{report}{kept}done\n\nTested 1 GPUs:\n\tGPU 0: {'FAULTY' if wrong else 'OK'}\n"


# Gate -> what it prints about one GPU.
LOADS: Final = {"gpu_stress": gemm, "torch_gemm": torch_gemm, "gpu_results": products}


def trace(rack: Rack, node: str, seconds: float) -> tuple[TraceSample, ...]:
    """What nvidia-smi printed again and again."""
    every_s = _EVERY_S if any(c.share < 1 for c in rack.of("gemm", node)) else min(_SELDOM_S, seconds / _LEAST_SAMPLES)
    count = int(seconds / every_s)
    texts: dict[frozenset[int], str] = {}
    samples = []
    for number in range(count):
        shown = frozenset(
            i for i, c in enumerate(rack.of("gemm", node)) if c.share == 1 or 0 <= number - count // 2 < max(1, round(c.share * count))
        )
        if shown not in texts:
            texts[shown] = _rows(rack, node, shown)
        samples.append(TraceSample(number * every_s, _ANSWER_S, 0, texts[shown]))
    for change in rack.of("query", node):
        late = change.seconds >= _WAITED_S
        at = samples[count // 2].at_s
        slow = TraceSample(at, min(change.seconds, _WAITED_S), None if late else 0, "" if late else samples[0].stdout)
        samples[count // 2] = slow
        if change.gpu is not None:
            # As judging/gpu_trace.py assumes it of a GPU that is read alone.
            rows = samples[0].stdout.splitlines(keepends=True)
            each = [TraceSample(at, _ANSWER_S, 0, row, device=f"gpu{gpu}") for gpu, row in enumerate(rows)]
            samples += [replace(slow, device=s.device) if s.device == f"gpu{change.gpu}" else s for s in each]
    return tuple(samples)


def _rows(rack: Rack, node: str, shown: frozenset[int]) -> str:
    """One answer; `shown`: the changes that it shows, by number."""
    gone = {c.gpu for c in rack.of("gpu_gone", node)}
    changes = [c for i, c in enumerate(rack.of("gemm", node)) if i in shown]
    lines = []
    for gpu in (g for g in range(machine.GPUS) if g not in gone):
        clock, reasons, temperature, margin = _CLOCK_MHZ * rack.bin_of(node, gpu), _SOFTWARE_POWER_CAP, 62 + gpu, 25 - gpu
        limit = float(machine.THIS.gpu_power_limit_w)
        for change in (c for c in changes if c.gpu == gpu):
            clock, limit = clock * change.clock, limit * change.power
            reasons = change.value or reasons
            margin = int(change.path) if change.path else margin
        address = f"0000{gpu_address(gpu).upper()}"
        lines.append(
            f"{gpu}, {address}, {clock:.0f}, {limit * 0.99:.2f}, {limit:.2f}, {temperature}, {margin}, {temperature + 8}, {reasons}"
        )
    return "\n".join(lines) + "\n"
