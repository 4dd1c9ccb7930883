"""One VM for all acceptance tests that need one. None of these is skipped: a missing prerequisite is an error."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

import pytest

from support.vm import Vm
from support.vm_image import ensure_image
from support.vm_site import NODE, Provisioned, VmSite

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator


@pytest.fixture(scope="session")
def report(request: pytest.FixtureRequest) -> Callable[[str], None]:
    capture = request.config.pluginmanager.getplugin("capturemanager")
    began = time.monotonic()

    def log(text: str) -> None:
        with capture.global_and_fixture_disabled():
            print(f"\n[{time.monotonic() - began:5.0f} s] {text}", flush=True)  # noqa: T201

    return log


@pytest.fixture(scope="session")
def vm(tmp_path_factory: pytest.TempPathFactory, report: Callable[[str], None]) -> Iterator[Vm]:
    image = ensure_image(report)
    folder = tmp_path_factory.mktemp("vm")
    with Vm(image.overlay(folder / "disk.qcow2"), folder, image.key, image.host_key) as running:
        report(f"the VM booted in {running.boot_s:.0f} s: {running.shell('uname -rv').strip()}")
        yield running
    report("the VM has ended")


@pytest.fixture(scope="session")
def site(vm: Vm, tmp_path_factory: pytest.TempPathFactory) -> VmSite:
    made = VmSite(tmp_path_factory.mktemp("site"), vm)
    release = vm.shell("uname -r").strip()
    package = f"linux-image-{release}"
    version = vm.shell(f"dpkg-query -W -f '${{Version}}' {package}")
    made.declare(kernel_package=package, kernel_version=version, kernel_release=release)
    return made


@pytest.fixture(scope="session")
def provisioned(vm: Vm, site: VmSite, report: Callable[[str], None]) -> Provisioned:
    """The new machine after `clusterctl provision`."""
    faults, boot = site.faults(), vm.boot_id()
    modules = tuple(vm.shell("ls /sys/module").split())
    swaps = vm.shell("cat /proc/swaps")
    done = site.clusterctl("provision", NODE, "--yes", "--level", "quick", "-o", "json")
    report(f"clusterctl provision took {done.wall_s:.0f} s")
    return Provisioned(faults, modules, swaps, boot, vm.boot_id(), done)
