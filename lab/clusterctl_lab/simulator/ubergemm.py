"""ubergemm --adapters N --time_to_run S: the matrix multiplication of DCGM on one GPU. Output: Azure/ai-infrastructure-on-azure@a01b073, gpu_test."""

from __future__ import annotations

import sys
import time

from . import gemm_load, gpus, load, state

_TUNING = ("GFlops:{:.4e} GFlops", 0.93), ("GFlops:{:.4e} GFlops", 0.97)
_EVERY_S = 1.0


def main(argv: list[str], version: str) -> int:  # noqa: ARG001 the interface of all tools
    """Load one GPU for the given time."""
    print("clusterctl-lab: simulated", file=sys.stderr)
    words = argv[1:]
    if "--adapters" not in words or "--time_to_run" not in words:
        print("ubergemm: not simulated: " + " ".join(words), file=sys.stderr)
        return 1
    adapter, seconds = int(words[words.index("--adapters") + 1]), float(words[words.index("--time_to_run") + 1])
    try:
        gpus.require_driver(gpus.library_version())
        views = gpus.gpu_views()
        gpus.require_no_lost_gpu(views)
        gpus.require_fabric(views)
    except gpus.NoDriverError as e:
        print(e, file=sys.stderr)
        return 1
    view = next((view for view in views if view.minor == adapter), None)
    if view is None:
        print(f"ubergemm: no adapter {adapter}", file=sys.stderr)
        return 1
    load.begin()
    with gemm_load.loaded(view.gpu.index):
        rate = gemm_load.rate_gflops(view.gpu.index, state.read_faults())
        for line, share in _TUNING:
            print(line.format(rate * share))
        print("starting....", flush=True)
        until = time.monotonic() + seconds
        while (left := until - time.monotonic()) > 0:
            time.sleep(min(left, _EVERY_S))
            print(f"GFlops:{rate:.5e} GFlops", flush=True)
    return 0
