"""docs/reference/ansible-modules.md: options, results and examples of each module of the collection, from what `ansible-doc` reads; `--check` fails where it is stale."""

from __future__ import annotations

import ast
import re
import sys
from typing import TYPE_CHECKING, Any

import yaml

from generated_files import ROOT, write_or_check

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from pathlib import Path

MODULES = ROOT / "plugins" / "modules"
FRAGMENTS = ROOT / "plugins" / "doc_fragments"
PAGE = ROOT / "docs" / "reference" / "ansible-modules.md"
COLLECTION = "clusterctl.gpu"
# O(option), V(value), C(code) and RV(result) are all code on the page.
_CODE = re.compile(r"\b(?:RV|[OVC])\(([^()]*)\)")
HEAD = f"""<!-- Written by scripts/ansible_modules.py from the documentation in plugins/modules and plugins/doc_fragments. -->

# Ansible modules

The modules of the collection `{COLLECTION}`, as `ansible-doc {COLLECTION}.NAME` shows them. Roles and playbooks use them; [your own playbooks](../how-to/from-own-ansible.md) can, too.
"""


def main(argv: list[str]) -> int:
    """Write the page, or with `--check` report whether it is stale."""
    return write_or_check({PAGE: HEAD + "".join(map(_section, sorted(MODULES.glob("*.py"))))}, argv)


def _section(file: Path) -> str:
    blocks = _strings(file)
    about = yaml.safe_load(blocks["DOCUMENTATION"])
    options = dict(about["options"])
    for name in about.get("extends_documentation_fragment", ()):
        options |= _fragment(name)
    rows = "".join(_option(name, options[name]) for name in sorted(options, key=lambda n: (not options[n].get("required"), n)))
    results = "".join(f"| `{n}` | {_kind(r)} | {_text(r['description'])} |\n" for n, r in yaml.safe_load(blocks["RETURN"]).items())
    return (
        f"\n## {file.stem}\n\n{about['short_description']}.\n\n{' '.join(map(_text, about['description']))}\n"
        f"\n| option | type | default | |\n|---|---|---|---|\n{rows}"
        f"\n| result | type | |\n|---|---|---|\n{results}"
        f"\n<!-- runs-in: tests/contract/test_module_documentation.py -->\n```yaml\n{blocks['EXAMPLES'].strip()}\n```\n"
    )


def _strings(file: Path) -> dict[str, str]:
    """The constant texts of a file by name, also those of its classes."""
    tree = ast.parse(file.read_text(encoding="utf-8"))
    return dict(_constants(tree))


def _constants(tree: ast.AST) -> Iterator[tuple[str, str]]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Assign) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str):
            yield from ((target.id, node.value.value) for target in node.targets if isinstance(target, ast.Name))


def _fragment(name: str) -> dict[str, Any]:
    """The options of `clusterctl.gpu.FILE` or `clusterctl.gpu.FILE.PART`."""
    file, _, part = name.removeprefix(f"{COLLECTION}.").partition(".")
    options: dict[str, Any] = yaml.safe_load(_strings(FRAGMENTS / f"{file}.py")[(part or "documentation").upper()])["options"]
    return options


def _option(name: str, about: Mapping[str, Any]) -> str:
    default = "**required**" if about.get("required") else f"`{_plain(about['default'])}`" if "default" in about else ""
    return f"| `{name}` | {_kind(about)} | {default} | {_text(about['description'])} |\n"


def _kind(about: Mapping[str, Any]) -> str:
    return f"list of {about['elements']}" if "elements" in about else str(about["type"])


def _plain(value: object) -> str:
    """A value as YAML has it in one line."""
    return yaml.safe_dump(value, default_flow_style=True, explicit_end=False).removesuffix("...\n").strip()


def _text(text: object) -> str:
    return _CODE.sub(r"`\1`", " ".join(str(text).split())).replace("|", "\\|")


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
