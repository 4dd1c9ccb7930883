from __future__ import annotations

import asyncio
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from clusterctl.adapters.inventory.bmcs import load_bmcs
from clusterctl.adapters.validator_declarations import read_traits
from clusterctl.adapters.validators import request
from clusterctl.adapters.validators.bundle import Bundle
from clusterctl.adapters.validators.over_bmc import BmcRound
from clusterctl.adapters.validators.validation_settings import ValidationSettings
from clusterctl.model.node import Connection, Node, NodeSpec, Place
from clusterctl_validators.finding import Outcome
from support.redfish_bmc import PASSWORD, USER, Bmc
from support.redfish_tree import invented

if TYPE_CHECKING:
    from collections.abc import Iterator

SPEC: dict[str, Any] = {
    "bios_attributes": {"dell": [{"name": "LogicalProc", "value": "Disabled"}]},
    "bios_overrides": {},
    "bios_firmware_pins": {},
    "bios_timeout_s": 20,
    "bios_verify_certificates": True,
    "bios_system": "",
    "bios_vendor": "",
}


OURS = Bundle(Path("bundle"), "0", 0, read_traits(()))


@pytest.fixture
def bmc(tmp_path: Path) -> Iterator[Bmc]:
    with Bmc(invented(), tmp_path / "bmc") as one:
        yield one


def node(name: str = "v1-n01", **roles: Any) -> Node:
    return Node(name, ("rack_v1",), Connection("192.0.2.1"), Place(), NodeSpec(roles or {"bios": SPEC}, {}, (), "0"))


def layer(tmp_path: Path, bmc: Bmc, password: str = PASSWORD) -> Path:
    folder = tmp_path / "layer"
    folder.mkdir(exist_ok=True)
    variables = f"      bmc_url: {bmc.url}\n      bmc_user: '{{{{ owner }}}}'\n      owner: {USER}\n      bmc_ca_file: {bmc.ca_file}\n"
    variables += f"      bmc_password: {password}\n" if password else ""
    (folder / "hosts.yml").write_text("rack_v1:\n  hosts:\n    v1-n01:\n" + variables + "    v1-n02: {}\n")
    return folder


def bmc_outcomes(nodes: list[Node], inventory: Path, **settings: Any) -> dict[str, dict[str, Outcome]]:
    async def wait(bmcs: BmcRound) -> None:
        await asyncio.gather(*(bmcs.wait_for(n.name) for n in nodes))

    with BmcRound(nodes, OURS, (inventory,), ValidationSettings(**settings)) as bmcs:
        asyncio.run(wait(bmcs))
        return {n.name: {f.check: f.outcome for f in bmcs.findings(n.name)} for n in nodes}


def test_a_bmc_is_queried_and_its_checks_run(bmc: Bmc, tmp_path: Path) -> None:
    bmc.pending["LogicalProc"] = "Disabled"
    found = bmc_outcomes([node()], layer(tmp_path, bmc))["v1-n01"]
    assert found["bios.attributes[LogicalProc].current"] is Outcome.FAIL
    assert found["bios.attributes[LogicalProc].pending"] is Outcome.PASS


def test_a_bmc_that_is_down_could_not_be_queried(bmc: Bmc, tmp_path: Path) -> None:
    bmc.down = True
    assert bmc_outcomes([node()], layer(tmp_path, bmc)) == {"v1-n01": {"bios.bmc": Outcome.COULD_NOT_RUN}}


def test_a_node_without_a_bmc_does_not_affect_others(bmc: Bmc, tmp_path: Path) -> None:
    found = bmc_outcomes([node(), node("v1-n02")], layer(tmp_path, bmc))
    assert found["v1-n02"] == {"bios.bmc": Outcome.COULD_NOT_RUN}
    assert "bios.attributes[LogicalProc].current" in found["v1-n01"]


def test_an_inventory_that_cannot_be_read_is_a_check_that_could_not_run(bmc: Bmc, tmp_path: Path) -> None:
    assert bmc_outcomes([node()], tmp_path / "absent") == {"v1-n01": {"bios.bmc": Outcome.COULD_NOT_RUN}}


def test_a_password_without_its_vault_is_a_check_that_could_not_run(bmc: Bmc, tmp_path: Path) -> None:
    inventory = layer(tmp_path, bmc, password="")
    (inventory / "group_vars").mkdir()
    secret = "---\nbmc_password: !vault |\n  $ANSIBLE_VAULT;1.1;AES256\n  31613162\n"
    (inventory / "group_vars" / "all.yml").write_text(secret)
    with BmcRound([node()], OURS, (inventory,), ValidationSettings()) as bmcs:
        (finding,) = bmcs.findings("v1-n01")
    assert finding.outcome is Outcome.COULD_NOT_RUN
    assert "bmc_password cannot be decrypted: give the vault password" in finding.reason


def test_an_account_that_may_only_read_whose_vault_is_another_one_hinders_no_check(bmc: Bmc, tmp_path: Path) -> None:
    inventory = layer(tmp_path, bmc)
    (inventory / "group_vars").mkdir()
    secret = "---\nbmc_readonly_user: auditor\nbmc_readonly_password: !vault |\n  $ANSIBLE_VAULT;1.1;AES256\n  31613162\n"
    (inventory / "group_vars" / "all.yml").write_text(secret)
    assert bmc_outcomes([node()], inventory)["v1-n01"]["bios.attributes[LogicalProc].pending"] is not Outcome.COULD_NOT_RUN
    access = load_bmcs([inventory], ["v1-n01"])["v1-n01"]
    assert access.readonly_problem.startswith("bmc_readonly_password cannot be decrypted: give the vault password")
    assert (access.problem, access.readonly_user, access.readonly_password) == ("", "", "")


def test_nodes_without_such_a_role_are_not_queried(bmc: Bmc, tmp_path: Path) -> None:
    assert bmc_outcomes([node(kernel={})], layer(tmp_path, bmc)) == {"v1-n01": {}}
    assert bmc_outcomes([node()], layer(tmp_path, bmc), only=("kernel",)) == {"v1-n01": {}}
    assert bmc.requests == []


def test_the_request_to_the_node_leaves_out_the_roles_of_its_bmc() -> None:
    sent = request.make(node(kernel={"kernel_cmdline": {}}, bios=SPEC), OURS, ValidationSettings())
    assert sent.roles == ("kernel",)
    assert b"bios" not in sent.body


def test_no_finding_shows_the_password(bmc: Bmc, tmp_path: Path) -> None:
    for password in (PASSWORD, f"{PASSWORD}-wrong"):
        with BmcRound([node()], OURS, (layer(tmp_path, bmc, password),), ValidationSettings()) as bmcs:
            assert PASSWORD not in str(bmcs.findings("v1-n01"))
