"""Fabric, GSP firmware, MIG, ECC and power limits: invalid declarations and the current state of the GPUs, as pure functions."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ansible_collections.clusterctl.gpu.plugins.module_utils.clusterctl_tools.nvidia_smi import parse_row, reported

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

_SERVED_BY = {"fabricmanager": ("fabric_manager", "the fabric manager"), "imex": ("imex", "IMEX")}
_GSP = "NVreg_EnableGpuFirmware"
_FIELDS = {
    "index": "index",
    "power_w": "power.limit",
    "power_min_w": "power.min_limit",
    "power_max_w": "power.max_limit",
    "mig": "mig.mode.current",
    "ecc": "ecc.mode.current",
    "ecc_pending": "ecc.mode.pending",
}


def mode_errors(modes: Mapping[str, Any], versions: Mapping[str, str], catalogue: Mapping[str, Any]) -> list[str]:
    """The reasons to refuse these modes, one line each.

    Args:
        modes: `fabric`, `kernel_module`, `architecture`, `gsp_firmware`, `mig`, `ecc`, `power_limit_w`, `parameters`; "" and 0: not managed.
        versions: full version by component; empty means none.
        catalogue: the facts of `nvidia_versions`; without them GPU generations are not checked.
    """
    errors = [*_fabric_errors(modes["fabric"], versions)]
    if modes["gsp_firmware"] == "disabled" and modes["kernel_module"] == "open":
        errors.append("the open kernel module requires GSP firmware")
    if modes["gsp_firmware"] and _GSP in modes["parameters"]:
        errors.append(f"{_GSP}: use nvidia_driver_gsp_firmware instead")
    if int(modes["power_limit_w"]) < 0:
        errors.append(f"nvidia_driver_power_limit_w: {modes['power_limit_w']} is negative")
    if catalogue and modes["architecture"]:
        facts = catalogue["architectures"][modes["architecture"]]
        errors += [*_architecture_errors(modes, facts), *_subnet_manager_errors(modes, versions["nvlsm"], facts)]
    return errors


def _fabric_errors(fabric: str, versions: Mapping[str, str]) -> Iterator[str]:
    for name, (component, words) in _SERVED_BY.items():
        version = versions[component]
        if name == fabric and not version:
            yield f"nvidia_driver_fabric is {name}, but no version of {words} is declared"
        if name != fabric and version:
            yield f"{words} {version} is declared, but nvidia_driver_fabric is {fabric}"
    if versions["nvlsm"] and fabric != "fabricmanager":
        yield f"nvlsm {versions['nvlsm']} is declared, but nvidia_driver_fabric is {fabric}"


def _architecture_errors(modes: Mapping[str, Any], facts: Mapping[str, Any]) -> Iterator[str]:
    gpus = f"{modes['architecture']} GPUs"
    if modes["fabric"] not in facts["fabrics"]:
        yield f"{gpus} do not support fabric {modes['fabric']}, only {' and '.join(facts['fabrics'])}"
    if modes["mig"] == "enabled" and not facts["mig"]:
        yield f"{gpus} do not support MIG"
    if int(modes["power_limit_w"]) > facts["power_max_w"]:
        yield f"no board with {gpus} allows {modes['power_limit_w']} W; the maximum is {facts['power_max_w']} W"


def _subnet_manager_errors(modes: Mapping[str, Any], version: str, facts: Mapping[str, Any]) -> Iterator[str]:
    if modes["fabric"] != "fabricmanager":
        return
    if facts["nvlsm"] and not version:
        yield f"{modes['architecture']} boards need nvlsm: the fabric manager does not start without it"
    if version and not facts["nvlsm"]:
        yield f"nvlsm {version} is declared, but {modes['architecture']} boards have no NVSwitches that it supports"


def gsp_parameter(declared: str) -> dict[str, int]:
    """The module parameter for `enabled` and `disabled`; none for the driver's default.

    Args:
        declared: nvidia_driver_gsp_firmware: `enabled`, `disabled` or empty.
    """
    return {_GSP: int(declared == "enabled")} if declared else {}


def gpu_fields(_: str) -> str:
    """The fields that `gpu_modes` reads.

    Args:
        _: not used: a filter needs an input.
    """
    return ",".join(_FIELDS.values())


def gpu_modes(text: str) -> list[dict[str, str]]:
    """One row per GPU of `nvidia-smi --query-gpu` without header and units; a value is empty if the GPU does not support it.

    Args:
        text: what `nvidia-smi` printed.

    Raises:
        UnreadableGpuError: a line has a different number of columns.
    """
    rows = [parse_row(line, tuple(_FIELDS)) for line in text.splitlines() if line.strip()]
    return [{name: reported(cell) for name, cell in row.items()} for row in rows]


def power_errors(gpus: Sequence[Mapping[str, str]], limit_w: int) -> list[str]:
    """GPUs whose board does not allow this limit or does not report its range; none for 0.

    Args:
        gpus: rows of `gpu_modes`.
        limit_w: the declared power limit in W; 0 means not managed.
    """
    ranges = [(g["index"], g["power_min_w"], g["power_max_w"]) for g in gpus if limit_w]
    return [
        f"GPU {index} allows {lowest or '?'} to {highest or '?'} W, not {limit_w} W"
        for index, lowest, highest in ranges
        if not (lowest and highest and float(lowest) <= limit_w <= float(highest))
    ]


def other_power(gpus: Sequence[Mapping[str, str]], limit_w: int) -> list[str]:
    """Indices of the GPUs with a different limit; none for 0.

    Args:
        gpus: rows of `gpu_modes`.
        limit_w: the declared power limit in W; 0 means not managed.
    """
    return [g["index"] for g in gpus if limit_w and g["power_w"] and float(g["power_w"]) != limit_w]


def other_pending_ecc(gpus: Sequence[Mapping[str, str]], declared: str) -> list[str]:
    """Indices of the GPUs with a different ECC mode after the next boot; none for "".

    Args:
        gpus: rows of `gpu_modes`.
        declared: nvidia_driver_ecc: `enabled`, `disabled` or empty.
    """
    return [g["index"] for g in gpus if declared and g["ecc_pending"] and g["ecc_pending"].lower() != declared]


def other_modes(gpus: Sequence[Mapping[str, str]], declared: Mapping[str, Any]) -> list[str]:
    """Indices of the GPUs that are in a different MIG or ECC mode. A GPU without MIG counts as disabled.

    Args:
        gpus: rows of `gpu_modes`.
        declared: `mig` and `ecc`; empty means not managed.
    """
    mig, ecc = declared["mig"], declared["ecc"]
    return [g["index"] for g in gpus if (mig and (g["mig"].lower() or "disabled") != mig) or (ecc and g["ecc"].lower() != ecc)]


class FilterModule:
    """The filters of this role."""

    def filters(self) -> dict[str, Callable[..., Any]]:
        """Filter name -> function."""
        return {
            "nvidia_mode_errors": mode_errors,
            "nvidia_gsp_parameter": gsp_parameter,
            "nvidia_gpu_fields": gpu_fields,
            "nvidia_gpu_modes": gpu_modes,
            "nvidia_power_errors": power_errors,
            "nvidia_other_power": other_power,
            "nvidia_other_pending_ecc": other_pending_ecc,
            "nvidia_other_modes": other_modes,
        }
