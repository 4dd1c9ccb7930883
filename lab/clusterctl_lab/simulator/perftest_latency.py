"""The table of perftest's latency tests, as RESULT_FMT_LAT and REPORT_FMT_LAT of perftest_parameters.h have it."""

from __future__ import annotations

from . import device_variation

TITLES = {"ib_write_lat": "RDMA_Write Latency Test", "ib_send_lat": "Send Latency Test", "ib_read_lat": "RDMA_Read Latency Test"}
_HEADER = " #bytes #iterations    t_min[usec]    t_max[usec]  t_typical[usec]    t_avg[usec]    t_stdev[usec]   99% percentile[usec]   99.9% percentile[usec] "
# What OCI's GB300 read inside a block, one HCA's share of it. Assumed for every adapter, path and direction.
_HALF_US = 2.8 / 2
# Of the median, as an HCA of NDR read (1.24, 1.27, 1.37 and 5.19 us).
_LEAST, _MEAN, _P99, _MOST = 0.98, 1.0, 1.08, 4.1


def half_us(node: str, device: str) -> float:
    """What one end adds to the time of a message."""
    return _HALF_US * device_variation.variation_factor(node, device, "latency", spread=0.01)


def inline_bytes(name: str) -> int:
    """What goes with the request, by test (`ctx_set_max_inline` of perftest_parameters.c)."""
    return {"ib_write_lat": 220, "ib_send_lat": 236}.get(name, 0)


def table(size: int, iterations: int, us: float) -> list[str]:
    """Header and row."""
    least, most, mean, p99 = (us * share for share in (_LEAST, _MOST, _MEAN, _P99))
    row = f" {size:<7} {iterations}          {least:<7.2f}        {most:<7.2f}      {us:<7.2f}  \t       {mean:<7.2f}     \t{0:<7.2f}"
    return [_HEADER, f"{row}\t\t{p99:<7.2f} \t\t{most:<7.2f}"]
