"""UEFI firmware for the acceptance VM, with and without Secure Boot. It starts the image's own kernel, which its snakeoil key signs here."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path
from typing import TYPE_CHECKING

from support.vm_image import ROOT_START

if TYPE_CHECKING:
    from collections.abc import Sequence

# Of Debian's package ovmf. The snakeoil variables have Secure Boot on, and the package has the key that they accept.
_CODE = "/usr/share/OVMF/OVMF_CODE_4M.secboot.fd"
_VARIABLES = {True: Path("/usr/share/OVMF/OVMF_VARS_4M.snakeoil.fd"), False: Path("/usr/share/OVMF/OVMF_VARS_4M.fd")}
_KEY, _CERTIFICATE, _PASSWORD = "/usr/share/ovmf/PkKek-1-snakeoil.key", "/usr/share/ovmf/PkKek-1-snakeoil.pem", "pass:snakeoil"
_COMMAND_LINE = "root=LABEL=root ro console=ttyS0,115200 mitigations=off"


def uefi_machine(image: Path, folder: Path, *, secure_boot: bool) -> Sequence[str]:
    """QEMU arguments of a machine that starts the kernel of the disk `image` with UEFI; its files are in `folder`."""
    folder.mkdir(parents=True, exist_ok=True)
    variables = folder / "variables.fd"
    shutil.copy(_VARIABLES[secure_boot], variables)
    kernel, initrd = _boot_files(image, folder)
    _run("openssl", "rsa", "-in", _KEY, "-passin", _PASSWORD, "-out", str(folder / "snakeoil.key"))
    _run("sbsign", "--key", str(folder / "snakeoil.key"), "--cert", _CERTIFICATE, "--output", str(folder / "signed"), str(kernel))
    flash = (f"if=pflash,unit=0,format=raw,readonly=on,file={_CODE}", f"if=pflash,unit=1,format=raw,file={variables}")
    return (
        *("-M", "q35,smm=on", "-global", "driver=cfi.pflash01,property=secure,value=on"),
        *(word for drive in flash for word in ("-drive", drive)),
        *("-kernel", str(folder / "signed"), "-initrd", str(initrd), "-append", _COMMAND_LINE),
    )


def _boot_files(image: Path, folder: Path) -> tuple[Path, Path]:
    """Kernel and initrd, copied out of the image without mounting it."""
    listed = _run("debugfs", "-R", "ls -p /boot", f"{image}?offset={ROOT_START << 20}")
    found = re.search(r"/vmlinuz-([^/]+)/", listed)
    assert found, listed
    for name in ("vmlinuz", "initrd.img"):
        _run("debugfs", "-R", f"dump /boot/{name}-{found[1]} {folder / name}", f"{image}?offset={ROOT_START << 20}")
    return folder / "vmlinuz", folder / "initrd.img"


def _run(*words: str) -> str:
    return subprocess.run(words, check=True, capture_output=True, text=True, timeout=120).stdout
