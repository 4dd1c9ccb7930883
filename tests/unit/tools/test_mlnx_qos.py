from __future__ import annotations

import pytest

from clusterctl_tools.mlnx_qos import UnreadableQosError, parse

FULL = """DCBX mode: Firmware controlled
Priority trust state: dscp
dscp2prio mapping:
\tprio:0 dscp:07,06,05,04,03,02,01,00,
\tprio:3 dscp:31,30,29,28,27,26,25,24,
default priority:
Receive buffer size (bytes): 130944,130944,0,0,0,0,0,0,max_buffer_size=262016
Cable len: 7
PFC configuration:
\tpriority    0   1   2   3   4   5   6   7
\tenabled     0   0   0   1   0   0   0   1   \n\tbuffer      0   0   0   1   0   0   0   2   \ntc: 0 ratelimit: unlimited, tsa: ets, bw: 50%
\t priority:  0
"""


def test_all_fields() -> None:
    qos = parse(FULL)
    assert (qos.dcbx, qos.trust, qos.pfc) == ("fw", "dscp", (3, 7))
    assert (qos.priority_of[26], qos.priority_of[0], qos.priority_of.get(48)) == (3, 0, None)
    assert qos.buffer_of == (0, 0, 0, 1, 0, 0, 0, 2)
    assert qos.buffer_sizes == (130944, 130944, 0, 0, 0, 0, 0, 0)


def test_an_older_version_shows_fewer_fields() -> None:
    qos = parse(
        "Priority trust state: pcp\nPFC configuration:\n\tpriority    0   1   2   3   4   5   6   7\n\tenabled     0   0   0   0   0   0   0   0   \n"
    )
    assert (qos.dcbx, qos.trust, qos.pfc, qos.priority_of, qos.buffer_of, qos.buffer_sizes) == ("", "pcp", (), {}, None, None)


@pytest.mark.parametrize(
    "text", ["", "Interface is not found or not supported", "Priority trust state: dscp\n", FULL.replace("enabled", "on")]
)
def test_another_text_is_refused(text: str) -> None:
    with pytest.raises(UnreadableQosError):
        parse(text)
