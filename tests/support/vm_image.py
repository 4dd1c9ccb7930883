"""The disk image of the acceptance VM: Debian from this machine's package mirror, with kernel and GRUB. Built once per digest of its inputs."""

from __future__ import annotations

import hashlib
import json
import os
import shlex
import shutil
import subprocess
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING

from clusterctl_lab.apt_sources import host_sources
from clusterctl_lab.podman import as_root
from support.roles import ROOT
from support.vm import Vm

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from clusterctl_lab.apt_sources import AptSources

SUITE = "bookworm"
BUILD = ROOT / "build" / "acceptance"
FINISH = ROOT / "tests" / "acceptance" / "image" / "finish.sh"
INDEXER = ROOT / "lab" / "clusterctl_lab" / "image_files" / "index_repository.py"
TOOLS = ("qemu-system-x86_64", "qemu-img", "mmdebstrap", "sfdisk", "mkfs.ext4", "ssh-keygen")
PACKAGES = (
    "systemd-sysv,udev,dbus,kmod,iproute2,procps,openssh-server,python3,python3-apt,util-linux,e2fsprogs,"
    "linux-image-amd64,grub-pc,initramfs-tools,zstd"
)
OPTIONS = (
    "--variant=minbase",
    '--aptopt=APT::Install-Recommends "false"',
    *(f"--dpkgopt=path-exclude=/usr/share/{name}/*" for name in ("man", "doc", "locale")),
    # The machine installs GRUB itself at its first boot.
    """--essential-hook=echo grub-pc grub-pc/install_devices_empty boolean true | chroot "$1" debconf-set-selections""",
)
# In MiB. The root partition starts at 1 MiB, as partitioning tools align it; the rest is swap.
DISK, ROOT_START, ROOT_SIZE, SWAP_SIZE = 2560, 1, 2432, 96
_SFDISK = f"label: dos\nstart={ROOT_START}MiB, size={ROOT_SIZE}MiB, type=83, bootable\nsize={SWAP_SIZE}MiB, type=82\n"
_FIRST_BOOT = """set -e
mkswap -q -L swap /dev/vda2 && echo 'LABEL=swap none swap sw 0 0' >> /etc/fstab
grub-install --target=i386-pc /dev/vda && update-grub
rm -f /var/lib/systemd/random-seed && sync"""


class ImageError(Exception):
    """The image cannot be built on this machine."""


@dataclass(frozen=True)
class Image:
    """A built disk image, which is read-only from then on.

    Attributes:
        key: private key for root.
        host_key: public host key as `type key`.
    """

    disk: Path
    key: Path
    host_key: str

    def overlay(self, file: Path) -> Path:
        """Create a writable disk on top of the image."""
        file.unlink(missing_ok=True)
        subprocess.run(["qemu-img", "create", "-q", "-f", "qcow2", "-b", str(self.disk), "-F", "raw", str(file)], check=True, timeout=60)
        return file


def ensure_image(report: Callable[[str], None]) -> Image:
    """Build the image if it is missing, and return it. `report` gets progress messages.

    Raises:
        ImageError: tools are missing, this machine has another release, or the build failed.
    """
    missing = [tool for tool in TOOLS if not shutil.which(tool, path=_environment()["PATH"])]
    if missing:
        raise ImageError(f"{', '.join(missing)}: not found; `make acceptance` installs the required packages")
    sources = host_sources()
    if sources.suite != SUITE:
        raise ImageError(f"the VM needs the archive of Debian 12 ({SUITE}), but this machine's apt has {sources.suite}")
    folder = BUILD / _digest(sources)
    if not (folder / "ready.json").exists():
        began = time.monotonic()
        report(f"building the disk image of the VM in {folder.relative_to(ROOT)} (once, some minutes)")
        _build(folder, sources)
        report(f"built in {time.monotonic() - began:.0f} s")
    ready = json.loads((folder / "ready.json").read_text())
    return Image(folder / "disk.img", folder / "id", ready["host_key"])


def _digest(sources: AptSources) -> str:
    texts = (sources.suite, sources.text, PACKAGES, *OPTIONS, str(DISK), _SFDISK, _FIRST_BOOT, FINISH.read_text(), INDEXER.read_text())
    return hashlib.sha256("\0".join(texts).encode()).hexdigest()[:12]


def _build(folder: Path, sources: AptSources) -> None:
    if folder.exists():
        _run(*as_root("rm", "-rf", "--one-file-system", str(folder)))
    folder.mkdir(parents=True)
    for name in ("id", "host"):
        _run("ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-C", "acceptance", "-f", str(folder / name))
    host_key = " ".join((folder / "host.pub").read_text().split()[:2])
    disk, system = folder / "disk.img", folder / "system"
    (folder / "host.sources").write_text(sources.text)
    hook = shlex.join(["sh", str(FINISH)]) + ' "$1" ' + shlex.join([str(folder), str(INDEXER)])
    words = [*OPTIONS, f"--include={PACKAGES}", f"--customize-hook={hook}", "--format=directory"]
    _run(*as_root("mmdebstrap", *words, SUITE, str(system), str(folder / "host.sources")), timeout_s=1800)
    _partition(disk, system)
    for name in ("vmlinuz", "initrd.img"):
        found = next((system / "boot").glob(f"{name}-*"))
        (folder / name).write_bytes(subprocess.run(as_root("cat", str(found)), check=True, capture_output=True, timeout=60).stdout)
    _run(*as_root("rm", "-rf", "--one-file-system", str(system)))
    direct = ("-kernel", str(folder / "vmlinuz"), "-initrd", str(folder / "initrd.img"))
    line = ("-append", "root=/dev/vda1 rw console=ttyS0,115200 mitigations=off")
    with Vm(disk, folder / "first-boot", folder / "id", host_key, format="raw", direct=(*direct, *line)) as vm:
        vm.shell(_FIRST_BOOT, timeout_s=600)
        vm.power_off()
    (folder / "ready.json").write_text(json.dumps({"host_key": host_key}) + "\n")


def _partition(disk: Path, system: Path) -> None:
    """Write the partition table and the file system into the image file, without loop device or mount."""
    with disk.open("wb") as file:
        file.truncate(DISK << 20)
    _run("sfdisk", "-q", str(disk), stdin=_SFDISK)
    extended = f"offset={ROOT_START << 20}"
    _run(*as_root("mkfs.ext4", "-q", "-F", "-L", "root", "-E", extended, "-d", str(system), str(disk), f"{ROOT_SIZE}M"), timeout_s=600)


def _run(*argv: str, stdin: str = "", timeout_s: float = 120) -> None:
    done = subprocess.run(argv, input=stdin, capture_output=True, text=True, check=False, timeout=timeout_s, env=_environment())
    if done.returncode:
        raise ImageError(f"{argv[0]} ended with {done.returncode}: {done.stderr[-3000:]}")


def _environment() -> dict[str, str]:
    """The environment of build tools, with the sbin folders on PATH."""
    return os.environ | {"PATH": f"{os.environ['PATH']}:/usr/sbin:/sbin", "LC_ALL": "C.UTF-8", "DEBIAN_FRONTEND": "noninteractive"}
