"""NCCL: the library that jobs load, and their settings."""

import re
from typing import Any, Dict, List, Mapping, Tuple

from clusterctl_validators.file_mode import read_mode
from clusterctl_validators.finding import Severity
from clusterctl_validators.pinned_packages import check_package
from clusterctl_validators.probe import Probe
from clusterctl_validators.record import Record

ROLE = "nccl"
LEFT_BY_ROLE = ("nccl.package.held", "nccl.conf.mode")
# Files of others, which the role leaves alone.
BEYOND_ROLE = ("nccl.environment",)
Spec = Mapping[str, Any]

CONF = "/etc/nccl.conf"
_LIBRARIES = (
    "/usr/lib/*/libnccl.so.2.*",
    "/usr/lib64/libnccl.so.2.*",
    "/usr/local/lib/libnccl.so.2.*",
    "/usr/local/cuda*/lib64/libnccl.so.2.*",
)
_ENVIRONMENT = (
    *("/etc/environment", "/etc/environment.d/*.conf", "/etc/profile.d/*.sh", "/etc/profile", "/etc/bash.bashrc", "/etc/bashrc"),
    *("/etc/security/pam_env.conf", "/etc/systemd/system.conf", "/etc/systemd/system.conf.d/*.conf"),
)
# NCCL reads it before the other file, for jobs of root (setEnvFile of src/misc/param.cc).
_ROOTS_CONF = "{}/.nccl.conf".format("/root")
# As shells write it; `NAME DEFAULT=value` of pam_env.conf(5); `DefaultEnvironment=NAME=value` of systemd-system.conf(5).
_ASSIGNMENT = re.compile(
    r"^\s*(?:export\s+|DefaultEnvironment\s*=\s*[\"']?)?([A-Z]\w*)(?:\s+(?:DEFAULT|OVERRIDE))?\s*=\s*[\"']?(.*?)[\"']?\s*(?:#.*)?$"
)
# Variables with which CUDA, UCX, Open MPI, libfabric, SHARP, HCOLL and the verbs libraries change what a job does; profiles of distributions set none.
_STEERING = re.compile(
    r"CUDA_(?:VISIBLE_DEVICES|DEVICE_ORDER|LAUNCH_BLOCKING|DEVICE_MAX_CONNECTIONS|MODULE_LOADING|CACHE_\w+|FORCE_PTX_JIT|DISABLE_PTX_JIT|MPS_\w+)"
    r"|NVIDIA_(?:VISIBLE_DEVICES|TF32_OVERRIDE)|(?:UCX|OMPI_MCA|PMIX_MCA|FI|SHARP|HCOLL|MLX5|RDMAV|IBV|TORCH_NCCL)_\w+|OMP_NUM_THREADS|LD_PRELOAD"
)
# What NCCL loads without a setting, where the loader finds it (src/plugin of NVIDIA/nccl) -> the variable that chooses another one.
_PLUGINS = {"net": "NCCL_NET_PLUGIN", "tuner": "NCCL_TUNER_PLUGIN", "profiler": "NCCL_PROFILER_PLUGIN", "env": "NCCL_ENV_PLUGIN"}
_LOADER = ("/usr/lib", "/usr/lib64", "/usr/lib/*-linux-gnu", "/usr/local/lib", "/usr/local/lib64", "/usr/local/cuda*/lib64")
_NUMBER = re.compile(r"\s*-?\d+\s*$")
_PROVISION = "run `clusterctl provision NODE`"


def test_packages(spec: Spec, record: Record, probe: Probe) -> None:
    if not spec["nccl_packages"]:
        record.not_applicable("nccl.packages", "the library is not managed")
    for package in spec["nccl_packages"]:
        check_package(record, probe, package, spec["nccl_hold"])


def test_library(spec: Spec, record: Record, probe: Probe) -> None:
    declared = spec["nccl_version"]
    if not declared:
        record.not_applicable("nccl.library", "the library is not managed")
        return
    files = sorted({path for pattern in _LIBRARIES for path in probe.glob(pattern)})
    versions = sorted({path.rsplit("libnccl.so.", 1)[1] for path in files})
    hint = "found {}: jobs may load another copy instead; remove it".format(", ".join(files) or "none")
    record.equal("nccl.library", declared, ", ".join(versions) or "absent", hint=hint)


def _declared(spec: Spec) -> Dict[str, str]:
    settings = {name: str(int(v)) if isinstance(v, bool) else str(v) for name, v in spec["nccl_settings"].items()}
    if spec["nccl_topology_file"]:
        settings["NCCL_TOPO_FILE"] = spec["nccl_topology_file"]
    return settings


