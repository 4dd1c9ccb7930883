"""The NetBox configuration of docs/how-to/inventory-sources.md, read by the real plug-in from an imitation of the API."""

from __future__ import annotations

import json
import os
from typing import TYPE_CHECKING

import pytest

from support.demo_rack import DemoRack, FinishedCommand
from support.doc_blocks import blocks_of
from support.fake_netbox import TOKEN, fake_netbox
from support.roles import ROOT

if TYPE_CHECKING:
    from collections.abc import Iterator

PAGE = ROOT / "docs" / "how-to" / "inventory-sources.md"


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[DemoRack]:
    """A site whose only source is the page's netbox.yml."""
    made = DemoRack(tmp_path_factory.mktemp("netbox"), 12)
    (config,) = (b.text for b in blocks_of(PAGE) if b.language == "yaml" and "nb_inventory" in b.text)
    (made.site / "clusterctl.yml").write_text("inventory: ['@common', inventory/mysite]\n")
    layer = made.site / "inventory" / "mysite"
    layer.mkdir(parents=True)
    stand_in = made.site / "python"  # the plug-in insists on pytz, which only its time zone groups use
    stand_in.mkdir()
    (stand_in / "pytz.py").write_text("")
    made.extra |= {"PYTHONPATH": f"{stand_in}:{os.environ.get('PYTHONPATH', '')}", "ANSIBLE_HOME": str(made.site / "ansible")}
    with fake_netbox() as address:
        (layer / "netbox.yml").write_text(config.replace("https://netbox.example.net", address))
        yield made


def with_token(site: DemoRack, *words: str, token: str = TOKEN) -> FinishedCommand:
    return site.run("clusterctl", *words, NETBOX_TOKEN=token, CLUSTERCTL_PASS_ENV="NETBOX_TOKEN")


def test_nodes_have_profile_place_and_addresses(site: DemoRack) -> None:
    done = with_token(site, "inventory", "rack-12", "-o", "json")
    assert done.code == 0, done.err
    nodes = done.json["nodes"]
    assert [(n["name"], n["profile"], n["place"]["rack"], n["place"]["slot"]) for n in nodes] == [
        ("r12-n01", "profile_hgx_h100_ib", "rack-12", 1),
        ("r12-n02", "profile_hgx_h100_ib", "rack-12", 2),
    ]
    shown = site.run("ansible-inventory", "-i", "inventory/mysite", "--host", "r12-n01", NETBOX_TOKEN=TOKEN)
    variables = json.loads(shown.out)
    assert (variables["ansible_host"], variables["bmc_url"]) == ("192.0.2.11", "https://198.51.100.11")


def test_the_inventory_is_sound(site: DemoRack) -> None:
    done = with_token(site, "profile", "check", "all")
    assert done.code == 0, done.err


def test_a_wrong_token_is_an_error_and_no_empty_inventory(site: DemoRack) -> None:
    assert with_token(site, "inventory", "rack-12", token="wrong").code == 3
