"""Kernel command lines and boot menus, as pure functions."""

from __future__ import annotations

import re
from typing import Any

from ansible_collections.clusterctl.gpu.plugins.module_utils.clusterctl_tools import grub
from ansible_collections.clusterctl.gpu.plugins.module_utils.clusterctl_tools.kernel_cmdline import (
    as_words,
    canonical,
    declared_values,
    kernel_words,
    managed,
    options,
    parse_canonical,
)

_NAME = re.compile(r"[A-Za-z0-9_.-]+")
# What ends or redirects a command of GRUB, too.
_VALUE = re.compile(r"[^\s\"'`$\\;|&<>]+")
_HUGEPAGES = {"hugepages", "hugepagesz", "default_hugepagesz"}


def cmdline_errors(declared: dict[str, Any], consoles: list[str] | None = None) -> list[str]:
    """Errors in kernel_cmdline and kernel_console, one line per parameter.

    Args:
        declared: kernel_cmdline.
        consoles: kernel_console.
    """
    errors = [
        f"kernel_console: {c!r} is empty or contains blanks, quotes or shell characters" for c in consoles or [] if not _VALUE.fullmatch(c)
    ]
    if consoles and "console" in map(canonical, declared):
        errors.append("kernel_cmdline.console: is declared by kernel_console, too")
    for name, value in declared.items():
        where = f"kernel_cmdline.{name}"
        if not _NAME.fullmatch(str(name)):
            errors.append(f"{where}: is not a parameter name")
        elif canonical(name) in _HUGEPAGES:
            errors.append(f"{where}: belongs to the role hugepages (hugepages_pages)")
        elif canonical(name) == "crashkernel":
            errors.append(f"{where}: belongs to the role crash_evidence (crash_evidence_crashkernel)")
        for item in value if isinstance(value, list) else [value]:
            if isinstance(value, list) and (isinstance(item, bool) or not value):
                errors.append(f"{where}: a list must contain values, not flags")
            elif not isinstance(item, (bool, int, float, str)):
                errors.append(f"{where}: {item!r} is neither a flag, a number nor text")
            elif isinstance(item, str) and not _VALUE.fullmatch(item):
                errors.append(f"{where}: {item!r} is empty or contains blanks, quotes or shell characters")
    return errors


def cmdline_words(declared: dict[str, Any]) -> list[str]:
    """The words to append to a command line.

    Args:
        declared: as for `boot_differences`.
    """
    return [name if item is None else f"{name}={item}" for name, value in declared.items() for item in declared_values(value)]


def cmdline_pattern(name: str, words: list[str]) -> str:
    """Shell patterns of the words of a command line that the declared ones replace.

    Args:
        name: the parameter's name; the kernel takes `-` and `_` as equal in it.
        words: what is declared, as of `cmdline_words`. Of a parameter whose words add up, those with other options stay.
    """
    spelled = re.sub(r"[-_]", "[-_]", name)
    values: list[str | None] = [value for own, _, value in (word.partition("=") for word in words) if own == name]
    declared = options(name, values)
    if not declared:
        return f"{spelled}|{spelled}=*"
    return "|".join(f"{spelled}={before}{option}{after}" for option in declared for before in ("", "*,") for after in ("", "=*", ",*"))


def grubby_updates(text: str, names: list[str], words: list[str]) -> list[list[str]]:
    """The options of each call of grubby that puts words on the command lines, and keeps what other programs added to a parameter whose words add up.

    Args:
        text: the output of `grubby --info=ALL`.
        names: the declared parameters. Grubby takes all values of one away by its name, also where it adds one (update_args of grubby-bls).
        words: what is declared, as of `cmdline_words`.
    """
    kept = {entry.kernel: _words_of_others(entry.args, words) for entry in grub.parse_grubby(text)}
    first = next(iter(kept.values()), [])
    calls = [["--update-kernel=ALL", f"--remove-args={' '.join(names)}"]]
    # Only a call for all entries reaches those of later kernels (/etc/kernel/cmdline).
    if first or words:
        calls.append(["--update-kernel=ALL", f"--args={' '.join([*first, *words])}"])
    for kernel, own in kept.items():
        if own != first:
            added = [word for word in words if _adds_up(word)]
            calls.append([f"--update-kernel={kernel}", f"--args={' '.join([*own, *added])}"])
    return calls


