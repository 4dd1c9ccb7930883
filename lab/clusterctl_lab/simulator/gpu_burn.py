"""gpu_burn -c FILE -m N% -tc -stts S -i GPU SECONDS. Options, output and exit statuses: gpu_burn-drv.cpp of wilicc/gpu-burn@3ead140."""

from __future__ import annotations

import os
import sys
import time

from . import gemm_load, gpus, load, machine, state

_MULTIPLY_TFLOP = 1100.048498688 / 1000
_KEPT_BYTES = 4 * 8192 * 8192
_EVERY_S = 1.0
_ENOMEDIUM = 123
_DIED_ERRORS = 1752808354


def main(argv: list[str], version: str) -> int:  # noqa: ARG001 the interface of all tools
    """Multiply on one GPU for the given time, and compare."""
    print("clusterctl-lab: simulated", file=sys.stderr)
    words = argv[1:]
    if "-h" in words:
        print("GPU Burn\nUsage: gpu-burn [OPTIONS] [TIME]\n\n-m X\tUse X MB of memory.")
        return 0
    if words[:1] != ["-c"] or not {"-m", "-i", "-tc", "-stts"} < set(words) or not words[-1].isdigit():
        print("gpu_burn: not simulated: " + " ".join(words), file=sys.stderr)
        return 1
    index, end_s = int(words[words.index("-i") + 1]), int(words[words.index("-stts") + 1])
    print(f"Using compare file: {words[1]}\nBurning for {words[-1]} seconds.")
    problem = _problem(words[1], index)
    if problem:
        print(f"Couldn't init a GPU test: {problem}", file=sys.stderr)
        print(f"\r100.0%  proc'd: -1 (0 Gflop/s)   errors: {_DIED_ERRORS}  (DIED!)  temps: -- ")
        print("\n\nNo clients are alive!  Aborting", file=sys.stderr)
        return _ENOMEDIUM
    load.begin()
    with gemm_load.loaded(index):
        wrong = _burn(index, int(words[-1]))
    print("\nKilling processes with SIGTERM (soft kill)", flush=True)
    time.sleep(end_s)
    memory_mib = machine.THIS.gpu_memory_mib
    used = memory_mib * int(words[words.index("-m") + 1].rstrip("%")) // 100
    kept = used * 2**20 // _KEPT_BYTES - 2
    print(f"Initialized device {index} with {memory_mib} MB of memory ({memory_mib} MB available, using {used} MB of it), ", end="")
    print("using FLOATS, using Tensor Cores")
    print(f"Results are {_KEPT_BYTES} bytes each, thus performing {kept} iterations\nFreed memory for dev {index}\nUninitted cublas")
    print(f"done\n\nTested 1 GPUs:\n\tGPU 0: {'FAULTY' if wrong else 'OK'}")
    return 0


def _burn(index: int, seconds: int) -> int:
    rate_gflops = gemm_load.rate_gflops(index, state.read_faults()) / 2  # TF32 is half of BF16
    wrong = len(state.read_faults().of("gpu_wrong_results", str(index)))
    began, done, errors = time.monotonic(), 0, 0
    temperature = gemm_load.under_load(index, state.read_faults()).temperature_c
    while (passed := time.monotonic() - began) < seconds:
        time.sleep(min(_EVERY_S, seconds - passed))
        passed = min(seconds, time.monotonic() - began)
        done, errors = round(rate_gflops / 1000 / _MULTIPLY_TFLOP * passed) + 1, errors + 3 * wrong
        note = f"{errors}  (WARNING!)" if errors else f"{errors} "
        print(
            f"\r{100 * passed / seconds:.1f}%  proc'd: {done} ({rate_gflops:.0f} Gflop/s)   errors: {note}  temps: {temperature} C ", end=""
        )
        sys.stdout.flush()
    return errors


def _problem(compare: str, index: int) -> str:
    """Why it cannot begin on this GPU, as CUDA words it; empty if it can."""
    if not os.path.exists(compare):
        return f"Error in couldn't find compare kernel: {compare} (gpu_burn-drv.cpp:235): named symbol not found"
    try:
        gpus.require_driver(gpus.library_version())
        views = gpus.gpu_views()
        gpus.require_no_lost_gpu(views)
        gpus.require_fabric(views)
    except gpus.NoDriverError as e:
        return f"Error (gpu_burn-drv.cpp:112): {e}"
    return "" if index < len(views) else "Error (gpu_burn-drv.cpp:111): invalid device ordinal"
