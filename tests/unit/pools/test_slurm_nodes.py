"""Nodes of Slurm as scontrol prints them."""

from __future__ import annotations

import pytest

from clusterctl.adapters.pools.slurm_nodes import parse_nodes

# printed by Slurm 22.05.8, shortened
LINE = (
    "NodeName={name} Arch=x86_64 CoresPerSocket=1  CPUTot=2 AvailableFeatures={features} ActiveFeatures={active} Gres=(null) NodeAddr=127.0.0.1 "
    "NodeHostName=vm Port=27001 Version=22.05.8 OS=Linux 6.18.44 #1 SMP @0  RealMemory=1000 State={state} ThreadsPerCore=1 Owner=N/A "
    "MCS_label=N/A Partitions=gpu,all  BootTime=2026-11-22T18:04:32 CfgTRES=cpu=2,mem=1000M,billing=2 AllocTRES= ExtSensorsTemp=n/s{rest}"
)
OURS = " Reason=clusterctl: provisioning: 2 roles [root@2026-11-22T21:44:09]"


def line(state: str = "IDLE", rest: str = "", features: str = "h100,ndr", active: str = "(null)") -> str:
    return LINE.format(name="r12-n01", state=state, rest=rest, features=features, active=active)


def test_all_that_the_pool_needs() -> None:
    (node,) = parse_nodes(line("IDLE+DRAIN+DYNAMIC_NORM", OURS) + "\n\n")
    assert node.name == "r12-n01"
    assert node.states == {"IDLE", "DRAIN", "DYNAMIC_NORM"}
    assert node.partitions == {"gpu", "all"}
    assert (node.reason, node.changed_at) == ("clusterctl: provisioning: 2 roles", "2026-11-22T21:44:09.000000Z")
    assert (node.features, node.active_features) == (("h100", "ndr"), ())
    assert node.booted_at == "2026-11-22T18:04:32.000000Z"


@pytest.mark.parametrize(
    ("state", "takes_jobs", "held", "silent"),
    [
        ("IDLE", True, False, False),
        ("MIXED+PLANNED", True, False, False),
        ("ALLOCATED+COMPLETING", True, False, False),
        ("IDLE+NOT_RESPONDING", True, False, True),
        ("IDLE*", True, False, True),
        ("IDLE~", True, False, False),
        ("IDLE+DRAIN", False, True, False),
        ("ALLOCATED+DRAIN", False, True, False),
        ("DOWN*+DRAIN", False, True, True),
        ("DOWN", False, True, False),
        ("IDLE+FAIL", False, True, False),
        ("IDLE+INVALID_REG", False, False, False),
        ("UNKNOWN+NOT_RESPONDING", False, False, True),
        ("FUTURE", False, False, False),
        ("IDLE+CLOUD+POWERED_DOWN", True, False, False),
        ("IDLE+FLAG_OF_A_NEWER_SLURM", True, False, False),
    ],
)
def test_states(state: str, takes_jobs: bool, held: bool, silent: bool) -> None:
    (node,) = parse_nodes(line(state))
    assert (node.takes_jobs, node.is_held, node.is_silent) == (takes_jobs, held, silent)


@pytest.mark.parametrize(
    ("rest", "reason"),
    [
        ("", ""),
        (f"{OURS} Comment=my comment Reason=hello Extra=more", "clusterctl: provisioning: 2 roles"),
        (" Reason=NHC: State=IDLE [x] b [root@2026-11-22T21:44:09]", "NHC: State=IDLE [x] b"),
        (" Reason=NHC: Reason=clusterctl: x [root@2026-11-22T21:44:09]", "NHC: Reason=clusterctl: x"),
        (" Reason=fan 3 [EXAMPLE\\ada lovelace@2026-11-22T21:44:09] Comment=x", "fan 3"),
        (" Reason=RMA 4711", "RMA 4711"),
        (" Reason=RMA 4711 Comment=my comment Extra=more", "RMA 4711"),
        (" Reason=RMA 4711 InstanceId=i-1 InstanceType=x", "RMA 4711"),
        (" Comment=Reason=clusterctl: x", ""),
        (" Comment=was Reason=clusterctl: x [root@2026-11-22T21:44:09]", ""),
    ],
)
def test_a_reason_may_hold_anything(rest: str, reason: str) -> None:
    """One of slurm.conf has neither writer nor time (src/common/node_conf.c of SchedMD/slurm 284c3b95); names of users may have spaces."""
    (node,) = parse_nodes(line("IDLE+DRAIN", rest))
    assert node.reason == reason
    assert node.states == {"IDLE", "DRAIN"}


