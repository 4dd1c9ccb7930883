"""update-grub and grub-mkconfig: write grub.cfg from /etc/default/grub and /etc/default/grub.d for the kernels in /boot."""

from __future__ import annotations

import glob
import os
import re
import subprocess
import sys
from textwrap import indent

from .cmdline import GRUB_CFG

_READ = (
    'set -e; cd /; . /etc/default/grub; for f in /etc/default/grub.d/*.cfg; do [ ! -e "$f" ] || . "$f"; done; '
    'printf \'%s\\0%s\\0%s\' "$GRUB_CMDLINE_LINUX" "$GRUB_CMDLINE_LINUX_DEFAULT" "${GRUB_DEFAULT:-0}"'
)
_ROOT = "UUID=5f1c2a9e-12d4-4c63-9a35-6b8d2f0e7c11"
# As 00_header of grub-mkconfig.
_HEAD = """# Written by update-grub (simulated) from /etc/default/grub.
if [ -s $prefix/grubenv ]; then
  set have_grubenv=true
  load_env
fi
if [ "${{next_entry}}" ] ; then
   set default="${{next_entry}}"
   set next_entry=
   save_env next_entry
   set boot_once=true
else
   set default="{default}"
fi
"""
_ENTRY = """menuentry '{title}' --class debian --class gnu-linux --class gnu --class os $menuentry_id_option '{id}' {{
\tlinux\t/boot/vmlinuz-{release} root={root} ro {words}
\tinitrd\t/boot/initrd.img-{release}
}}
"""


def main(argv: list[str], _version: str = "") -> int:
    """Write grub.cfg or the file given with -o; grub-mkconfig without -o prints it."""
    target = argv[argv.index("-o") + 1] if "-o" in argv[:-1] else ""
    if not target and argv[0].endswith("update-grub"):
        target = GRUB_CFG
    print("Generating grub configuration file ...", file=sys.stderr)
    try:
        text = grub_cfg_text()
    except subprocess.CalledProcessError as e:
        print(e.stderr.strip(), file=sys.stderr)
        return e.returncode
    if not target:
        print(text, end="")
        return 0
    write_grub_cfg(text, target)
    print("done", file=sys.stderr)
    return 0


def grub_cfg_text() -> str:
    """The text of grub.cfg.

    Raises:
        CalledProcessError: a file in /etc/default is not valid shell code.
    """
    output = subprocess.run(["/bin/sh", "-c", _READ], check=True, capture_output=True, text=True).stdout
    always, normal, default = output.split("\0")
    releases = sorted((p.removeprefix("/boot/vmlinuz-") for p in glob.glob("/boot/vmlinuz-*")), key=_version, reverse=True)
    head = _HEAD.format(default="${saved_entry}" if default == "saved" else default)
    first = [_entry("Debian GNU/Linux", "gnulinux-simple", r, f"{always} {normal}") for r in releases[:1]]
    more = [_entry(f"Debian GNU/Linux, with Linux {r}", f"gnulinux-{r}-advanced", r, f"{always} {normal}") for r in releases]
    rescue = [
        _entry(f"Debian GNU/Linux, with Linux {r} (recovery mode)", f"gnulinux-{r}-recovery", r, f"single {always}") for r in releases
    ]
    submenu = (
        "submenu 'Advanced options for Debian GNU/Linux' $menuentry_id_option 'gnulinux-advanced' {\n"
        + indent("".join(more + rescue), "\t")
        + "}\n"
    )
    return head + "".join(first) + submenu


def _version(release: str) -> list[tuple[int, str]]:
    """The newest kernel is first in the menu, as grub-mkconfig sorts it: numbers by value."""
    return [(int(part), "") if part.isdigit() else (0, part) for part in re.findall(r"\d+|\D+", release)]


def write_grub_cfg(text: str, target: str) -> None:
    """Replace the file atomically, as update-grub does."""
    os.makedirs(target.rpartition("/")[0] or ".", exist_ok=True)
    with open(f"{target}.new", "w", encoding="utf-8") as file:
        file.write(text)
    os.replace(f"{target}.new", target)


def _entry(title: str, identity: str, release: str, words: str) -> str:
    return _ENTRY.format(title=title, id=identity, release=release, root=_ROOT, words=" ".join(words.split()))
