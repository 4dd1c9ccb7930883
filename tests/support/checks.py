"""Runs the checks of a validator module on a fake node: files below a folder, command output from a table."""

from __future__ import annotations

import inspect
import itertools
from typing import TYPE_CHECKING, Any

from clusterctl_validators.collecting import items_of_argument
from clusterctl_validators.probe import CommandResult, Probe
from clusterctl_validators.record import Record, distinct
from clusterctl_validators.role_modules import role_of_module
from clusterctl_validators.sources import LocalSource, owner_and_mode_of
from clusterctl_validators.spec_view import SpecView

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path
    from types import ModuleType

    from clusterctl_validators.bmc_view import BmcView
    from clusterctl_validators.finding import Finding
    from clusterctl_validators.sources import Source


class InventedNode(LocalSource):
    """A fake node: files below `root`, output of commands (words joined with blanks) from `commands`; other commands are not found."""

    def __init__(self, root: Path, commands: Mapping[str, CommandResult | str]) -> None:
        super().__init__(str(root))
        self._commands = commands

    def owner_and_mode(self, path: str) -> tuple[str, str] | None:
        """From the table, as `stat` would print them: files below `root` belong to whoever runs the test."""
        return owner_and_mode_of(self.run(["stat", "-c", "%U %a", path], 20))

    def run(self, argv: Sequence[str], timeout_s: float) -> CommandResult:
        result = self._commands.get(" ".join(argv), CommandResult(None, error=f"{argv[0]}: No such file or directory"))
        return CommandResult(0, stdout=result) if isinstance(result, str) else result


def run_checks(
    module: ModuleType, variables: dict[str, Any], root: Path, commands: Mapping[str, CommandResult | str] | None = None
) -> dict[str, Finding]:
    """Call all `test_*` functions of `module` in order, once for each item where EACH of the module says so. Returns the findings by check id; exceptions propagate."""
    return run_some_checks(module, variables, InventedNode(root, commands or {}))


def run_some_checks(
    module: ModuleType, variables: dict[str, Any], source: Source, names: Sequence[str] = (), bmc: BmcView | None = None
) -> dict[str, Finding]:
    """The same on any source, and only some functions of `module` where `names` has any."""
    role = role_of_module(module)
    record = Record(role)
    fixtures: dict[str, Any] = {"spec": SpecView(role, variables), "record": record, "probe": Probe(source), "bmc": bmc}
    for name, function in vars(module).items():
        if name.startswith("test_") and inspect.isfunction(function) and (not names or name in names):
            needed = inspect.signature(function).parameters
            each = {a: items_of_argument(variables, v) for a, v in getattr(module, "EACH", {}).items() if a in needed}
            for items in itertools.product(*each.values()):
                given = {**fixtures, **dict(zip(each, items, strict=True))}
                function(**{p: given[p] for p in needed})
    return {f.check: f for f in distinct(record.findings)}


def modinfo_text(**fields: str) -> str:
    """As modinfo prints a module, between fields that have more than one line."""
    rows = [
        *fields.items(),
        ("parm", "NVreg_ResmanDebugLevel:int"),
        ("parm", "version:a parameter of this name (int)"),
        ("signature", "30:64:02:30\n\t\t5A:01"),
    ]
    return "".join(f"{name + ':':<16}{value}\n" for name, value in [("alias", "pci:v000010DEd*sv*sd*bc03sc02i00*"), *rows])


def write_files(root: Path, files: Mapping[str, str]) -> Path:
    """Write files with absolute paths below `root`."""
    for path, text in files.items():
        target = root / path.lstrip("/")
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(text)
    return root
