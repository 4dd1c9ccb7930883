"""Multiplies the same two matrices on one GPU with PyTorch, compares every product bit for bit with the first, and prints one JSON object per line.

torch_gemm.py --gpu N --seconds S [--size N] [--device cuda]
torch_gemm.py --version

The matrices are drawn on the CPU from a fixed seed, so equal GPUs with equal libraries compute equal bits. The first line names the libraries,
each further one has the rate since the one before it and the products that differed so far; the last one has digests of the first product, of
the last one, and of one from matrices that were copied to the GPU anew. Python 3.8, and the PyTorch of the interpreter.
"""

from __future__ import annotations

import argparse
import ctypes
import hashlib
import json
import sys
import time
import warnings
from pathlib import Path
from typing import Any

SCHEMA_VERSION = 1
SEED = 20260
REPORT_S = 1.0
# Waiting for the GPU after each product would leave it idle between them.
AT_ONCE = 16
DRIVER = Path("/sys/module/nvidia/version")
NO_TORCH, CUDA_FAILED = 3, 4


def emit(**values: Any) -> None:
    """Print a line."""
    sys.stdout.write(json.dumps(values, sort_keys=True) + "\n")
    sys.stdout.flush()


def digest(product: Any) -> str:
    """SHA-256 of the bits of a product."""
    here = product.cpu().contiguous()
    # PyTorch is there without NumPy, too, so the bytes are read where they are.
    return hashlib.sha256((ctypes.c_char * (here.numel() * here.element_size())).from_address(here.data_ptr())).hexdigest()


def versions(torch: Any) -> dict[str, str]:
    """What decides about the bits, beside the GPU."""
    driver = DRIVER.read_text(encoding="ascii").strip() if DRIVER.is_file() else ""
    return {"torch": torch.__version__, "cuda": torch.version.cuda or "", "driver": driver}


def multiply(torch: Any, device: Any, seconds: float, size: int) -> None:
    """Load one GPU for so long; a line per second."""
    draw = torch.Generator().manual_seed(SEED)
    drawn = [torch.randn(size, size, generator=draw, dtype=torch.float32).to(torch.bfloat16) for _ in range(2)]
    left, right = (matrix.to(device) for matrix in drawn)
    name = torch.cuda.get_device_name(device) if device.type == "cuda" else device.type
    emit(schema_version=SCHEMA_VERSION, device=name, size=size, dtype="bfloat16", **versions(torch))
    first = torch.matmul(left, right)
    began_with = digest(first)
    product = torch.empty_like(first)
    bits, wanted = product.view(torch.int32), first.view(torch.int32)
    differing = torch.zeros((), dtype=torch.int64, device=device)
    started = reported = time.monotonic()
    products = since = 0
    over = False
    while not over:
        for _ in range(AT_ONCE):
            torch.matmul(left, right, out=product)
            differing += (bits != wanted).any()
        wrong = int(differing)  # waits for the GPU
        now = time.monotonic()
        products, since, over = products + AT_ONCE, since + AT_ONCE, now - started >= seconds
        if over or now - reported >= REPORT_S:
            emit(at_s=now - started, gflops=2.0 * size**3 * since / (now - reported) / 1e9, products=products, differing=wrong)
            reported, since = now, 0
    left, right = (matrix.to(device) for matrix in drawn)
    emit(first=began_with, last=digest(product), again=digest(torch.matmul(left, right)), products=products, differing=wrong)


def main(words: list[str]) -> int:
    """Read the options and run."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--gpu", type=int, default=0)
    parser.add_argument("--seconds", type=float, default=1.0)
    parser.add_argument("--size", type=int, default=16384)
    parser.add_argument("--device", default="cuda")
    parser.add_argument("--version", action="store_true")
    options = parser.parse_args(words)
    # Without NumPy, PyTorch warns when it is imported; the version is the first line that is printed.
    warnings.simplefilter("ignore")
    try:
        import torch  # noqa: PLC0415 its absence is reported in one line
    except ImportError as e:
        emit(error=f"{sys.executable} has no PyTorch: {e}")
        return NO_TORCH
    if options.version:
        found = versions(torch)
        sys.stdout.write(f"PyTorch {found['torch']}, CUDA {found['cuda'] or 'none'}\n")
        return 0
    try:
        device = torch.device(options.device, options.gpu) if options.device == "cuda" else torch.device(options.device)
        multiply(torch, device, options.seconds, options.size)
    except RuntimeError as e:
        # What CUDA reports: out of memory, an uncorrectable error, a GPU that is gone.
        emit(error=str(e).strip().splitlines()[0])
        return CUDA_FAILED
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
