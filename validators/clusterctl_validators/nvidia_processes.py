"""Which processes compute on NVIDIA's GPUs."""

from typing import Tuple

# CUDA maps memory through it; a program that only queries NVML does not need it: NVIDIA/libnvidia-container (src/nvc_mount.c) gives it to containers of
# CUDA, not to those that have only NVML and nvidia-smi.
COMPUTE_DEVICES: Tuple[str, ...] = ("/dev/nvidia-uvm",)
# With --uvm-persistence-mode the persistence daemon keeps the device open; DCGM's daemon starts the diagnostics.
GPU_SERVICES: Tuple[str, ...] = ("nvidia-persistenced", "nv-hostengine")
# dcgmi sends requests to this daemon, whose children then compute.
DIAGNOSTICS_DAEMON = "nv-hostengine"