def _words_of_others(args: str, words: list[str]) -> list[str]:
    """The words of a command line whose parameter has declared options, and that have none of these."""
    declared: dict[str, list[str | None]] = {}
    for name, _, value in (word.partition("=") for word in words if _adds_up(word)):
        declared.setdefault(canonical(name), []).append(value)
    kept = []
    for word in kernel_words(args):
        name, _, value = word.partition("=")
        own = declared.get(canonical(name), [])
        if own and value and not managed(name, own, [value]):
            # Double ones would end where grubby writes the words between double ones, into /etc/default/grub.
            kept.append(word.replace('"', "'"))
    return kept


def _adds_up(word: str) -> bool:
    name, _, value = word.partition("=")
    return bool(options(name, [value]))


def cmdline_differences(cmdline: str, declared: dict[str, Any]) -> list[str]:
    """How a command line differs from the declared one; repeating an equal value is not a difference.

    Args:
        cmdline: a kernel command line.
        declared: as for `boot_differences`.
    """
    found = parse_canonical(cmdline)
    differences = []
    for name, value in declared.items():
        expected = declared_values(value)
        got = managed(name, expected, found.get(canonical(name), []))
        same = got == expected if isinstance(value, list) else sorted(set(got), key=str) == expected
        if not same:
            differences.append(f"{name}: declared {as_words(name, expected)}, found {as_words(name, got)}")
    return differences


def boot_differences(text: str, declared: dict[str, Any]) -> list[str]:
    """How the boot entries differ from what is declared; `text` is grub.cfg or the output of `grubby --info=ALL`.

    Args:
        text: grub.cfg, or the output of `grubby --info=ALL`.
        declared: parameter -> value: a flag (true or false), a number, text, or a list of these.
    """
    normal = grub.unattended(grub.parse_menu(text))
    if not normal:
        return ["the boot menu has no entry that starts a kernel"]
    repeated = set() if grub.parse_grubby(text) else {r for e in normal for r in _repeated(e.args, declared)}
    return sorted({d for e in normal for d in cmdline_differences(e.args, declared)} | repeated)


def _repeated(args: str, declared: dict[str, Any]) -> list[str]:
    found = parse_canonical(args)
    single = {n: managed(n, declared_values(v), found.get(canonical(n), [])) for n, v in declared.items() if not isinstance(v, list)}
    return [f"{n}: given {len(values)} times" for n, values in single.items() if len(values) > 1]


def module_name(name: str) -> str:
    """The name of a module below /sys/module.

    Args:
        name: a module's name, with `-` or `_`.
    """
    return name.replace("-", "_")


def builtin_modules(listing: str) -> list[str]:
    """The names in a modules.builtin file.

    Args:
        listing: the text of the file.
    """
    return [module_name(re.sub(r"\.ko.*$", "", line.rsplit("/", 1)[-1])) for line in listing.split()]


def option_files(options: dict[str, dict[str, Any]]) -> list[str]:
    """The files of options of loaded modules; /dev/null is added because grep prints file names only for two or more files.

    Args:
        options: kernel_module_options: module -> option -> value.
    """
    files = [f"/sys/module/{module_name(m)}/parameters/{module_name(o)}" for m, given in options.items() for o in given]
    return [*files, "/dev/null"] if files else []


def option_differences(lines: list[str], options: dict[str, dict[str, Any]]) -> list[str]:
    """Options of loaded modules that differ; lines are `path:value`. A module without a file is not loaded or does not expose the option.

    Args:
        lines: what `grep` printed for the files of `option_files`: `path:value`.
        options: kernel_module_options: module -> option -> value.
    """
    found = dict(line.split(":", 1) for line in lines)
    pairs = [(f"/sys/module/{module_name(m)}/parameters/{module_name(o)}", v) for m, given in options.items() for o, v in given.items()]
    return [
        f"{path}: declared {value}, found {found[path]}" for path, value in pairs if path in found and _plain(found[path]) != _plain(value)
    ]


def _plain(value: Any) -> str:
    text = str(int(value)) if isinstance(value, bool) else str(value).strip()
    return {"Y": "1", "N": "0"}.get(text, text)


class FilterModule:
    """The filters of this role."""

    def filters(self) -> dict[str, Any]:
        """Filter name -> function."""
        return {
            "kernel_boot_differences": boot_differences,
            "kernel_builtin_modules": builtin_modules,
            "kernel_cmdline_differences": cmdline_differences,
            "kernel_cmdline_errors": cmdline_errors,
            "kernel_cmdline_pattern": cmdline_pattern,
            "kernel_cmdline_words": cmdline_words,
            "kernel_grubby_updates": grubby_updates,
            "kernel_module_name": module_name,
            "kernel_option_differences": option_differences,
            "kernel_option_files": option_files,
            "kernel_starts_saved_entry": grub.starts_saved_entry,
        }
