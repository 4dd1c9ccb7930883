"""Contradictions: the rules of roce, infiniband, nvlink_domain and hardware, as the roles assert them and `clusterctl profile check` reports them."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from support.filters import filter_plugin
from support.plain_yaml import load_yaml
from support.roles import ROOT, load_role

CASES = [
    pytest.param(role, case, id=f"{role}-{name}")
    for role in ("roce", "infiniband", "nvlink_domain", "hardware")
    for name, case in load_yaml((ROOT / "tests" / "cases" / "fabric_rules" / f"{role}.yml").read_text()).items()
]
RULES = {role: filter_plugin(f"{role}_rules") for role in ("roce", "infiniband", "nvlink_domain", "hardware")}
DEFAULTS = {role: load_role(ROOT / "roles" / role).defaults for role in RULES}


@pytest.mark.parametrize(("role", "case"), CASES)
def test_contradictions_of_a_declaration(role: str, case: dict[str, Any]) -> None:
    variables = DEFAULTS[role] | case["vars"]
    found = RULES[role].contradictions(variables)
    assert sorted(path for path, _ in found) == sorted(case["at"]), found
    assert RULES[role].problem_lines(variables) == [f"{path}: {text}" for path, text in found]


@pytest.mark.parametrize(
    ("hosts", "others"), [(["10.0.0.1", "10.0.0.2"], False), (["10.0.0.2", "10.0.0.1"], False), (["10.0.0.1"], True), ([], True)]
)
def test_imex_with_other_members_is_detected(hosts: list[str], others: bool) -> None:
    said = json.dumps({"nodes": {str(i): {"host": host} for i, host in enumerate(hosts)}})
    assert RULES["nvlink_domain"].runs_with_others(said, ["10.0.0.1", "10.0.0.2"]) is others


@pytest.mark.parametrize("said", ["", "connect failed", "[]", '{"nodes": null}', '{"nodes": {"0": {}}}'])
def test_imex_without_a_member_list_is_not_restarted(said: str) -> None:
    assert RULES["nvlink_domain"].runs_with_others(said, ["10.0.0.1"]) is False


@given(dscp=st.integers(0, 63), ecn=st.integers(0, 3), cnp=st.integers(0, 63))
def test_all_values_derived_from_one_dscp_agree(dscp: int, ecn: int, cnp: int) -> None:
    rules = RULES["roce"]
    priority, cnp_priority = rules.priority_of(dscp, {}), rules.priority_of(cnp, {})
    variables = DEFAULTS["roce"] | {
        "roce_dscp": dscp,
        "roce_priority": priority,
        "roce_pfc_priorities": [priority],
        "roce_ecn_priorities": [priority],
        "roce_cnp_dscp": cnp,
        "roce_cnp_priority": cnp_priority,
        "roce_traffic_class": dscp * 4 + ecn,
        "roce_cma_tos": dscp * 4 + 2,
    }
    told = {path for path, _ in rules.contradictions(variables)}
    assert ("roce_traffic_class" in told) == (ecn in (0, 3))
    assert ("roce_cnp_priority" in told) == (priority == cnp_priority)
    assert told <= {"roce_traffic_class", "roce_cnp_priority", "roce_cnp_dscp"}


def test_the_script_gets_numbers_for_text_of_ansible() -> None:
    variables = DEFAULTS["roce"] | {"roce_mtu": "9000", "roce_pfc_priorities": ["3"], "roce_rails": [{"device": "mlx5_0", "rail": "2"}]}
    written = RULES["roce"].settings(variables)
    assert (written["mtu"], written["pfc_priorities"]) == (9000, [3])
    assert written["rails"] == [{"device": "mlx5_0", "rail": 2, "port": 1, "interface": "", "address": "", "gateway": ""}]
