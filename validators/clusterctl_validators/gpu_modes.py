"""Checks of GPU settings: GSP firmware, MIG, ECC and power limit, now and after the next boot."""

import re
from typing import List, Optional, Tuple

from clusterctl_tools.gpu import Gpu
from clusterctl_validators.record import Record

SCRIPT = "/usr/local/sbin/clusterctl-gpu-settings"
UNIT = "clusterctl-gpu-settings.service"
UNIT_FILE = "/etc/systemd/system/" + UNIT
_PROVISION = "run `clusterctl provision NODE`"
_BOOT = "drain and reboot the node: the setting changes only while nothing uses the GPU"


def check_gsp(record: Record, gpu: Gpu, declared: str) -> None:
    """Whether GSP firmware runs; nvidia-smi shows its version only if it does."""
    found = "enabled" if gpu.gsp_firmware else "disabled"
    record.equal(
        "nvidia_driver.gpu[{}].gsp_firmware".format(gpu.index), declared, found, hint="reboot: the setting applies when the module loads"
    )


def check_mig(record: Record, gpu: Gpu, declared: str) -> None:
    """The current and the pending MIG mode; a GPU without MIG counts as disabled."""
    at = "nvidia_driver.gpu[{}].mig.".format(gpu.index)
    record.equal(at + "running", declared, (gpu.mig_current or "disabled").lower(), hint=_BOOT)
    record.equal(
        at + "pending", declared, (gpu.mig_pending or "disabled").lower(), hint="nvidia-smi -i {} -mig; {}".format(gpu.index, _BOOT)
    )


def check_ecc(record: Record, gpu: Gpu, declared: str) -> None:
    """The current ECC mode and the one pending for the next boot."""
    at = "nvidia_driver.gpu[{}].ecc.".format(gpu.index)
    for name, found, hint in (("running", gpu.ecc_current, _BOOT), ("pending", gpu.ecc_pending, _PROVISION)):
        if found is None:
            record.could_not_run(at + name, "nvidia-smi does not report it")
        else:
            record.equal(at + name, declared, found.lower(), hint=hint)


def check_power(record: Record, gpu: Gpu, declared_w: int) -> None:
    """The power limit in force, in W; the board must allow the declared one."""
    check = "nvidia_driver.gpu[{}].power_limit_w".format(gpu.index)
    if gpu.power_limit_w is None or gpu.power_min_w is None or gpu.power_max_w is None:
        record.could_not_run(check, "nvidia-smi does not report limit and range")
        return
    allowed = gpu.power_min_w <= declared_w <= gpu.power_max_w
    outside = "the board allows {:g} to {:g} W: correct nvidia_driver_power_limit_w".format(gpu.power_min_w, gpu.power_max_w)
    same = allowed and gpu.power_limit_w == declared_w
    record.ok(check, same, expected=declared_w, found="{:g}".format(gpu.power_limit_w), hint=_PROVISION if allowed else outside)


def written_settings(text: str) -> Tuple[Optional[str], int]:
    """The MIG mode and the power limit in W that the script sets at boot; None and 0 if it sets none."""
    mig = re.findall(r"^ *\*\) nvidia-smi .*--multi-instance-gpu=([01]) ;;$", text, re.MULTILINE)
    power = re.findall(r"^nvidia-smi --power-limit=(\d+)$", text, re.MULTILINE)
    return {"1": "enabled", "0": "disabled"}[mig[-1]] if mig else None, int(power[-1]) if power else 0


def starts(text: str) -> List[str]:
    """The commands that a unit file starts."""
    return [line.partition("=")[2] for line in text.splitlines() if line.startswith("ExecStart=")]
