"""modprobe, lsmod and modinfo: one program with three names."""

from __future__ import annotations

import os
import sys

from . import state, uname
from .kernel_modules import ModuleError, available_version, load_module, modinfo_overrides, require_module, unload_module

# Modules of the kernel whose files have dashes; NVIDIA's have them, too.
_DASHED = ("nvme_core", "vfio_pci", "acpi_cpufreq")


def main(argv: list[str], _version: str = "") -> int:
    """Run the program whose name it was called by."""
    name = argv[0].rpartition("/")[2]
    return {"lsmod": _lsmod, "modinfo": _modinfo}.get(name, _modprobe)(argv[1:])


def _modprobe(words: list[str]) -> int:
    flags = {w for w in words if w.startswith("-")}
    names = [w for w in words if not w.startswith("-")]
    every = flags & {"-a", "--all", "-r", "--remove"}
    parameters = {} if every else dict(w.split("=", 1) for w in names[1:] if "=" in w)
    code = 0
    for name in names if every else names[:1]:
        try:
            if flags & {"-r", "--remove"}:
                unload_module(name)
            elif flags & {"-n", "--dry-run"}:
                require_module(name.replace("-", "_"))
            else:
                load_module(name, parameters)
        except ModuleError as e:
            code = 1
            if not flags & {"-q", "--quiet"}:
                print(e, file=sys.stderr)
    return code


def _lsmod(_words: list[str]) -> int:
    print("Module                  Size  Used by")
    for name in sorted(os.listdir(state.LOADED)):
        print(f"{name:<19} {state.read(f'{state.LOADED}/{name}/coresize'):>8}  {state.read(f'{state.LOADED}/{name}/refcnt')}")
    return 0


def _modinfo(words: list[str]) -> int:
    field = next((words[i + 1] for i, w in enumerate(words[:-1]) if w in ("-F", "--field")), "")
    names = [w for i, w in enumerate(words) if not w.startswith("-") and (i == 0 or words[i - 1] not in ("-F", "--field"))]
    code = 0
    for name in names:
        version = available_version(name.replace("-", "_"))
        if version is None:
            print(f"modinfo: ERROR: Module {name} not found.", file=sys.stderr)
            code = 1
            continue
        release = uname.release()
        where = "updates/dkms" if version else "kernel/drivers"
        rows = {
            "filename": f"/lib/modules/{release}/{where}/{_file_name(name)}.ko",
            "license": "Dual MIT/GPL",
            "description": "simulated",
        }
        rows |= {"version": version} if version else {}
        rows |= {"name": name, "vermagic": f"{release} SMP preempt mod_unload "}  # with the blank of VERMAGIC_STRING
        rows |= modinfo_overrides(name.replace("-", "_"))
        if field:
            print(rows.get(field, ""), end="\n" if field in rows else "")
        else:
            print("".join(f"{key + ':':<16}{value}\n" for key, value in rows.items()), end="")
    return code


def _file_name(module: str) -> str:
    dashed = module.startswith("nvidia") or module in _DASHED
    return module.replace("_", "-") if dashed else module.replace("-", "_")
