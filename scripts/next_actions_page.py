"""docs/reference/next-actions.md: which part a bad result is about and what to do first, from repairs.yml; `--check` fails where it is stale."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from clusterctl.core.repairs import repair_table
from generated_files import ROOT, write_or_check

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from clusterctl.core.repairs import CheckRow, GateRow
    from clusterctl.model.repair import Component, NextAction

PAGE = ROOT / "docs" / "reference" / "next-actions.md"
HEAD = """<!-- Written by scripts/next_actions_page.py from cli/clusterctl/core/repairs.yml. -->

# Parts and next actions

Every result that is not good states two codes beside its text, for tickets and automation: `component`, the part that it is about, and `next_action`, what to do first. What follows if that does
not help is in the hint. Either is empty where no field of the result determines it. `component_name` is which part it is where that is not one of the node: `leaf-3, rail 2` of a switch, so that the nodes
behind it are one ticket; empty otherwise, because the result has `node` and `device`.

They are in the reasons of `provision` and `admit`, in the results of `burnin` and `judge`, in the findings of `validate` and `drift`, in `history`, all with `-o json`; of a node that was
taken out they are recorded, and shown by `status -o json`, by the [API](../how-to/serve.md) and in [events](../how-to/events.md):

<!-- runs-in: tests/unit/terminal/test_reason_codes.py -->
```sh
clusterctl status            # to do: check_cable (adapter): r12-n02; to do: check_switch (switch leaf-3, rail 2): r12-n[03-10]
clusterctl status -o json
```

`error_code` of a gate's result is the code that the vendor gives the error: `xid.79`, `sxid.12028`, or `dcgm.52` of [DCGM's table](dcgm-errors.md).
`make faults` counts how many of the [faults](faults.md) are stated with the right part and the right action, and which hints do not name the action beside them.
"""
COMPONENTS = """
## Parts

| component | what it is |
|---|---|
"""
ACTIONS = """
## Next actions

| next_action | what to do |
|---|---|
"""
UNMEASURED = """
## Nothing was measured

A gate that could not measure is about no part, unless a search in a group found the node. Its action follows from the reason:

| next_action | reasons |
|---|---|
"""
GATES = """
## Results of gates

`result` is gate, rule, metric and reason. The first row that fits counts; one without a component leaves that to the next. An error code of the vendor counts before them in a failure; what a gate
judges of a whole node, or of a GPU on one board with its processor, it states itself. So can a site's gate, by `repair` of its results.

| result | device | outcome | component | next_action |
|---|---|---|---|---|
"""
CHECKS = """
## Checks

By the id of a check without its items. What a role has set is checked as `persisted`, `content` or `running`; a check of another name that no row has, as a site's own, states neither. `hardware.xid[N]` and `hardware.gpu[G].xid[N]` follow NVIDIA's XID catalogue.

| check | found | outcome | component | next_action |
|---|---|---|---|---|
"""


def main(argv: list[str]) -> int:
    """Write the page, or with `--check` report whether it is stale."""
    return write_or_check({PAGE: page()}, argv)


def page() -> str:
    """The whole text of the page."""
    table = repair_table()
    unmeasured = [f"| `{action}` | {', '.join(f'`{r}`' for r in reasons)} |\n" for action, reasons in table.unmeasured.items()]
    gates = [_row(row, row.result, row.device) for row in table.gates]
    checks = [_row(row, row.check, row.found) for row in table.checks]
    parts = [HEAD, COMPONENTS, *_meanings(table.components), ACTIONS, *_meanings(table.actions)]
    return "".join([*parts, UNMEASURED, *unmeasured, GATES, *gates, CHECKS, *checks])


def _meanings(table: Mapping[Component, str] | Mapping[NextAction, str]) -> Iterable[str]:
    return (f"| `{name}` | {text} |\n" for name, text in table.items())


def _row(row: GateRow | CheckRow, pattern: str, second: str) -> str:
    cells = (f"`{pattern}`", "" if second == "*" else f"`{second}`", row.outcome or "", row.component or "", row.action or "")
    return f"| {' | '.join(cells)} |\n"


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
