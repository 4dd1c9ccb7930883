"""The sign and colour of each state."""

from __future__ import annotations

import os
import sys

from clusterctl.model.state import State

S = State
SIGNS: dict[State, str] = {
    S.REGISTERED: "○",
    S.PROVISIONING: "◔",
    S.PROVISIONED: "◑",
    S.VALIDATED: "◕",
    S.BURNED_IN: "◉",
    S.ADMITTED: "●",
    S.QUARANTINED: "✗",
    S.DRAINED: "‖",
    S.MAINTENANCE: "⚙",
    S.RMA: "↩",
    S.RETIRED: "†",
}
_ANSI: dict[State, str] = {
    S.REGISTERED: "37",
    S.PROVISIONING: "36",
    S.PROVISIONED: "36",
    S.VALIDATED: "36",
    S.BURNED_IN: "36",
    S.ADMITTED: "32",
    S.QUARANTINED: "1;31",
    S.DRAINED: "33",
    S.MAINTENANCE: "33",
    S.RMA: "35",
    S.RETIRED: "90",
}


def coloured(text: str, state: State) -> str:
    """The text in the colour of a state, where stdout is a terminal and NO_COLOR is not set."""
    if not sys.stdout.isatty() or os.environ.get("NO_COLOR"):
        return text
    return f"\033[{_ANSI[state]}m{text}\033[0m"


def badge(state: State) -> str:
    """Sign and name, coloured."""
    return coloured(f"{SIGNS[state]} {state.value:<12}", state)
