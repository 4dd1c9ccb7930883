"""docs/reference/dcgm-errors.md: DCGM's error codes with cause and next action, from dcgm_errors.yml; `--check` fails where it is stale."""

from __future__ import annotations

import sys

from clusterctl.core.gates.dcgm_errors import dcgm_error_table
from generated_files import ROOT, write_or_check

PAGE = ROOT / "docs" / "reference" / "dcgm-errors.md"
HEAD = """<!-- Written by scripts/dcgm_error_page.py from cli/clusterctl/core/gates/dcgm_errors.yml. -->

# DCGM's error codes

What the gate [`dcgm_diag`](gates.md#dcgms-error-codes) makes of each `error_id` of `dcgmi diag -j`: {codes} codes, those of DCGM 4.6.0. DCGM keeps the number of a code over its releases.
A code that is not listed is a failure as well, with DCGM's text.
"""
ACTIONS = """
## Next actions, the most severe first

Of several codes of one result, and of a code and an [XID](gates.md#how-it-measures) of the same GPU, the action that stands first here wins.

| action | what to do | actions of the XID catalogue that weigh as much |
|---|---|---|
"""
CODES = """
## Codes

Severity is DCGM's. Cause: the part that is at fault; `settings`: software or settings of the node; `diagnostic`: DCGM itself; `unexplained`: only the text shows it.
Where nothing was tested, the test is *could not run*, with the reason that is given; all others are failures. The action is that of NVIDIA's NVSentinel
(`dcgmerrorsmapping.csv`), of DCGM's own suggestion, or the project's where neither names one that a node can follow.

| code | name | severity | cause | reason | action | whose |
|---|---|---|---|---|---|---|
"""


def main(argv: list[str]) -> int:
    """Write the page, or with `--check` report whether it is stale."""
    return write_or_check({PAGE: page()}, argv)


def page() -> str:
    """The whole text of the page."""
    table = dcgm_error_table()
    actions = [f"| `{a.name}` | {_shown(a.text)} | {', '.join(a.xid)} |\n" for a in table.actions]
    codes = [
        f"| {e.id} | `{e.name.removeprefix('DCGM_FR_')}` | {e.severity} | {e.cause} | `{e.reason}`{', not tested' if e.untested else ''} | `{e.action}` | {e.by} |\n"
        for e in table.codes
    ]
    return "".join([HEAD.format(codes=len(table.codes)), ACTIONS, *actions, CODES, *codes])


def _shown(text: str) -> str:
    return text.format(gpu="GPU", node="NODE").replace("|", "\\|")


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
