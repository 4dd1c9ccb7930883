"""Checks of what can be set on a GPU: GSP firmware, MIG, ECC and power limit, now and after the next boot."""

import re
from typing import List, Optional, Tuple

from clusterctl_validators.nvidia_smi import Gpu
from clusterctl_validators.record import Record

SCRIPT = "/usr/local/sbin/clusterctl-gpu-settings"
UNIT = "clusterctl-gpu-settings.service"
UNIT_FILE = "/etc/systemd/system/" + UNIT
_PROVISION = "`clusterctl provision NODE` puts it back"
_BOOT = "drain and reboot the node: it changes only while nothing runs on the GPU"


def check_gsp(record: Record, gpu: Gpu, wanted: str) -> None:
    """GSP firmware runs, or does not; nvidia-smi names its version where it does."""
    found = "enabled" if gpu.gsp_firmware else "disabled"
    record.equal("nvidia_driver.gpu[{}].gsp_firmware".format(gpu.index), wanted, found, hint="reboot: the module reads it when it loads")


def check_mig(record: Record, gpu: Gpu, wanted: str) -> None:
    """MIG mode now and as it is pending; a GPU that has no MIG has it disabled."""
    at = "nvidia_driver.gpu[{}].mig.".format(gpu.index)
    record.equal(at + "running", wanted, (gpu.mig_current or "disabled").lower(), hint=_BOOT)
    record.equal(at + "pending", wanted, (gpu.mig_pending or "disabled").lower(), hint="nvidia-smi -i {} -mig; {}".format(gpu.index, _BOOT))


def check_ecc(record: Record, gpu: Gpu, wanted: str) -> None:
    """ECC now and as the board noted it for the next boot."""
    at = "nvidia_driver.gpu[{}].ecc.".format(gpu.index)
    for name, said, hint in (("running", gpu.ecc_current, _BOOT), ("pending", gpu.ecc_pending, _PROVISION)):
        if said is None:
            record.could_not_run(at + name, "nvidia-smi does not report it")
        else:
            record.equal(at + name, wanted, said.lower(), hint=hint)


def check_power(record: Record, gpu: Gpu, wanted_w: int) -> None:
    """The power limit in force, W, and that the board allows the declared one."""
    check = "nvidia_driver.gpu[{}].power_limit_w".format(gpu.index)
    if gpu.power_limit_w is None or gpu.power_min_w is None or gpu.power_max_w is None:
        record.could_not_run(check, "nvidia-smi does not report limit and range")
        return
    allowed = gpu.power_min_w <= wanted_w <= gpu.power_max_w
    outside = "the board allows {:g} to {:g} W: correct nvidia_driver_power_limit_w".format(gpu.power_min_w, gpu.power_max_w)
    same = allowed and gpu.power_limit_w == wanted_w
    record.ok(check, same, expected=wanted_w, found="{:g}".format(gpu.power_limit_w), hint=_PROVISION if allowed else outside)


def written_settings(text: str) -> Tuple[Optional[str], int]:
    """MIG mode and power limit, W, that the script sets at boot; None and 0 for what it leaves."""
    mig = re.findall(r"^ *\*\) nvidia-smi .*--multi-instance-gpu=([01]) ;;$", text, re.MULTILINE)
    power = re.findall(r"^nvidia-smi --power-limit=(\d+)$", text, re.MULTILINE)
    return {"1": "enabled", "0": "disabled"}[mig[-1]] if mig else None, int(power[-1]) if power else 0


def starts(text: str) -> List[str]:
    """What a unit file starts."""
    return [line.partition("=")[2] for line in text.splitlines() if line.startswith("ExecStart=")]
