"""docs/how-to/pools.md, and the condition in docs/reference/configuration.md: their settings are those of the pools, and its rights those that the calls need."""

from __future__ import annotations

import re
import shlex
from typing import TYPE_CHECKING

import pytest
import yaml

from clusterctl import main
from clusterctl.adapters.config import PoolDeclaration
from clusterctl.adapters.pools.loader import check_pool
from clusterctl.adapters.pools.marking import mark_text
from clusterctl.model.verdict import Reason, ReasonKind
from support.doc_blocks import blocks_of
from support.plain_yaml import load_yaml
from support.rack_after_run import pooled_rack
from support.roles import ROOT

if TYPE_CHECKING:
    from pathlib import Path

PAGE = ROOT / "docs" / "how-to" / "pools.md"
BLOCKS = [b.text for b in blocks_of(PAGE) if b.language == "yaml"]
CONDITIONS = [b.text for b in blocks_of(ROOT / "docs/reference/configuration.md") if b.language == "yaml" and "condition:" in b.text]
DECLARED = [load_yaml(text)["pool"] for text in (*BLOCKS, *CONDITIONS) if text.startswith("pool:")]
# what a call of the client asks of the API server; the list of resources is open to every account (system:discovery)
RIGHTS = {
    "list_node": ("nodes", "list"),
    "read_node": ("nodes", "get"),
    "patch_node": ("nodes", "patch"),
    "patch_node_status": ("nodes/status", "patch"),
    "list_pod_for_all_namespaces": ("pods", "list"),
    "create_namespaced_pod_eviction": ("pods/eviction", "create"),
    "get_api_resources": None,
}


@pytest.mark.parametrize("declared", DECLARED, ids="-".join)
def test_the_pools_take_the_settings_of_the_page(declared: dict[str, object]) -> None:
    settings = {key: value for key, value in declared.items() if key != "kind"}
    _, checked = check_pool(PoolDeclaration(str(declared["kind"]), settings))
    assert checked.model_dump(include=set(settings)) == settings


def test_the_page_has_a_condition() -> None:
    assert len(CONDITIONS) == 1


def test_the_account_has_the_rights_that_the_calls_need_and_no_others() -> None:
    source = (ROOT / "cli/clusterctl/adapters/pools/kubernetes_api.py").read_text()
    needed = {RIGHTS[call] for call in re.findall(r"self\._api\.([a-z_]+)", source)} - {None}
    (role,) = (d for text in BLOCKS for d in yaml.safe_load_all(text) if d.get("kind") == "ClusterRole")
    assert {(resource, verb) for rule in role["rules"] for resource in rule["resources"] for verb in rule["verbs"]} == needed


def test_the_drain_of_the_page_states_a_fault(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (text,) = (b.text for b in blocks_of(PAGE) if b.marks.get("runs-in") == "tests/unit/pools/test_pool_page.py")
    store = pooled_rack(tmp_path)
    (tmp_path / "clusterctl.yml").write_text("state_dir: .\noperator: ada\n")
    monkeypatch.chdir(tmp_path)
    assert main.call(shlex.split(text)[1:]) == 0
    assert store.history("r12-n01")[-1].reason_code == "person.fan"


@pytest.mark.parametrize(("code", "text"), [("", "drained by ada: fan noise"), ("fan", "maintenance by ada: new fan tray")])
def test_the_reasons_of_the_page_are_those_of_a_persons_drain(code: str, text: str) -> None:
    assert f"\nclusterctl: {mark_text('r12-n01', Reason(ReasonKind.PERSON, text, item=code))}\n" in PAGE.read_text()
