"""Input that the role storage_client refuses, and the content of its units."""

from __future__ import annotations

from typing import Any

import jinja2
import pytest

from clusterctl_tools.mount_unit import complete
from support.filters import filter_plugin
from support.plain_yaml import load_yaml
from support.roles import ROOT, load_role

ROLE = ROOT / "roles" / "storage_client"
CASES = load_yaml((ROOT / "tests/cases/storage_client/refused.yml").read_text())
rules = filter_plugin("storage_client_rules")
units = filter_plugin("storage_client_units")
GOOD = {"name": "a", "kind": "nfs", "source": "nas:/scratch", "path": "/mnt/a", "options": ["vers=4.2", "hard"], "nconnect": 8}
NFS = {"storage_client_packages": [{"kind": "nfs", "name": "nfs-common", "version": "1:2.6.2-4"}]}


@pytest.mark.parametrize("name", CASES)
def test_contradictions_of_a_declaration(name: str) -> None:
    case = CASES[name]
    mounts = [GOOD | case.get("changes", {}), *([GOOD | case["add"]] if "add" in case else [])]
    declared = load_role(ROLE).defaults | NFS | {"storage_client_mounts": mounts} | case.get("vars", {})
    found = rules.contradictions(declared)
    assert sorted(where for where, _ in found) == sorted(case.get("at", [])), found
    assert rules.problem_lines(declared) == [f"{where}: {what}" for where, what in found]


KINDS: dict[str, tuple[dict[str, Any], str, list[str]]] = {
    "nfs": ({}, "nfs", ["vers=4.2", "hard", "_netdev", "nconnect=8"]),
    "nfs by RDMA": ({"rdma_port": 20049, "options": []}, "nfs", ["_netdev", "nconnect=8", "proto=rdma", "port=20049"]),
    "lustre": ({"kind": "lustre", "source": "m1@o2ib:m2@o2ib:/fs", "options": ["flock"], "nconnect": None}, "lustre", ["flock", "_netdev"]),
    "weka": (
        {"kind": "weka", "source": "be1,be2/fs", "options": ["net=ib0", "num_cores=4"]},
        "wekafs",
        ["net=ib0", "num_cores=4", "_netdev"],
    ),
    "gpfs": ({"kind": "gpfs", "source": "/dev/fs1", "options": ["rw"]}, "gpfs", ["rw", "_netdev"]),
    "beegfs": ({"kind": "beegfs", "source": "beegfs_nodev", "options": ["rw"]}, "beegfs", ["rw", "_netdev"]),
    "cephfs": ({"kind": "cephfs", "source": "u@id.fs=/p", "options": ["mon_addr=a/b"]}, "ceph", ["mon_addr=a/b", "_netdev"]),
    "juicefs": ({"kind": "juicefs", "source": "redis://meta:6379/1", "options": []}, "juicefs", ["_netdev"]),
    "generic": ({"kind": "generic", "source": "tmpfs", "fstype": "tmpfs", "options": ["size=1m"]}, "tmpfs", ["size=1m"]),
}


@pytest.mark.parametrize("kind", KINDS)
def test_the_unit_of_each_kind(kind: str) -> None:
    changes, fstype, options = KINDS[kind]
    plain = {} if kind.startswith("nfs") else {"nconnect": None}
    item = complete({**GOOD, **plain, **changes, "after": ["openibd.service"], "timeout_s": 45})
    environment = jinja2.Environment(trim_blocks=True, autoescape=False, undefined=jinja2.StrictUndefined)  # noqa: S701 no HTML
    text = environment.from_string((ROLE / "templates" / "mount.j2").read_text()).render(
        item=item, __storage_client_header="# header", __storage_client_service="s.service"
    )
    lines = text.splitlines()
    assert f"What={item['source']}" in lines
    assert f"Where={item['path']}" in lines
    assert f"Type={fstype}" in lines
    assert f"Options={','.join(options)}" in lines
    assert "TimeoutSec=45" in lines
    network = "network-online.target " if kind != "generic" else ""
    assert f"After={network}openibd.service" in lines
    assert f"Wants={network}openibd.service s.service" in lines


def test_settings_are_as_the_kernel_shows_them() -> None:
    declared = load_role(ROLE).defaults | {"storage_client_module_parameters": {"lnet": {"networks": "o2ib0(ib0) tcp", "x": True, "y": 0}}}
    assert units.settings(declared)["module_parameters"] == {"lnet": {"networks": "o2ib0(ib0) tcp", "x": "Y", "y": "0"}}
    assert [units.parameter(v) for v in ("a b", True, 0)] == ['"a b"', "Y", "0"]
