"""The version of nccl-tests and NCCL, from what they print."""

from __future__ import annotations

import pytest

from clusterctl.core.gates.judging.judge import judge
from clusterctl.core.gates.subject import subject_of
from support.gates import TODAY, nccl, node, record

NAMED = "# nccl-tests version 2.19.6 nccl-headers=22809 nccl-library=22811\n"


@pytest.mark.parametrize(
    ("text", "printed", "version"),
    [
        (NAMED + nccl(480), "", "nccl-tests 2.19.6, NCCL 2.28.11"),
        ("".join(f"[1,0]<stdout>:{line}\n" for line in (NAMED + nccl(480)).splitlines()), "", "nccl-tests 2.19.6, NCCL 2.28.11"),
        (NAMED + nccl(480), "all_reduce_perf 2.17.6", "nccl-tests 2.19.6, NCCL 2.28.11"),
        (nccl(480), "2.17.6", "2.17.6"),
        (nccl(480), "", "NCCL 2.28.9"),
        (nccl(480).replace("NCCL version", "NCCL"), "", ""),
        (NAMED.replace("22811", "none") + nccl(480), "", "NCCL 2.28.9"),
    ],
    ids=[
        "named by the output",
        "with the tags of mpirun",
        "which wins over a help text",
        "of the tool only",
        "of NCCL only",
        "of nothing",
        "garbage is no version",
    ],
)
def test_the_version_is_what_the_output_names(text: str, printed: str, version: str) -> None:
    subjects = [subject_of(node("n1"), TODAY)]
    found = judge(subjects, [record("nccl_node", "n1", text, tool_version=printed)], level="standard", gates=["nccl_node"])
    assert {r.tool_version for r in found} == {version}
