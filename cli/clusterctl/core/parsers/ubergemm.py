"""ubergemm: the rate of matrix multiplication of one GPU."""

from __future__ import annotations

from statistics import fmean

from clusterctl.core.parsers.unparsable import UnparsableError
from clusterctl.model.gate_result import Sample
from clusterctl_tools import ubergemm


def parse(text: str) -> tuple[Sample, ...]:
    """`gemm` in TFLOPS: the mean of the rates that it printed while it measured, as its users take it (Azure, gpu_test.slurm).

    Raises:
        UnparsableError: it has no rate, or one of zero, which a GPU that works cannot have.
    """
    rates = ubergemm.rates_gflops(text)
    if not rates:
        raise UnparsableError(tool="ubergemm", reason="it has no rate (`GFlops:`)")
    if min(rates) <= 0:
        raise UnparsableError(tool="ubergemm", reason="a rate in it is 0")
    return (Sample("gemm", fmean(rates) / 1000, "TFLOPS"),)
