"""torch_gemm.py: the rate of matrix multiplication of one GPU, and how many of its products differed from the first one."""

from __future__ import annotations

from math import isfinite
from statistics import fmean

from clusterctl.core.parsers.unparsable import UnparsableError
from clusterctl.model.gate_result import Sample
from clusterctl_tools.torch_gemm import TorchRun, read_run

_BYTE_ORDER_MARK = "\ufeff"


def whole_run(text: str) -> TorchRun:
    """The output of a run that went to its end.

    Raises:
        UnparsableError: it is another output, or it ended early: without a rate, a comparison or its digests.
    """
    try:
        run = read_run(text.replace(_BYTE_ORDER_MARK, ""))
    except ValueError as e:
        raise UnparsableError(tool="torch_gemm", reason=str(e)) from e
    if run.error:
        raise UnparsableError(tool="torch_gemm", reason=run.error)
    if not run.rates_gflops or not run.products or run.differing is None or not run.first:
        raise UnparsableError(tool="torch_gemm", reason="it ended before its digests")
    if min(run.rates_gflops) <= 0 or not all(map(isfinite, run.rates_gflops)):
        raise UnparsableError(tool="torch_gemm", reason="a rate in it is not above 0")
    return run


def parse(text: str) -> tuple[Sample, ...]:
    """`gemm` in TFLOPS, the mean over the seconds of the run, `products` and `differing`.

    Raises:
        UnparsableError: it is not the output of a whole run.
    """
    run = whole_run(text)
    return (
        Sample("gemm", fmean(run.rates_gflops) / 1000, "TFLOPS"),
        Sample("products", float(run.products), ""),
        Sample("differing", float(run.differing or 0), ""),
    )
