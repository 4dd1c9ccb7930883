"""Hints name the node that they are about: validators write NODE, since they do not know its name in the inventory."""

from __future__ import annotations

import pytest

from clusterctl.core.admission.decide import configuration_reasons
from clusterctl.core.finding_hint import named_hint
from clusterctl.model.findings import NodeFindings, NodeStatus
from clusterctl.terminal.findings import findings_json_parts, junit_parts
from clusterctl.terminal.history import _findings
from clusterctl_validators.finding import Finding, Outcome, Severity

HINTS = [
    ("`clusterctl provision NODE` restarts it", "`clusterctl provision r12-n01` restarts it"),
    ("find it in its event log (`clusterctl bmc NODE`)", "find it in its event log (`clusterctl bmc r12-n01`)"),
    (
        "`clusterctl power cycle NODE`, then `clusterctl validate NODE`",
        "`clusterctl power cycle r12-n01`, then `clusterctl validate r12-n01`",
    ),
    ("`clusterctl burnin NODE --partners NODE`", "`clusterctl burnin r12-n01 --partners NODE`"),
    ("kubectl get pods -A --field-selector spec.nodeName=NODE", "kubectl get pods -A --field-selector spec.nodeName=r12-n01"),
    ("NODE_OPTIONS is set in /etc/environment", "NODE_OPTIONS is set in /etc/environment"),
    ("reseat it", "reseat it"),
    ("", ""),
]


def finding(hint: str) -> Finding:
    return Finding("kernel.release.running", "kernel", Outcome.FAIL, Severity.MAJOR, "1", "0", hint)


@pytest.mark.parametrize(("hint", "named"), HINTS)
def test_a_command_in_a_hint_is_about_the_node(hint: str, named: str) -> None:
    assert named_hint(finding(hint), "r12-n01") == named


def test_a_name_with_a_backslash_stays_as_it_is() -> None:
    assert named_hint(finding("`clusterctl bmc NODE`"), r"a\1b") == r"`clusterctl bmc a\1b`"


def test_people_and_programs_read_the_name() -> None:
    found = NodeFindings("r12-n01", NodeStatus.OK, "", (finding("`clusterctl provision NODE`"),), 0.1)
    outputs = ["".join(findings_json_parts([found], "run-1")), "".join(junit_parts([found])), "\n".join(_findings(found))]
    outputs += [r.hint for r in configuration_reasons("r12-n01", expected_roles=("kernel",), findings=found, outcome=None)]
    shown = [text for text in outputs if "provision" in text]
    assert len(shown) >= 4
    assert [text for text in shown if "clusterctl provision r12-n01" not in text or "NODE" in text] == []
