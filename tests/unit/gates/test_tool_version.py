"""What a burn-in agent takes for the version of a tool."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from support.agents import AgentNode, step
from support.ports import free_port

if TYPE_CHECKING:
    from pathlib import Path


@pytest.mark.parametrize(
    ("printed", "simulated"),
    [
        ("USAGE: all_reduce_perf \\n\\t[-t,--nthreads <num threads>]", False),
        ("USAGE: x\\n# nccl-tests 2.17.6 (simulated)", True),
        ("", False),
    ],
)
def test_a_help_text_without_a_number_in_its_first_line_is_no_version(tmp_path: Path, printed: str, simulated: bool) -> None:
    agent = AgentNode(tmp_path, "n1", free_port(), [step("s", ["true"], version_argv=["printf", printed])]).start()
    found = agent.end()["s"]
    assert (found.tool_version, found.simulated) == ("", simulated)
