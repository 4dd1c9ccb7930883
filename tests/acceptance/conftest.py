"""One VM for all acceptance tests. Nothing here is skipped: what is missing is an error."""

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
def tell(request: pytest.FixtureRequest) -> Callable[[str], None]:
    capture = request.config.pluginmanager.getplugin("capturemanager")
    began = time.monotonic()

    def say(text: str) -> None:
        with capture.global_and_fixture_disabled():
            print(f"\n[{time.monotonic() - began:5.0f} s] {text}", flush=True)  # noqa: T201

    return say


@pytest.fixture(scope="session")
def vm(tmp_path_factory: pytest.TempPathFactory, tell: Callable[[str], None]) -> Iterator[Vm]:
    image = ensure_image(tell)
    folder = tmp_path_factory.mktemp("vm")
    with Vm(image.overlay(folder / "disk.qcow2"), folder, image.key, image.host_key) as running:
        tell(f"the VM answers after {running.boot_s:.0f} s: {running.shell('uname -rv').strip()}")
        yield running
    tell("the VM is gone")


@pytest.fixture(scope="session")
def site(vm: Vm, tmp_path_factory: pytest.TempPathFactory) -> VmSite:
    made = VmSite(tmp_path_factory.mktemp("site"), vm)
    release = vm.shell("uname -r").strip()
    package = f"linux-image-{release}"
    version = vm.shell(f"dpkg-query -W -f '${{Version}}' {package}")
    made.declare(kernel_package=package, kernel_version=version, kernel_release=release)
    return made


@pytest.fixture(scope="session")
def provisioned(vm: Vm, site: VmSite, tell: Callable[[str], None]) -> Provisioned:
    """The new machine brought into its declared state, by the verb that users run."""
    faults, boot = site.faults(), vm.boot_id()
    modules = tuple(vm.shell("ls /sys/module").split())
    swaps = vm.shell("cat /proc/swaps")
    done = site.clusterctl("provision", NODE, "--yes", "--level", "quick", "-o", "json")
    tell(f"clusterctl provision took {done.wall_s:.0f} s")
    return Provisioned(faults, modules, swaps, boot, vm.boot_id(), done)
