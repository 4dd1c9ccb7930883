"""Writes README.md of every role from its meta/argument_specs.yml; `--check` fails if one of them is stale.

A README whose first line is not the mark was written manually and is not changed.
"""

from __future__ import annotations

import json
import re
import sys
from typing import Any

import yaml

from generated_files import ROOT, write_or_check

ROLES = ROOT / "roles"
VALIDATORS = ROOT / "validators" / "clusterctl_validators"
MARK = "<!-- Written by scripts/role_readmes.py from meta/argument_specs.yml. -->"
_MARKUP = (
    (re.compile(r"C\((\"?)(.+?)\1\)"), r"`\2`"),
    (re.compile(r"[IV]\((\"?)(.+?)\1\)"), r"`\2`"),
    (re.compile(r"B\((.+?)\)"), r"**\1**"),
)


def main(argv: list[str]) -> int:
    """Write the READMEs, or report with `--check` which are stale."""
    wanted = {}
    for specs in sorted(ROLES.glob("*/meta/argument_specs.yml")):
        file = specs.parents[1] / "README.md"
        if not file.exists() or file.read_text(encoding="utf-8").startswith(MARK):
            wanted[file] = readme(file.parent.name, yaml.safe_load(specs.read_text(encoding="utf-8"))["argument_specs"]["main"])
    return write_or_check(wanted, argv)


def readme(name: str, spec: dict[str, Any]) -> str:
    """The text of a README."""
    lines = [
        MARK,
        "",
        f"# {name}",
        "",
        plain(spec["short_description"]) + ".",
    ]
    for paragraph in paragraphs(spec.get("description", [])):
        lines += ["", paragraph]
    lines += ["", "## Variables", ""]
    lines += table(spec.get("options", {})) or ["This role takes no variables."]
    for option, details in spec.get("options", {}).items():
        if details.get("options"):
            lines += ["", f"### Keys of `{option}`", "", *table(details["options"])]
    lines += ["", "## Use", "", "```yaml", *f"- hosts: rack_12\n  become: true\n  roles: [{name}]".splitlines(), "```"]
    if (VALIDATORS / f"test_{name}.py").exists():
        lines += ["", f"`clusterctl validate TARGET` verifies the result with `validators/clusterctl_validators/test_{name}.py`."]
    return "\n".join(lines) + "\n"


def table(options: dict[str, dict[str, Any]]) -> list[str]:
    """A Markdown table of options."""
    if not options:
        return []
    rows = ["| name | type | default | meaning |", "|---|---|---|---|"]
    for name, details in options.items():
        meaning = " ".join(paragraphs(details.get("description", [])))
        if details.get("choices"):
            meaning += " One of " + ", ".join(f"`{value(c)}`" for c in details["choices"]) + "."
        rows.append(f"| `{name}` | {kind(details)} | {default(details)} | {cell(meaning)} |")
    return rows


def kind(details: dict[str, Any]) -> str:
    """The type of an option, e.g. `list of str`."""
    return f"list of {details['elements']}" if details.get("elements") else str(details.get("type", "str"))


def default(details: dict[str, Any]) -> str:
    """The default of an option, `required` or `none`."""
    if details.get("required"):
        return "required"
    return f"`{cell(value(details['default']))}`" if "default" in details else "none"


def value(item: Any) -> str:
    """A value in YAML notation on one line."""
    return item if isinstance(item, str) and item else json.dumps(item)


def paragraphs(description: str | list[str]) -> list[str]:
    """A description as a list of plain paragraphs."""
    return [plain(p) for p in ([description] if isinstance(description, str) else description)]


def plain(text: str) -> str:
    """Convert Ansible's markup to Markdown."""
    text = " ".join(text.split())
    for pattern, replacement in _MARKUP:
        text = pattern.sub(replacement, text)
    return text


def cell(text: str) -> str:
    """Escape text for a table cell."""
    return text.replace("|", "\\|")


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
