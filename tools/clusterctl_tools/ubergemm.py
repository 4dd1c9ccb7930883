"""ubergemm: the matrix multiplication of NVIDIA's DCGM, which loads one GPU and prints its rate.

Source of the call and of the output: Azure/ai-infrastructure-on-azure@a01b073, infrastructure_validations/slurm/gpu_test (GB300 and H100).
"""

import re
from typing import List, Sequence

# The path is that of Azure's images (GB300 and H100). Assumed: datacenter-gpu-manager-4-proprietary-cuda13 has it, since DCGM is public without it; from 4.7 on
# it is in -cuda13-ubergemm2 (a dpkg -l). Not confirmed: that its adapters are numbered as CUDA numbers GPUs, and that it runs for longer than the minute of Azure.
PROGRAM = "/usr/libexec/datacenter-gpu-manager-4/plugins/cuda13/updated/ubergemm"

# It has no version of its own: that of DCGM, whose package it is in.
VERSION = ("dcgmi", "--version")

_TIME = "--time_to_run"
# After `starting....`; what is printed before it is of the search for the fastest kernel.
_BEGIN = re.compile(r"^.*starting", re.MULTILINE)
_RATE = re.compile(r"GFlops:\s*(\d{1,12}(?:\.\d{1,12})?(?:[eE][+-]?\d{1,2})?)\b")


def load_argv(gpu: int, seconds: int, program: str = PROGRAM) -> Sequence[str]:
    """The command that loads a GPU, numbered by PCI address as nvidia-smi does; its output is read by `rates_gflops`."""
    return ("env", "CUDA_DEVICE_ORDER=PCI_BUS_ID", program, "--adapters", str(gpu), _TIME, str(seconds))


def requested_s(argv: Sequence[str]) -> float:
    """The run time that `load_argv` requested; 0 for another command."""
    words = list(argv)
    return float(words[words.index(_TIME) + 1]) if _TIME in words[:-1] else 0.0


def rates_gflops(text: str) -> List[float]:
    """The rates in GFLOPS that it printed while it measured, in order; empty if there are none."""
    begin = _BEGIN.search(text)
    return [float(found) for found in _RATE.findall(text[begin.end() :] if begin else text)]
