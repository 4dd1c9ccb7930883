"""A site brings a rack-wide, a BMC and an assert-only validator, from its folder alone."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

from clusterctl.adapters.config import read_config
from clusterctl.adapters.inventory.load import load_nodes
from clusterctl.adapters.validator_declarations import validator_traits
from clusterctl.adapters.validators import validate
from clusterctl.core.cold_settings import awaiting_power_cycle
from clusterctl.core.installed_versions import installed_versions
from clusterctl.core.plan import PlanInput, make_plan
from clusterctl.model.errors import ConfigError
from clusterctl.model.findings import NodeFindings, NodeStatus
from clusterctl.model.installed_skew import InstalledVersion
from clusterctl.model.plan import PlannedAction
from clusterctl.model.provision import ProvisionOptions
from clusterctl.model.records import NodeRecord
from clusterctl.model.state import State
from clusterctl.workflows.doctor import examine
from clusterctl_validators.finding import Finding, Outcome, Severity
from support.fake_answers import PASS, FakeNode
from support.redfish_bmc import PASSWORD, USER, Bmc
from support.redfish_tree import invented
from support.ssh_node import SshNode

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.usefixtures("home")

RACK = """
SCOPE = "rack"
RACK = {"same": ("coolant",), "by": "row", "hint": "check the manifold of the row"}
"""
CHASSIS = '''
"""Whether the lid is closed, as the BMC sees it."""
SCOPE = "bmc"
COLD = {"lid.alarm[*].now": "lid.alarm[*].next"}

def test_lid(spec, record, bmc):
    sensor = bmc.resource(spec["lid_path"]).get("PhysicalSecurity", {}).get("IntrusionSensor", "none")
    record.equal("lid.sensor", "Normal", sensor, hint="close the lid of this " + bmc.vendor)
    record.equal("lid.absent", {}, bmc.resource("/redfish/v1/nowhere"))
'''
ASSERTS = "import pytest\nASSERTS_ONLY: bool = True\n"
ROLES = {"row_coolant": RACK, "lid": CHASSIS, "asset": ASSERTS}
LID = "      lid_path: {type: str, default: /redfish/v1/Chassis/Base, description: The chassis.}\n"
SPECS = "argument_specs:\n  main:\n    short_description: Of the site.\n    options:\n"
OPTION = "      {0}_note: {{type: str, default: '', description: Unused.}}\n"


def write(folder: Path, files: dict[str, str]) -> None:
    for name, text in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text)


def role(name: str) -> dict[str, str]:
    options, defaults = (LID, "lid_path: /redfish/v1/Chassis/Base\n") if name == "lid" else (OPTION.format(name), f"{name}_note: ''\n")
    return {
        f"roles/{name}/meta/argument_specs.yml": SPECS + options,
        f"roles/{name}/defaults/main.yml": defaults,
        f"roles/{name}/tasks/main.yml": "[]\n",
        f"validators/test_{name}.py": ROLES[name],
    }


@pytest.fixture
def site(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / "site"
    for name in ROLES:
        write(folder, role(name))
    write(folder, {"clusterctl.yml": "inventory: [hosts.yml]\nstate_dir: state\n", "hosts.yml": ""})
    monkeypatch.chdir(folder)
    monkeypatch.delenv("CLUSTERCTL_CONFIG", raising=False)
    return folder


def hosts(site: Path, servers: dict[str, SshNode], bmc: Bmc | None = None, roles: str = "row_coolant") -> None:
    access = f"bmc_url: {bmc.url}, bmc_user: {USER}, bmc_password: {PASSWORD}, bmc_ca_file: {bmc.ca_file}, " if bmc else ""
    lines = f"rack_1:\n  vars: {{{access}rack: rack-1, row: a, node_roles: [{roles}], ansible_user: root}}\n  hosts:\n"
    for name, server in servers.items():
        how = server.connection()
        args = " ".join(how.ssh_args)
        lines += f"    {name}: {{ansible_host: 127.0.0.1, ansible_port: {how.port}, ansible_ssh_private_key_file: {how.key_path}, "
        lines += f'ansible_ssh_common_args: "{args}"}}\n'
    write(site, {"hosts.yml": lines})


def validated(site: Path) -> dict[str, NodeFindings]:
    inventory = read_config().inventory
    return {f.node: f for f in validate(load_nodes(inventory, "all"), site / "state", inventory=inventory)}


def reports(check: str, value: str) -> FakeNode:
    finding = {**PASS, "check": check, "role": check.split(".", maxsplit=1)[0], "found": value}
    return FakeNode(edit=lambda answer: {**answer, "findings": [finding]})


def test_a_rack_wide_validator(site: Path, tmp_path: Path) -> None:
    values = {"n1": "18 C", "n2": "18 C", "n3": "31 C"}
    fakes = {n: SshNode(tmp_path / n, reports("row_coolant.coolant", v)) for n, v in values.items()}
    with fakes["n1"], fakes["n2"], fakes["n3"]:
        hosts(site, fakes)
        found = {n: next(f for f in r.findings if f.check == "row_coolant.rack.coolant") for n, r in validated(site).items()}
    assert {n: f.outcome for n, f in found.items()} == {"n1": Outcome.PASS, "n2": Outcome.PASS, "n3": Outcome.FAIL}
    assert (found["n3"].expected, found["n3"].hint) == ("18 C, as 2 of 3", "check the manifold of the row")


def test_a_validator_of_the_bmc(site: Path, tmp_path: Path) -> None:
    tree = invented()
    tree["/redfish/v1/Chassis/Base"] = {"PhysicalSecurity": {"IntrusionSensor": "HardwareIntrusion"}}
    node = FakeNode()
    with Bmc(tree, tmp_path / "bmc") as bmc, SshNode(tmp_path / "n1", node) as server:
        hosts(site, {"n1": server}, bmc, "lid, asset")
        found = {f.check: f for f in validated(site)["n1"].findings}
    assert {c: f.outcome for c, f in found.items()} == {
        "asset.a": Outcome.PASS,
        "lid.sensor": Outcome.FAIL,
        "lid.absent": Outcome.PASS,
    }
    assert found["lid.sensor"].hint == "close the lid of this dell"
    assert [sorted(r["roles"]) for r in node.requests] == [["asset"]]
    waiting = (_finding("lid.alarm[1].now", Outcome.FAIL), _finding("lid.alarm[1].next", Outcome.PASS))
    assert awaiting_power_cycle(waiting, ["lid"], validator_traits()) == ("lid.alarm[1].now",)


def test_an_assert_only_validator(site: Path, tmp_path: Path) -> None:
    with SshNode(tmp_path / "n1", FakeNode()) as server:
        hosts(site, {"n1": server}, roles="asset, row_coolant")
        (node,) = load_nodes(read_config().inventory, "n1")
    record = NodeRecord("n1", "rack-1", 1, (), State.REGISTERED, "", "d", "", "", "")
    bad = _findings("n1", _finding("asset.tag", Outcome.FAIL), _finding("row_coolant.coolant", Outcome.PASS))
    (planned,) = make_plan([PlanInput(node, record, bad)], ProvisionOptions(), validator_traits()).nodes
    assert (planned.action, planned.changing_roles) == (PlannedAction.QUARANTINE, ())
    assert [c.check for c in planned.beyond_roles] == ["asset.tag"]


BROKEN: list[tuple[str, str]] = [
    ('SCOPE = "racks"\n', r"test_asset\.py:1: SCOPE: 'racks' is not one of node, rack, bmc"),
    ('"""Docs."""\nSCOPE = which()\n', r"test_asset\.py:2: SCOPE: not a literal value"),
    ('SCOPE = "rack"\n', r'test_asset\.py: SCOPE = "rack" and RACK belong together'),
    ('RACK = {"same": ("a",)}\n', r'test_asset\.py: SCOPE = "rack" and RACK belong together'),
    ('SCOPE = "rack"\nRACK = {"same": ()}\n', r'test_asset\.py:2: RACK: "same" names at least one fact'),
    ('SCOPE = "rack"\nRACK = {"same": ("a",), "by": "shelf"}\n', "'shelf' is not one of rack, row"),
    ('SCOPE = "rack"\nRACK = {"same": ("a",), "alike": ("asset.fan",)}\n', '"alike" and "above" belong together'),
    ('SCOPE = "rack"\nRACK = {"same": ("a",), "above": "shelf"}\n', '"alike" and "above" belong together'),
    ('SCOPE = "rack"\nRACK = {"same": ("a",), "alike": "asset.fan", "above": "shelf"}\n', "is not a tuple of texts"),
    ('SCOPE = "rack"\nRACK = {"same": ("a",), "sice": "n"}\n', "unknown key 'sice'; did you mean 'size'"),
    ('ASSERTS_ONLY = True\nASSERTED = "asset.model"\n', "ASSERTED: 'asset.model' is not a tuple of texts"),
    ('ASSERTED = ("asset.model",)\n', r"test_asset\.py: ASSERTED needs ASSERTS_ONLY"),
    ('ASSERTS_ONLY = "yes"\n', "ASSERTS_ONLY: 'yes' is not True or False"),
    ('COLD = {"asset.a": "asset.b"}\n', "each needs one"),
    ("COLD = 5\n", "COLD: not a literal value of the right type"),
    ('VERSIONS = {"asset.bmc": "BMC"}\n', "VERSIONS: not a literal value of the right type"),
    ('VERSIONS = {"asset.bmc": ("", "")}\n', "'asset.bmc': the component, and the check of its model"),
    ('VERSIONS = {"asset.bmc": ("BMC", "asset.model[*]")}\n', r"one \* for the item"),
    ('ABOUT_OTHERS = "asset.x"\n', "is not a tuple of texts"),
    ('BEYOND_ROLE = "asset.x"\n', "is not a tuple of texts"),
    ('AFTER_BOOT = "asset.x"\n', "is not a tuple of texts"),
    ("def test_a():\n    pass\n\nASSERTS_ONLY = True\n", r"test_asset\.py:4: ASSERTS_ONLY: declared after the first function or class"),
]


@pytest.mark.parametrize(("text", "says"), BROKEN)
def test_a_declaration_that_is_not_valid_is_an_error_with_file_and_line(site: Path, text: str, says: str) -> None:
    write(site, {"validators/test_asset.py": text})
    with pytest.raises(ConfigError, match=says):
        validator_traits()
    checks = {c.name: c for c in examine(read_config())}
    assert not checks["site roles"].ok


def test_a_site_declares_what_is_a_version(site: Path) -> None:
    text = 'VERSIONS = {"asset.drive[*].firmware": ("drive firmware", "asset.drive[*].model")}\n'
    write(site, {"validators/test_asset.py": text})
    seen = {"asset.drive[nvme0].firmware": "GDC7202Q", "asset.drive[nvme0].model": "PM9A3", "asset.drive[nvme1].firmware": "none"}
    findings = [replace(_finding(check, Outcome.NOT_APPLICABLE), found=found) for check, found in seen.items()]
    assert installed_versions(findings, validator_traits()) == (InstalledVersion("drive firmware", "PM9A3", "GDC7202Q"),)


def test_a_module_is_not_imported(site: Path) -> None:
    write(site, {"validators/test_asset.py": "raise SystemExit\nASSERTS_ONLY = True\n"})
    assert validator_traits().asserts_only("asset")


def _finding(check: str, outcome: Outcome) -> Finding:
    return Finding(check, check.split(".", maxsplit=1)[0], outcome, Severity.MAJOR)


def _findings(node: str, *found: Finding) -> NodeFindings:
    return NodeFindings(node, NodeStatus.OK, "", found, 0.1)