def parse_conf(text: str) -> Dict[str, str]:
    """What NCCL sets by these `NAME=value` lines: of a name given twice the first, and nothing it would look for by a name with blanks.

    NVIDIA/nccl v2.21.5-1 to v2.30.7-1, setEnvFile of src/misc/param.cc: the rest of a line is the value, blanks included; only numbers are read without them.
    """
    found: Dict[str, str] = {}
    for line in text.splitlines():
        name, assigned, value = line.partition("=")
        if assigned and name == name.strip() and not name.startswith("#"):
            found.setdefault(name, value.strip() if _NUMBER.match(value) else value)
    return found


def test_settings(spec: Spec, record: Record, probe: Probe) -> None:
    declared = _declared(spec)
    text = probe.read(CONF)
    if not declared:
        record.equal("nccl.conf", "absent", "absent" if text is None else "present", hint=_PROVISION)
        return
    found = parse_conf(text or "")
    for name in sorted({*declared, *found}):
        value = declared.get(name, "not set")
        record.equal("nccl.conf[{}]".format(name), value, found.get(name, "not set"), hint=_PROVISION)
    mode = read_mode(probe, CONF)
    hint = "the jobs of all users must be able to read it: chmod 644 " + CONF
    record.equal("nccl.conf.mode", "root 644", "{} {}".format(mode.owner, mode.mode) if mode else "absent", hint=hint)


def test_topology_file(spec: Spec, record: Record, probe: Probe) -> None:
    path = spec["nccl_topology_file"]
    if not path:
        record.not_applicable("nccl.topology_file", "not declared")
        return
    text = probe.read(path) or ""
    expected = "{} with a <system> in it".format(path)
    found = expected if "<system" in text else "no topology" if text else "absent or empty"
    hint = "if NCCL cannot read this file, it detects the topology itself without an error"
    record.ok("nccl.topology_file", "<system" in text, expected=expected, found=found, severity=Severity.CRITICAL, hint=hint)


def _assignments(probe: Probe) -> List[Tuple[str, str, str]]:
    """(file, variable, value) of each variable that the environment of jobs gets from a file."""
    found: List[Tuple[str, str, str]] = []
    for path in sorted({p for pattern in _ENVIRONMENT for p in probe.glob(pattern)}):
        lines = map(_ASSIGNMENT.match, (probe.read(path) or "").splitlines())
        found += [(path, line.group(1), line.group(2)) for line in lines if line]
    return found + [(_ROOTS_CONF, name, value) for name, value in parse_conf(probe.read(_ROOTS_CONF) or "").items()]


def test_plugins(spec: Spec, record: Record, probe: Probe) -> None:
    """Plug-ins that NCCL loads although nothing declares them: they choose the network, algorithms and settings of every job."""
    folders = [
        *_LOADER,
        *(line.strip() for path in probe.glob("/etc/ld.so.conf.d/*.conf") for line in (probe.read(path) or "").splitlines()),
    ]
    kinds = [kind for kind, variable in _PLUGINS.items() if variable not in _declared(spec)]
    patterns = ["{}/libnccl-{}.so".format(folder, kind) for folder in folders if folder.startswith("/") for kind in kinds]
    found = sorted({path for pattern in patterns for path in probe.glob(pattern)})
    if found:
        hint = "remove them, or declare {} in nccl_settings".format(", ".join(_PLUGINS[kind] for kind in kinds))
        record.warn("nccl.plugins", expected="none but declared ones", found=", ".join(found), hint=hint)
    else:
        record.equal("nccl.plugins", "none but declared ones", "none but declared ones")


def test_steering_variables(record: Record, probe: Probe) -> None:
    others = ["{}: {}={}".format(path, name, value) for path, name, value in _assignments(probe) if _STEERING.fullmatch(name)]
    if others:
        hint = "remove these lines: every job of every user inherits them, or waive this check"
        record.warn("nccl.other_environment", expected="nothing for CUDA, UCX, MPI", found="; ".join(others), hint=hint)
    else:
        record.equal("nccl.other_environment", "nothing for CUDA, UCX, MPI", "nothing for CUDA, UCX, MPI")


def test_environment(spec: Spec, record: Record, probe: Probe) -> None:
    declared = _declared(spec)
    ours = [row for row in _assignments(probe) if row[1].startswith("NCCL_")]
    others = ["{}: {}={}".format(*row) for row in ours if declared.get(row[1]) != row[2]]
    hint = "the environment of a job overrides {}: remove these lines, or declare them in nccl_settings".format(CONF)
    record.ok("nccl.environment", not others, expected="nothing else sets NCCL_*", found="; ".join(others) or "nothing else", hint=hint)
