"""The healthy fake nodes of tests/cases/os_validators/<role>.yml, and the cases that change them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from clusterctl_validators.probe import CommandResult
from support.checks import run_checks, write_files
from support.plain_yaml import load_yaml
from support.roles import ROOT

if TYPE_CHECKING:
    from pathlib import Path
    from types import ModuleType

    from clusterctl_validators.finding import Finding

_SHOW = "systemctl show -p Id,LoadState,ActiveState,UnitFileState -- "


class Commands(dict[str, CommandResult | str]):
    """Results of commands by their words; `systemctl show` is answered from `units`: `{name: [load, active, file]}`."""

    def __init__(self, commands: dict[str, Any], units: dict[str, list[str]]) -> None:
        super().__init__({words: CommandResult(**result) if isinstance(result, dict) else result for words, result in commands.items()})
        self._units = units

    def __bool__(self) -> bool:
        return True  # units are answered even without other commands

    def get(self, words: str, default: Any = None) -> Any:
        if not words.startswith(_SHOW):
            return super().get(words, default)
        states = [(n, *self._units.get(n, ("not-found", "inactive", ""))) for n in words.removeprefix(_SHOW).split()]
        return (
            "\n\n".join(f"Id={n}\nLoadState={load}\nActiveState={active}\nUnitFileState={file}" for n, load, active, file in states) + "\n"
        )


@dataclass(frozen=True)
class Case:
    """A change of the healthy node of a role, and the outcomes of all checks that do not pass then."""

    role: str
    name: str
    change: dict[str, Any]
    outcomes: dict[str, str]

    @property
    def declared(self) -> set[str]:
        """The variables declared for the healthy node."""
        return set(_load(self.role)["node"]["spec"])


def cases(role: str) -> list[Case]:
    """The cases of a role, starting with the healthy node."""
    changed = [Case(role, name, case, case["outcomes"]) for name, case in _load(role)["cases"].items()]
    return [Case(role, "healthy", {}, {}), *changed]


def findings(case: Case, module: ModuleType, root: Path) -> dict[str, Finding]:
    """Run all checks of `module` on the node of `case`. A file with the value null does not exist."""
    node = _load(case.role)["node"]
    merged: dict[str, dict[str, Any]] = {k: node.get(k, {}) | case.change.get(k, {}) for k in ("spec", "files", "commands", "units")}
    write_files(root, {path: text for path, text in merged["files"].items() if text is not None})
    return run_checks(module, merged["spec"], root, Commands(merged["commands"], merged["units"]))


def _load(role: str) -> dict[str, Any]:
    data: dict[str, Any] = load_yaml((ROOT / "tests" / "cases" / "os_validators" / f"{role}.yml").read_text())
    return data
