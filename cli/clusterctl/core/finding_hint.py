"""The hint of a finding: validators do not have the node's name in the inventory, so they write NODE for it."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from clusterctl_validators.finding import Finding

# That of --partners is another node, of the reader's choice.
_NODE = re.compile(r"(?<!--partners )\bNODE\b")


def named_hint(finding: Finding, node: str) -> str:
    """The hint of a finding on `node`, with its name."""
    return _NODE.sub(lambda _: node, finding.hint) if "NODE" in finding.hint else finding.hint
