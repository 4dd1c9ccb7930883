"""How often NVLinks were lost, from their error counters as `nvidia_smi.nvlink_counters` names them."""

import re
from typing import Dict, Mapping, Union

# Up to NVLink 4 there is one counter. NVLink 5 counts what succeeded, what failed, and both.
# Assumed: they begin at 0 when the driver is loaded or the GPU is reset. NVML documents a call that clears them (nvmlDeviceResetNvLinkErrorCounters), and nothing else.
_OLDER = "nvlink_recovery_errors"
_TOTAL = "nvlink_total_link_recovery_events"
_ENDS = ("nvlink_link_recovery_successful_events", "nvlink_link_recovery_failed_events")
LOSS_COUNTERS = frozenset({_OLDER, _TOTAL, *_ENDS})
_DEVICE = re.compile(r"GPU (\d+) NVLink (\d+)$")

Number = Union[int, float]


def losses_by_gpu(counters: Mapping[str, Mapping[str, Number]]) -> Dict[int, Dict[int, int]]:
    """GPU index -> NVLink -> losses since its counters began at zero; a link without a counter of losses is left out."""
    found: Dict[int, Dict[int, int]] = {}
    for device, own in counters.items():
        name = _DEVICE.match(device)
        if name and LOSS_COUNTERS & set(own):
            found.setdefault(int(name.group(1)), {})[int(name.group(2))] = _losses(own)
    return found


def _losses(own: Mapping[str, Number]) -> int:
    return int(max(own.get(_OLDER, 0), own.get(_TOTAL, 0), sum(own.get(end, 0) for end in _ENDS)))