@pytest.mark.parametrize(
    ("state", "rest", "away"), [("DOWN", "Not responding", True), ("DOWN+DRAIN", "Not responding", False), ("DOWN", "disk", False)]
)
def test_slurm_takes_out_what_is_away(state: str, rest: str, away: bool) -> None:
    (node,) = parse_nodes(line(state, f" Reason={rest} [slurm@2026-11-22T21:44:09]"))
    assert node.is_away is away


@pytest.mark.parametrize("end", ["\n", "\r\n", "\n\n", "\x0c", "\x85", "\u2028"])
@pytest.mark.parametrize("field", ["Comment", "Extra"])
def test_a_comment_of_several_lines_hides_no_node(field: str, end: str) -> None:
    """src/api/node_info.c of SchedMD/slurm 284c3b95 prints both as they are; only the lines of a reason are joined."""
    text = f"{line('IDLE+DRAIN', f'{OURS} {field}={{{end}  a: 1{end}}}')}\n{line('IDLE').replace('r12-n01', 'r12-n02')}\n"
    found = parse_nodes(text)
    assert [(n.name, n.takes_jobs, n.reason) for n in found] == [
        ("r12-n01", False, "clusterctl: provisioning: 2 roles"),
        ("r12-n02", True, ""),
    ]


def test_a_line_that_follows_no_comment_is_not_skipped() -> None:
    with pytest.raises(ValueError, match="not a node"):
        parse_nodes(f"{line()}\nodeName=r12-n02 Arch=x86_64 State=IDLE+DRAIN ThreadsPerCore=1\n")


def test_no_nodes() -> None:
    assert parse_nodes("No nodes in the system\n") == ()


@pytest.mark.parametrize("text", ["slurm_load_node error", "NodeName=x Arch=y", "State=IDLE", '{"nodes": []}'])
def test_what_is_no_node_is_not_guessed(text: str) -> None:
    with pytest.raises(ValueError, match="not a node of Slurm"):
        parse_nodes(text)


def test_an_answer_that_ends_within_the_state_is_no_node() -> None:
    whole = line("IDLE+DRAIN", OURS)
    for end in range(whole.index("State=IDLE"), whole.index("+DRAIN ") + len("+DRAIN")):
        with pytest.raises(ValueError, match="not a node"):
            parse_nodes(whole[: end + 1])


@pytest.mark.parametrize(
    "state",
    [
        "IDLE+DRAINThreadsPerCore=1",
        "IDLE+DR\x00AIN",
        "IDLE+DRAIN\x1b[2J",
        "IDLE DRAIN=1".replace(" ", "\u00a0"),
        "IDLEDRAIN",
        "IDDRAIN",
        "DRAIN",
        "IDLE+DRAINAAA",
        "IDLE+AAADOWN",
    ],
)
def test_a_state_that_is_garbled_is_none(state: str) -> None:
    with pytest.raises(ValueError, match="not a"):
        parse_nodes(line(state, OURS))


@pytest.mark.parametrize("text", ["None", "Unknown", "N/A", "(null)"])
def test_a_boot_that_slurm_does_not_report(text: str) -> None:
    (node,) = parse_nodes(line().replace("2026-11-22T18:04:32", text))
    assert node.booted_at == ""


@pytest.mark.parametrize(
    ("state", "reason", "out_for_its_boot"),
    [
        ("DOWN", "Node unexpectedly rebooted", True),
        ("DOWN+NOT_RESPONDING", "Node unexpectedly rebooted", False),
        ("DOWN*", "Node unexpectedly rebooted", False),
        ("DOWN+DRAIN", "Node unexpectedly rebooted", False),
        ("IDLE", "Node unexpectedly rebooted", False),
        ("DOWN", "Not responding", False),
        ("DOWN", "fan 3", False),
        ("DOWN", "clusterctl: provisioning", False),
    ],
)
def test_whether_slurm_took_it_out_for_its_boot(state: str, reason: str, out_for_its_boot: bool) -> None:
    (node,) = parse_nodes(line(state, f" Reason={reason} [slurm@2026-11-22T21:44:09]"))
    assert node.is_out_for_its_boot is out_for_its_boot
