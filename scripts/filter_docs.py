"""Writes the documentation of each filter that `ansible-doc -t filter` reads, plugins/filter/NAME.yml, from docstring and signature; `--check` fails if one is stale.

Ansible finds one `DOCUMENTATION` in a Python file, so files with several filters are documented beside them. Examples are those of our roles and playbooks.
"""

from __future__ import annotations

import importlib
import inspect
import re
import sys
import textwrap
from typing import TYPE_CHECKING, Any

import yaml

from generated_files import ROOT, write_or_check

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping
    from pathlib import Path

FILTERS = ROOT / "plugins" / "filter"
MARK = "# Written by scripts/filter_docs.py from the docstring in plugins/filter/{stem}.py.\n---\n"
COLLECTION = "clusterctl.gpu"
_KINDS = {"str": "str", "int": "int", "bool": "bool", "object": "raw", "Any": "raw"}
_EXPRESSION = re.compile(r"{{(.*?)}}", re.DOTALL)


def main(argv: list[str]) -> int:
    """Write the files and remove those of filters that are gone, or report with `--check` which are stale."""
    sys.path.insert(0, str(ROOT / "playbooks" / "collections"))
    wanted = dict(_documents())
    return write_or_check(wanted, argv, unwanted=[f for f in FILTERS.glob("*.yml") if f not in wanted])


def _documents() -> Iterator[tuple[Path, str]]:
    uses = _uses()
    for stem in sorted(p.stem for p in FILTERS.glob("*.py")):
        functions = importlib.import_module(f"ansible_collections.{COLLECTION}.plugins.filter.{stem}").FilterModule().filters()
        names = {function.__name__: name for name, function in functions.items()}
        for name, function in functions.items():
            document = _document(name, function, {f.__name__: f for f in functions.values()}, names)
            text = yaml.dump(document | {"EXAMPLES": uses[name]}, Dumper=_Dumper, sort_keys=False, width=140, allow_unicode=True)
            yield FILTERS / f"{name}.yml", MARK.format(stem=stem) + text


def _document(
    name: str, function: Callable[..., Any], siblings: Mapping[str, Callable[..., Any]], names: Mapping[str, str]
) -> dict[str, Any]:
    parts = _sections(function)
    parameters = list(inspect.signature(function).parameters.values())
    options = {}
    for place, parameter in enumerate(parameters):
        described = _argument(function, parameter.name, siblings)
        options["_input" if place == 0 else parameter.name] = {"description": _ansible(_sentence(described), names), **_option(parameter)}
    text = [_ansible(p, names) for p in parts["text"]]
    answer = [_ansible(line, names) for line in parts["Returns"]] or [text[0]]
    about = {
        "name": name,
        "author": "clusterctl authors",
        "short_description": text[0].partition(". ")[0].removesuffix("."),
        "description": text,
        "positional": ", ".join(p.name for p in parameters[1:]),
        "options": options,
    }
    if not about["positional"]:
        del about["positional"]
    returned = _kind(str(inspect.signature(function).return_annotation))
    return {"DOCUMENTATION": about, "RETURN": {"_value": {"description": answer, **returned}}}


def _sections(function: Callable[..., Any]) -> dict[str, list[str]]:
    """A docstring as `text` (paragraphs), `Args`, `Returns` and `Raises` (one line per entry)."""
    found: dict[str, list[str]] = {"text": [], "Args": [], "Returns": [], "Raises": []}
    for paragraph in (inspect.getdoc(function) or "").split("\n\n"):
        title, _, rest = paragraph.partition(":\n")
        if title in found:
            found[title] = re.sub(r"\n {5,}", " ", rest).replace("    ", "").splitlines()
        else:
            found["text"].append(" ".join(paragraph.split()))
    return found


def _argument(function: Callable[..., Any], name: str, siblings: Mapping[str, Callable[..., Any]]) -> str:
    """The text of the docstring on a parameter, where `as for X` stands for the text of X."""
    described = {key: text for key, _, text in (line.partition(": ") for line in _sections(function)["Args"])}
    if name not in described:
        raise SystemExit(f"{inspect.getsourcefile(function)}: {function.__name__} has no {name} under Args")
    other = re.fullmatch(r"as for `(\w+)`\.", described[name])
    return _argument(siblings[other[1]], name, siblings) if other else described[name]


def _option(parameter: inspect.Parameter) -> dict[str, Any]:
    kind = _kind(str(parameter.annotation).removesuffix(" | None"))
    if parameter.default is inspect.Parameter.empty:
        return {**kind, "required": True}
    return kind if parameter.default is None else {**kind, "default": parameter.default}


def _kind(annotation: str) -> dict[str, Any]:
    """Type, and type of the elements, in Ansible's words."""
    name = re.sub(r"<class '(\w+)'>", r"\1", annotation).removeprefix("typing.")
    if name.startswith(("Mapping", "dict", "Dict")):
        return {"type": "dict"}
    listed = re.fullmatch(r"(?:Sequence|list|List)\[(.*)\]", name)
    return {"type": "list", "elements": _kind(listed[1])["type"]} if listed else {"type": _KINDS[name]}


def _sentence(text: str) -> str:
    """With a capital letter, unless it starts with a name."""
    return text[0].upper() + text[1:] if re.match(r"[a-z]+\b(?![._-])", text) else text


def _ansible(text: str, names: Mapping[str, str]) -> str:
    """Ansible's markup for code, and for other filters of the file, which docstrings name as functions."""
    return re.sub(r"`([^`()]+)`", lambda m: f"P({COLLECTION}.{names[m[1]]}#filter)" if m[1] in names else f"C({m[1]})", text)


def _uses() -> dict[str, str]:
    """The first expression of roles and playbooks with each filter."""
    found: dict[str, str] = {}
    files = [p for top in ("roles", "playbooks") for p in sorted((ROOT / top).rglob("*")) if p.suffix in {".yml", ".j2"} and p.is_file()]
    for file in files:
        text = file.read_text(encoding="utf-8")
        lines = [line.partition("when: ")[2] for line in text.splitlines()]
        for expression in (*_EXPRESSION.findall(text), *lines):
            for name in re.findall(rf"\b{re.escape(COLLECTION)}\.(\w+)", expression):
                body = textwrap.fill(f"{{{{ {' '.join(expression.split())} }}}}", 120, break_long_words=False, break_on_hyphens=False)
                example = f"# {file.relative_to(ROOT)}\nresult: >-\n{textwrap.indent(body, '  ')}\n"
                found.setdefault(name, example)
    return found


class _Dumper(yaml.SafeDumper):
    """Indents lists, and writes texts of several lines as such."""

    def increase_indent(self, flow: bool = False, indentless: bool = False) -> None:
        """Indent lists below their key."""
        del indentless
        super().increase_indent(flow, indentless=False)


def _text(dumper: yaml.SafeDumper, text: str) -> yaml.ScalarNode:
    return dumper.represent_scalar("tag:yaml.org,2002:str", text, style="|" if "\n" in text else None)


_Dumper.add_representer(str, _text)

if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
