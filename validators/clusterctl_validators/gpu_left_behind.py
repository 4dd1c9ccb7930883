"""What a former user of a node may leave on its GPUs: modes that no role sets and that change what the next job gets.

The law: a setting that no role declares, and that stops jobs, fails; one that changes what they get is a warning, because a site may have made it on purpose.
"""

from typing import Dict, Mapping, Sequence

from clusterctl_tools import conf_compute, nvidia_module
from clusterctl_tools.gpu import Gpu
from clusterctl_validators import boot_log
from clusterctl_validators.finding import Severity
from clusterctl_validators.probe import Probe
from clusterctl_validators.record import Record
from clusterctl_validators.refused_gpus import refuses_gpus

_COMPUTE_MODE = "nvidia_driver.compute_mode"
_CONF_COMPUTE = "nvidia_driver.conf_compute"
# The kernel keeps 15 characters of a name: the daemon's and its servers' alike.
_MPS = "nvidia-cuda-mps"
_NO_MPS = "no daemon of MPS"
_OFF = "turn it off: stop what uses the GPUs, then `{}`".format(" ".join(conf_compute.turn_off_argv("ADDRESS")))


def judge_compute_mode(record: Record, gpus: Sequence[Gpu]) -> None:
    """The compute mode, which lasts until the next boot (manual of nvidia-smi): all recorded GPUs of clouds have Default."""
    modes = {gpu.index: gpu.compute_mode for gpu in gpus if gpu.compute_mode}
    others = {index: mode for index, mode in modes.items() if mode != "Default"}
    found = ", ".join(
        "{} on GPU {}".format(mode, ", ".join(str(i) for i in sorted(others) if others[i] == mode)) for mode in sorted(set(others.values()))
    )
    hint = "`nvidia-smi -c DEFAULT`, or reboot the node; find out what sets it (Slurm's prolog, a unit)"
    if not modes:
        record.not_applicable(_COMPUTE_MODE, "nvidia-smi does not report it")
    elif "Prohibited" in others.values():
        record.ok(_COMPUTE_MODE, False, expected="Default", found=found, severity=Severity.CRITICAL, hint="every CUDA job fails: " + hint)
    elif others:
        record.warn(_COMPUTE_MODE, expected="Default", found=found, hint="only one process at a time may use a GPU: " + hint)
    else:
        record.equal(_COMPUTE_MODE, "Default", "Default")


def judge_power_profiles(record: Record, gpus: Sequence[Gpu]) -> None:
    """Workload power profiles of Blackwell (Max-Q and others), which a user or NVIDIA's Domain Power Service requests; all recorded GPUs show N/A."""
    # Assumed: what nvidia-smi prints where one is requested; no output of that is public.
    found = ", ".join("GPU {}: {}".format(gpu.index, gpu.power_profiles) for gpu in gpus if gpu.power_profiles not in (None, "None"))
    if found:
        hint = "they trade speed for power: `nvidia-smi power-profiles` clears what no one declares"
        record.warn("nvidia_driver.power_profiles", expected="none", found=found, hint=hint)
    else:
        record.equal("nvidia_driver.power_profiles", "none", "none")


def judge_conf_compute(record: Record, probe: Probe) -> None:
    """Confidential computing, and Protected PCIe between the GPUs of a board."""
    try:
        refused = refuses_gpus(probe, conf_compute.REFUSED)
    except boot_log.UnreadableLogError as e:
        record.could_not_run(_CONF_COMPUTE, str(e), Severity.CRITICAL)
        return
    if refused:
        found = "on, and the driver refuses the GPU: this kernel runs in no confidential VM"
        hint = "the GPU is not defective. With the module nvidia unloaded, " + _OFF
        record.ok(_CONF_COMPUTE, False, expected="off", found=found, severity=Severity.CRITICAL, hint=hint)
        return
    result = probe.run(conf_compute.QUERY)
    shown = conf_compute.parse_conf_compute(result.stdout)
    if not shown.state:
        record.not_applicable(_CONF_COMPUTE, "nvidia-smi conf-compute shows no state: GPUs or driver have none")
    elif not shown.enabled:
        record.equal(_CONF_COMPUTE, "off", "off")
    elif shown.ready == "Not Ready":
        hint = "CUDA fails with error 802 until `nvidia-smi conf-compute -srs 1`. If no job needs this mode, " + _OFF
        found = shown.enabled + ", not ready"
        record.ok(_CONF_COMPUTE, False, expected="off, or ready", found=found, severity=Severity.CRITICAL, hint=hint)
    else:
        hint = "it slows copies and hides performance counters. If no job needs it, " + _OFF
        record.warn(_CONF_COMPUTE, expected="off", found=shown.enabled, hint=hint)


def judge_mps(record: Record, probe: Probe) -> None:
    """The Multi-Process Service: CUDA programs of every user connect to a daemon at its default place, which serves one user at a time (NVIDIA's guide)."""
    check = "nvidia_driver.mps"
    result = probe.run(["pgrep", "-x", _MPS])
    if result.error or result.rc not in (0, 1):
        # What can only warn does not hold a node back where it cannot be read.
        record.warn(
            check, expected=_NO_MPS, found="not read: pgrep: {}".format(result.error or "exit {}".format(result.rc)), hint="install pgrep"
        )
    elif result.rc == 0:
        hint = "if no job of now started it: `echo quit | nvidia-cuda-mps-control`, and find out what starts it; jobs of other users wait for it"
        record.warn(check, expected=_NO_MPS, found="process " + ", ".join(result.stdout.split()), hint=hint)
    else:
        record.equal(check, _NO_MPS, _NO_MPS)


def judge_other_parameters(record: Record, probe: Probe, declared: Mapping[str, str]) -> None:
    """Parameters of the NVIDIA module in /etc/modprobe.d that nothing declares; packages of drivers have theirs in /usr/lib."""
    check = "nvidia_driver.parameters.undeclared"
    others: Dict[str, str] = {}
    for path in probe.glob("/etc/modprobe.d/*.conf"):
        options = nvidia_module.parse_options((probe.read(path) or "").replace("\\\n", " "))
        others.update({"{}={}".format(name, value): path for name, value in options.items() if name not in declared})
    if others:
        found = "; ".join("{} in {}".format(text, path) for text, path in sorted(others.items()))
        hint = "declare them in nvidia_driver_module_parameters, or remove these lines and reboot the node"
        record.warn(check, expected="none", found=found, hint=hint)
    else:
        record.equal(check, "none", "none")
