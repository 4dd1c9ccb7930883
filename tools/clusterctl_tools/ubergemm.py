"""ubergemm: the matrix multiplication of NVIDIA's DCGM, which loads one GPU and prints its rate.

Source of the call and of the output: Azure/ai-infrastructure-on-azure@a01b073, infrastructure_validations/slurm/gpu_test (GB300 and H100).
"""

import re
from typing import List, Sequence

# Of datacenter-gpu-manager-4-cuda13 and -proprietary-cuda13 up to 4.6; since 4.7 of -cuda13-ubergemm2.
PROGRAM = "/usr/libexec/datacenter-gpu-manager-4/plugins/cuda13/updated/ubergemm"

# It has no version of its own: that of DCGM, whose package it is in.
VERSION = ("dcgmi", "--version")

# After `starting....`; what is printed before it is of the search for the fastest kernel.
_BEGIN = re.compile(r"^.*starting", re.MULTILINE)
_RATE = re.compile(r"GFlops:\s*(\d{1,12}(?:\.\d{1,12})?(?:[eE][+-]?\d{1,2})?)\b")


def load_argv(gpu: int, seconds: int, program: str = PROGRAM) -> Sequence[str]:
    """The command that loads a GPU, numbered by PCI address as nvidia-smi does; its output is read by `rates_gflops`."""
    return ("env", "CUDA_DEVICE_ORDER=PCI_BUS_ID", program, "--adapters", str(gpu), "--time_to_run", str(seconds))


def rates_gflops(text: str) -> List[float]:
    """The rates in GFLOPS that it printed while it measured, in order; empty if there are none."""
    begin = _BEGIN.search(text)
    return [float(found) for found in _RATE.findall(text[begin.end() :] if begin else text)]
