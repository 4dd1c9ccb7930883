"""update-initramfs: writes placeholder images that list the current modprobe.d files."""

from __future__ import annotations

import glob
import time


def main(argv: list[str], _version: str = "") -> int:
    """Rewrite /boot/initrd.img-*."""
    if not any(flag in argv for flag in ("-u", "-c")):
        return 1
    for kernel in sorted(glob.glob("/boot/vmlinuz-*")):
        image = kernel.replace("vmlinuz", "initrd.img")
        print(f"update-initramfs: Generating {image}")
        with open(image, "w", encoding="utf-8") as file:
            file.write(
                f"simulated, made {time.strftime('%Y-%m-%dT%H:%M:%S')}\n" + "\n".join(sorted(glob.glob("/etc/modprobe.d/*.conf"))) + "\n"
            )
    return 0
