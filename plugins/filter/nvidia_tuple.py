"""Compatibility of the versions in NVIDIA's stack, as pure functions."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from ansible_collections.clusterctl.gpu.plugins.module_utils.clusterctl_tools.nvidia_module import (
    UnreadableModuleError,
    as_written,
    listed_names,
    parse_parameters,
    parse_version,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

_FULL = re.compile(r"\d{3}\.\d{2,3}(\.\d{2})?")
_UPSTREAM = re.compile(r"(?:\d+:)?(?P<upstream>[^-]+)(?:-.*)?")


def upstream(version: str) -> str:
    """`1:4.5.2-1` -> `4.5.2`, `2.28.9-1+cuda13.0` -> `2.28.9`."""
    found = _UPSTREAM.fullmatch(version)
    return found.group("upstream") if found else version


def tuple_errors(
    versions: Mapping[str, str], request: Mapping[str, str], packages: Sequence[Mapping[str, str]], catalogue: Mapping[str, Any]
) -> list[str]:
    """The reasons to refuse these versions, one line each; empty if there is none.

    Args:
        versions: full version by component (`driver`, `fabric_manager`, `imex`, `nvlsm`, `persistenced`, ...); empty means none.
        request: `kernel_module`, `architecture`, `cuda`, `source`; the second and third may be empty.
        packages: `component`, `name`, `version` of each package.
        catalogue: the facts of `nvidia_versions`; without them only versions are compared.
    """
    errors = [*_version_errors(versions), *_package_errors(versions, packages)]
    if request["kernel_module"] == "open":
        wrong = [
            p["name"] for p in packages if re.fullmatch(r"nvidia-(dkms|driver|kernel-dkms)(-\d+)?(-server)?|cuda-drivers(-\d+)?", p["name"])
        ]
    else:
        wrong = [p["name"] for p in packages if re.search(r"(^|-)open($|-)", p["name"])]
    errors += [f"{name} is not a package of the {request['kernel_module']} kernel module" for name in wrong]
    return errors if errors or not catalogue else [*_catalogue_errors(versions, request, packages, catalogue)]


def _version_errors(versions: Mapping[str, str]) -> Iterator[str]:
    driver = versions["driver"]
    if not _FULL.fullmatch(driver):
        yield f"driver {driver} is not a full version such as 580.126.20"
    for component, name in (("fabric_manager", "fabric manager"), ("imex", "IMEX"), ("persistenced", "persistence daemon")):
        if versions[component] and versions[component] != driver:
            yield f"{name} {versions[component]} does not match driver {driver}: both must have exactly the same version"


def _package_errors(versions: Mapping[str, str], packages: Sequence[Mapping[str, str]]) -> Iterator[str]:
    names = [p["name"] for p in packages]
    for name in sorted({n for n in names if names.count(n) > 1}):
        yield f"{name} is declared twice"
    for component, version in versions.items():
        own = [p for p in packages if p["component"] == component]
        if version and not own:
            yield f"{component} {version} is declared without a package"
        for package in own:
            if not version:
                yield f"{package['name']} is declared, but no version of {component}"
            elif upstream(package["version"]) != version:
                yield f"{package['name']} {package['version']} is not {component} {version}"


def _catalogue_errors(
    versions: Mapping[str, str], request: Mapping[str, str], packages: Sequence[Mapping[str, str]], catalogue: Mapping[str, Any]
) -> Iterator[str]:
    driver = versions["driver"]
    branch = driver.split(".")[0]
    branches = catalogue["branches"]
    if branch not in branches:
        known = ", ".join(f"R{b} ({facts['type']})" for b, facts in branches.items())
        yield f"driver {driver}: R{branch} is not in the catalogue of data-centre branches, which has {known}"
        return
    yield from _cuda_errors(driver, request["cuda"], catalogue)
    yield from _architecture_errors(branch, request, catalogue)
    for prefix, key in (("nvidia-fabricmanager", "fabric_manager_package"), ("nvidia-imex", "imex_package")):
        expected = branches[branch][key]
        if expected and request["source"] == "ubuntu":
            # Its packages always have the branch in their names.
            expected = f"{prefix}-{branch}"
        for package in packages:
            if package["name"].startswith(prefix) and package["name"] != expected:
                yield f"{package['name']}: R{branch} " + (f"names this package {expected}" if expected else "has no such package")
    family = catalogue["dcgm_packages"].get(versions["dcgm"].split(".")[0], "")
    for package in packages:
        if package["component"] == "dcgm" and not (family and re.fullmatch(re.escape(family) + r"(-[a-z]\S*)?", package["name"])):
            yield f"{package['name']} is not a package of DCGM {versions['dcgm']}" + (f"; expected {family}-..." if family else "")


def _cuda_errors(driver: str, cuda: str, catalogue: Mapping[str, Any]) -> Iterator[str]:
    if not cuda:
        return
    if cuda not in catalogue["cuda_toolkits"]:
        yield f"CUDA {cuda} is not in the catalogue, which has {', '.join(catalogue['cuda_toolkits'])}"
        return
    minimum = catalogue["cuda_minimum_driver"][cuda.split(".", maxsplit=1)[0]]
    if _numbers(driver) < _numbers(minimum):
        yield f"CUDA {cuda} needs driver {minimum} or later, not {driver}"


def _architecture_errors(branch: str, request: Mapping[str, str], catalogue: Mapping[str, Any]) -> Iterator[str]:
    if not request["architecture"]:
        return
    facts = catalogue["architectures"][request["architecture"]]
    if request["kernel_module"] not in facts["kernel_modules"]:
        yield f"{request['architecture']} GPUs do not support the {request['kernel_module']} kernel module, only {' and '.join(facts['kernel_modules'])}"
    if int(branch) < facts["first_branch"]:
        yield f"{request['architecture']} GPUs need branch R{facts['first_branch']} or later, not R{branch}"


def _numbers(version: str) -> tuple[int, ...]:
    return tuple(int(n) for n in version.split("."))


def loaded_module(text: str) -> dict[str, str]:
    """Version and flavour of the loaded module from /proc/driver/nvidia/version; both empty if none is loaded.

    Args:
        text: the text of the file; empty if it does not exist.
    """
    try:
        loaded = parse_version(text)
    except UnreadableModuleError:
        return {"version": "", "flavour": ""}
    return {"version": loaded.version, "flavour": loaded.flavour}


def parameter_differences(declared: Mapping[str, Any], text: str) -> list[str]:
    """Declared parameters that /proc/driver/nvidia/params lists with another value or not at all.

    Args:
        declared: parameter -> value.
        text: the text of /proc/driver/nvidia/params.
    """
    running = parse_parameters(text)
    listed = {name: next((running[n] for n in listed_names(name) if n in running), None) for name in declared}
    return [f"{name}={value}, running {listed[name]}" for name, value in as_written(declared).items() if listed[name] != value]


def modprobe_options(declared: Mapping[str, Any]) -> str:
    """The `options nvidia` line, with text in double quotes.

    Args:
        declared: parameter -> value.
    """
    words = [
        f'{name}="{value}"' if isinstance(declared[name], str) and not value.isdigit() else f"{name}={value}"
        for name, value in as_written(declared).items()
    ]
    return " ".join(["options nvidia", *words])


class FilterModule:
    """The filters of this role."""

    def filters(self) -> dict[str, Callable[..., Any]]:
        """Filter name -> function."""
        return {
            "nvidia_tuple_errors": tuple_errors,
            "nvidia_loaded_module": loaded_module,
            "nvidia_parameter_differences": parameter_differences,
            "nvidia_modprobe_options": modprobe_options,
        }
