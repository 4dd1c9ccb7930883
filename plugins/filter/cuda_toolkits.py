"""Compatibility of CUDA toolkits with a driver, as pure functions."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

_TOOLKIT = re.compile(r"\d+\.\d+")
_DRIVER = re.compile(r"\d{3}\.\d{2,3}(\.\d{2})?")


def errors(request: Mapping[str, Any], packages: Sequence[Mapping[str, str]], catalogue: Mapping[str, Any]) -> list[str]:
    """The reasons to refuse these toolkits, one line each; empty if there is none.

    Args:
        request: `versions`, `default`, `driver`, `minor_compatibility`, `forward_compatibility` of the role.
        packages: `toolkit`, `name`, `version` of each package.
        catalogue: the facts of `nvidia_versions`; without them toolkits are not checked against the driver.
    """
    found = [*_name_errors(request), *_package_errors(request, packages)]
    if found or not catalogue:
        return found
    return [e for version in request["versions"] for e in _driver_errors(version, request, catalogue)]


def _name_errors(request: Mapping[str, Any]) -> Iterator[str]:
    versions = request["versions"]
    for version in versions:
        if not _TOOLKIT.fullmatch(version):
            yield f"cuda_versions: {version!r} is not major.minor, such as '13.0'"
        if versions.count(version) > 1:
            yield f"cuda_versions: {version} is declared twice"
    if request["default"] and request["default"] not in versions:
        yield f"cuda_default: {request['default']} is not in cuda_versions ({', '.join(versions) or 'empty'})"
    for version in request["forward_compatibility"]:
        if version not in versions:
            yield f"cuda_forward_compatibility: {version} is not in cuda_versions ({', '.join(versions) or 'empty'})"
    if len(request["forward_compatibility"]) > 1:
        yield "cuda_forward_compatibility: the linker finds only one libcuda; declare one toolkit"
    if request["forward_compatibility"] and not request["driver"]:
        yield "cuda_forward_compatibility: needs cuda_driver_version, because it must not hide the libcuda of a newer driver"
    if request["driver"] and not _DRIVER.fullmatch(request["driver"]):
        yield f"cuda_driver_version: {request['driver']} is not a full version such as 580.126.20"


def _package_errors(request: Mapping[str, Any], packages: Sequence[Mapping[str, str]]) -> Iterator[str]:
    names = [p["name"] for p in packages]
    for name in sorted({n for n in names if names.count(n) > 1}):
        yield f"{name} is declared twice"
    for package in packages:
        name, toolkit = package["name"], package["toolkit"]
        if toolkit not in request["versions"]:
            yield f"{name} belongs to CUDA {toolkit}, which is not in cuda_versions"
        dashed = re.search(r"-(\d+)-(\d+)$", name)
        if dashed and ".".join(dashed.groups()) != toolkit:
            yield f"{name} is declared for CUDA {toolkit}"
        if re.match(r"cuda(-toolkit|-compiler|-libraries|-runtime)?(-\d+-\d+)?$", name) and not package["version"].startswith(
            toolkit + "."
        ):
            yield f"{name} {package['version']} is not CUDA {toolkit}"
        if re.match(r"(cuda|cuda-\d+-\d+|cuda-runtime\S*|cuda-drivers\S*)$", name):
            yield f"{name} installs its own driver; declare cuda-toolkit-... instead, and the driver in nvidia_driver_packages"
    yield from _absent_packages(request, names, {p["toolkit"] for p in packages})


def _absent_packages(request: Mapping[str, Any], names: Sequence[str], toolkits: set[str]) -> Iterator[str]:
    for version in request["versions"]:
        if version not in toolkits:
            yield f"CUDA {version} is declared without a package"
    for version in request["forward_compatibility"]:
        if _compat(version) not in names:
            yield f"cuda_forward_compatibility: {_compat(version)} is not in cuda_packages"
    declared = {_compat(v) for v in request["forward_compatibility"]}
    for name in names:
        if name.startswith("cuda-compat-") and name not in declared:
            yield f"{name} is declared, but its toolkit is not in cuda_forward_compatibility"


def _driver_errors(version: str, request: Mapping[str, Any], catalogue: Mapping[str, Any]) -> Iterator[str]:
    if version not in catalogue["cuda_toolkits"]:
        yield f"CUDA {version} is not in the catalogue, which has {', '.join(catalogue['cuda_toolkits'])}"
        return
    if not request["driver"]:
        return
    driver, own = _numbers(request["driver"]), catalogue["cuda_toolkits"][version]
    major = version.partition(".")[0]
    minimum = catalogue["cuda_minimum_driver"][major]
    if version in request["forward_compatibility"]:
        branch = request["driver"].partition(".")[0]
        if driver >= _numbers(own):
            yield f"CUDA {version} needs no forward compatibility: it would hide driver {request['driver']}, which is as new as its own ({own})"
        elif branch not in catalogue["branches"]:
            yield f"CUDA {version} by forward compatibility needs a driver of a data-centre branch; R{branch} is not in the catalogue"
    elif driver < _numbers(minimum):
        yield f"CUDA {version} needs driver {minimum} or later, not {request['driver']}; an older one needs cuda_forward_compatibility"
    elif not request["minor_compatibility"] and driver < _numbers(own):
        yield f"CUDA {version} needs driver {own} or later for all its features, not {request['driver']} (cuda_minor_compatibility is false)"


def _compat(version: str) -> str:
    return "cuda-compat-" + version.replace(".", "-")


def _numbers(version: str) -> tuple[int, ...]:
    return tuple(int(n) for n in str(version).split("."))


class FilterModule:
    """The filters of this role."""

    def filters(self) -> dict[str, Callable[..., Any]]:
        """Filter name -> function."""
        return {"cuda_errors": errors}
