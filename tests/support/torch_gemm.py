"""What torch_gemm.py prints about one GPU, for tests."""

from __future__ import annotations

import json
from typing import Any

# Of a run cut down to a few of its seconds.
PRODUCTS = 176
RATE_GFLOPS = 669886.4


def torch_output(**own: Any) -> str:
    """As it was printed on an H100, with a few of its seconds.

    `own`: `rate` (GFLOPS), `differing`, a letter for each digest (`first`, `last`, `again`), `torch`, `error`, `only_error`, and `cut` (lines that are missing at the end).
    """
    error = {"error": own["error"]} if "error" in own else None
    if own.get("only_error"):
        return json.dumps(error) + "\n"
    differing = own.get("differing", 0)
    rate = own.get("rate", RATE_GFLOPS)
    digests = {name: own.get(name, "a") * 64 for name in ("first", "last", "again")}
    lines: list[dict[str, Any]] = [
        {
            "cuda": "13.0",
            "device": "NVIDIA H100 80GB HBM3",
            "driver": "580.159.04",
            "dtype": "bfloat16",
            "schema_version": 1,
            "size": 16384,
            "torch": own.get("torch", "2.11.0+cu130"),
        },
        {"at_s": 1.09, "differing": 0, "gflops": rate * 0.96, "products": 80},
        {"at_s": 2.14, "differing": differing, "gflops": rate, "products": 160},
        {**digests, "differing": differing, "products": PRODUCTS},
    ]
    lines = lines[: len(lines) - own.get("cut", 0)]
    return "".join(json.dumps(line, sort_keys=True) + "\n" for line in (*lines, *([error] if error else [])))
