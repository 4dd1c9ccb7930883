"""gpu_burn: whether the results of one multiplication were equal, for each GPU of a run."""

from __future__ import annotations

from clusterctl.core.parsers.unparsable import UnparsableError
from clusterctl.model.gate_result import Sample
from clusterctl_tools.gpu_burn import read_burn


def parse(text: str) -> tuple[Sample, ...]:
    """For each GPU `multiplications`, `errors` (differing elements in the worst report) and `results` (1.0 = OK, 0.0 = FAULTY).

    Of a run on one GPU (`-i N`) that GPU is the first, as it is for gpu_burn.

    Raises:
        UnparsableError: it has no report, or none of its verdicts.
    """
    try:
        burned = read_burn(text)
    except ValueError as e:
        raise UnparsableError(tool="gpu_burn", reason=str(e)) from e
    samples: list[Sample] = []
    for index, gpu in enumerate(burned.gpus):
        if gpu.faulty is None:
            raise UnparsableError(tool="gpu_burn", reason=f"it has no verdict on GPU {index}{': ' + burned.cause if burned.cause else ''}")
        device = f"gpu{index}"
        samples += (
            Sample("multiplications", float(gpu.multiplications), "", device=device),
            Sample("errors", float(abs(gpu.errors)), "", device=device),
            Sample("results", 0.0 if gpu.faulty else 1.0, "", device=device, status="FAULTY" if gpu.faulty else "OK"),
        )
    if not samples:
        raise UnparsableError(tool="gpu_burn", reason=burned.cause or "it has no verdict")
    return tuple(samples)
