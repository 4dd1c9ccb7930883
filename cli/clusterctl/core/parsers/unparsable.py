"""Text that a parser does not understand: never a measurement, never a pass."""

from __future__ import annotations

from clusterctl.model.errors import ClusterctlError
from clusterctl.model.exit_codes import ExitCode


class UnparsableError(ClusterctlError):
    """The text is not a complete output of the tool."""

    template = "not a complete output of {tool}: {reason}"
    hint_template = "look at the text itself; `clusterctl parse --list` names the tools"
    exit_code = ExitCode.CONFIG
