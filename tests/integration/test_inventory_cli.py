"""The commands that read an inventory, and a comparison with the values that Ansible resolves."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from datetime import UTC, datetime, timedelta
from pathlib import Path
from textwrap import dedent
from typing import Any

import pytest
from jsonschema import Draft202012Validator

from clusterctl.adapters.ansible.content import content_dir
from clusterctl.adapters.inventory.load import load_nodes
from support.roles import ROOT
from support.site import CONTENT, Site
from support.stores import a_finding, a_run, findings, fresh

BIN = Path(sys.executable).parent
EXAMPLE = ["-i", "inventory/common", "-i", "inventory/example"]


def clusterctl(*args: str, cwd: Path = ROOT, env: dict[str, str] | None = None) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "clusterctl", *args]
    return subprocess.run(command, cwd=cwd, env=os.environ | (env or {}), capture_output=True, text=True, check=False, timeout=120)


def test_inventory_shows_racks_and_nodes() -> None:
    done = clusterctl("inventory", "rack-13", *EXAMPLE, "-o", "json")
    assert done.returncode == 0, done.stderr
    document = json.loads(done.stdout)
    assert (document["schema_version"], document["kind"], len(document["nodes"])) == (1, "inventory", 8)
    assert document["nodes"][6]["name"] == "r13-n07"
    assert document["nodes"][6]["profile"] == "profile_hgx_h100_ib"
    assert document["nodes"][6]["place"] == {
        "rack": "rack-13",
        "row": "row-b",
        "su": "su-2",
        "leaf": "su-2",
        "spine": "",
        "nvlink_domain": "",
        "slot": 7,
        "site": "",
    }
    Draft202012Validator(json.loads((ROOT / "docs/reference/schemas/inventory.schema.json").read_text())).validate(document)
    assert document["nodes"][6]["rail_leaves"]["rail7"] == "leaf-su2-r7"
    assert document["nodes"][6]["address"]
    assert document["nodes"][6]["bmc_url"].startswith("https://")
    assert set(document["groups"]) == {
        "gpu_nodes",
        "platform_hgx",
        "profile_hgx_h100",
        "fabrics",
        "fabric_ib",
        "fabric_ib_ndr_x8",
        "profile_hgx_h100_ib",
        "rack_13",
    }
    table = clusterctl("inventory", "r13-n07", *EXAMPLE).stdout.splitlines()
    assert [line.split()[:4] for line in table] == [["RACK", "SLOT", "NODE", "PROFILE"], ["rack-13", "7", "r13-n07", "profile_hgx_h100_ib"]]


def test_the_example_site_is_valid_and_its_secret_is_not_shown() -> None:
    done = clusterctl("profile", "check", *EXAMPLE, "-o", "json")
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["problems"] == []
    shown = clusterctl("profile", "show", "all", *EXAMPLE, "-o", "json")
    document = json.loads(shown.stdout)
    assert [len(s["nodes"]) for s in document["specs"]] == [8, 8, 18]
    assert "bmc_password" not in shown.stdout
    assert "ANSIBLE_VAULT" not in shown.stdout


def test_profile_show_refuses_gates_that_cannot_be_read() -> None:
    done = clusterctl("profile", "show", "all", *EXAMPLE, "-e", '{"gates_levels": 3}')
    assert done.returncode == 3, done.stderr
    assert "gates_levels" in done.stderr


def test_profile_show_shows_one_role() -> None:
    done = clusterctl("profile", "show", "profile-hgx-h100-ib", *EXAMPLE, "--role", "nccl")
    assert done.returncode == 0, done.stderr
    assert "nccl:" in done.stdout
    assert "kernel:" not in done.stdout
    wrong = clusterctl("profile", "show", "profile-hgx-h100-ib", *EXAMPLE, "--role", "ncll")
    assert wrong.returncode == 2
    assert "did you mean 'nccl'?" in wrong.stderr


def test_profile_list_counts_nodes() -> None:
    done = clusterctl("profile", "list", *EXAMPLE, "-o", "json")
    counts = {p["name"]: p["nodes"] for p in json.loads(done.stdout)["profiles"]}
    assert {name: n for name, n in counts.items() if n} == {
        "profile_hgx_h100": 16,
        "profile_hgx_h100_ib": 8,
        "profile_hgx_h100_roce": 8,
        "profile_gb300": 18,
        "profile_gb300_nvl72": 18,
    }


@pytest.mark.parametrize("verb", [["inventory", "rack-14"], ["profile", "show", "rack-14"], ["profile", "check", "rack-14"]])
def test_an_unknown_target_is_reported_in_two_lines(verb: list[str]) -> None:
    done = clusterctl(*verb, *EXAMPLE)
    assert done.returncode == 3
    assert done.stdout == ""
    error, hint = done.stderr.splitlines()
    assert error.startswith("error: no node matches 'rack-14'; did you mean 'rack_1")
    assert hint.startswith("hint: `clusterctl inventory` lists groups and nodes")


def test_problems_are_reported_as_document_and_text(tmp_path: Path) -> None:
    (tmp_path / "site").mkdir()
    (tmp_path / "site" / "hosts.yml").write_text("profile_hgx_h100_ib:\n  hosts:\n    n1:\n      nvidia_driver_verzion: '1'\n")
    done = clusterctl("profile", "check", "-i", "@common", "-i", str(tmp_path / "site"), "-o", "json")
    assert done.returncode == 3
    (problem,) = json.loads(done.stdout)["problems"]
    assert (problem["file"], problem["line"], problem["path"]) == (str(tmp_path / "site" / "hosts.yml"), 4, "nvidia_driver_verzion")
    assert "did you mean 'nvidia_driver_version'?" in done.stderr


def test_profile_check_reports_invalid_gate_settings(tmp_path: Path) -> None:
    (tmp_path / "site" / "group_vars").mkdir(parents=True)
    (tmp_path / "site" / "hosts.yml").write_text("profile_hgx_h100_ib:\n  children:\n    rack_7:\n      hosts: {n1: {}, n2: {}}\n")
    (tmp_path / "site" / "group_vars" / "rack_7.yml").write_text("gates_settings_site: {rdma_pair: {duration_s: soon}}\n")
    done = clusterctl("profile", "check", "-i", "@common", "-i", str(tmp_path / "site"), "-o", "json")
    assert done.returncode == 3
    problems = json.loads(done.stdout)["problems"]
    assert {p["path"] for p in problems} == {"gates_settings.rdma_pair.duration_s"}
    assert all("'soon'" in p["message"] and p["nodes"] == ["n1", "n2"] for p in problems)
    file = str(tmp_path / "site" / "group_vars" / "rack_7.yml")
    assert all((p["file"], p["line"]) == (file, 1) for p in problems)


SOON = datetime.now(UTC).date() + timedelta(days=90)
SLIPS = {
    "hosts.yml": """
        profile_hgx_h100_ib:
          children:
            rack_7:
              hosts: {n1: {}, n2: {}}
        """,
    "group_vars/rack_7.yml": f"""
        gates_levls: {{}}
        waivers:
          - {{check: "hardware.nvme*", reason: disk on order, owner: storage, expires: "2020-01-31"}}
          - {{check: "kernl.*", reason: r, owner: o, expires: "{SOON}"}}
        """,
    "host_vars/n3.yml": "rack_slot: 3\n",
}


def test_slips_are_named_with_file_and_line(tmp_path: Path) -> None:
    site = write(tmp_path / "site", SLIPS)
    done = clusterctl("profile", "check", "-i", "@common", "-i", str(site))
    assert done.returncode == 3
    assert f"{site}/host_vars/n3.yml: there is no host 'n3', so nothing reads this" in done.stderr
    assert f"{site}/group_vars/rack_7.yml:2: gates_levls: nothing reads it; did you mean 'gates_levels'?" in done.stderr
    (site / "host_vars" / "n3.yml").unlink()
    done = clusterctl("profile", "check", "-i", "@common", "-i", str(site), "-o", "json")
    assert done.returncode == 3
    found = {(p["line"], p["path"]): p for p in json.loads(done.stdout)["problems"]}
    assert {p["file"] for p in found.values()} == {f"{site}/group_vars/rack_7.yml"}
    assert sorted(found) == [(2, "gates_levls"), (4, "waivers[0]"), (5, "waivers[1]")]
    assert "'hardware.nvme*' of storage expired on 2020-01-31" in found[4, "waivers[0]"]["message"]
    assert "did you mean 'kernel'?" in found[5, "waivers[1]"]["message"]
    assert found[5, "waivers[1]"]["nodes"] == ["n1", "n2"]


def test_waivers_are_compared_with_the_checks_of_the_last_validation(tmp_path: Path) -> None:
    site = write(tmp_path / "site", {"hosts.yml": SLIPS["hosts.yml"]})
    waivers = f"waivers: [{{check: kernel.%s, reason: r, owner: o, expires: '{SOON}'}}]\n"
    write(site, {"host_vars/n1.yml": waivers % "cmdlin.*", "host_vars/n2.yml": waivers % "cmdline.*"})
    layers = ("-i", "@common", "-i", str(site))
    state = {"CLUSTERCTL_STATE_DIR": str(tmp_path / "state")}
    assert clusterctl("profile", "check", *layers, env=state).returncode == 0
    assert not (tmp_path / "state").exists()
    with fresh(tmp_path / "state") as store:
        nodes = load_nodes([content_dir() / "inventory" / "common", site], "all")
        store.register(nodes)
        store.start_run(a_run(), [n.name for n in nodes])
        store.save_findings(a_run().id, *(findings(a_finding(check="kernel.cmdline.running"), node=n.name) for n in nodes))
    done = clusterctl("profile", "check", *layers, "-o", "json", env=state)
    assert done.returncode == 3, done.stderr
    (problem,) = json.loads(done.stdout)["problems"]
    assert (problem["file"], problem["line"], problem["nodes"]) == (f"{site}/host_vars/n1.yml", 1, ["n1"])
    assert "matches none of the 1 checks of its last validation" in problem["message"]


def write(folder: Path, files: dict[str, str]) -> Path:
    for name, text in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(dedent(text))
    return folder


def ansible_values(site: Site, names: list[str], folder: Path) -> dict[str, dict[str, Any]]:
    tasks = "".join(f"        {n}: \"{{{{ {n} | default('unset') }}}}\"\n" for n in names)
    play = (
        "- hosts: all\n  gather_facts: false\n  tasks:\n    - ansible.builtin.copy:\n"
        f"        content: \"{{{{ found | to_json }}}}\"\n        dest: '{folder}/{{{{ inventory_hostname }}}}.json'\n"
        "        mode: '0600'\n      delegate_to: localhost\n      connection: local\n      vars:\n       found:\n" + tasks
    )
    (folder / "play.yml").write_text(play)
    layers = [part for layer in site.layers for part in ("-i", str(layer))]
    subprocess.run([str(BIN / "ansible-playbook"), *layers, str(folder / "play.yml")], check=True, capture_output=True, timeout=120)
    return {f.stem: json.loads(f.read_text()) for f in folder.glob("*.json")}


def test_ansible_resolves_the_same_values(tmp_path: Path) -> None:
    files = {
        "site/group_vars/rack_1.yml": "pages_owner: '{{ who }}'\nwho: '{{ inventory_hostname }}'\npages_enabled: false\n",
        "site/group_vars/rack_2/b.yml": "pages_mount: /b\n",
        "site/group_vars/rack_2/a.yml": "pages_mount: /a\npages_owner: \"{{ groups['rack_1'] | length }}\"\n",
        "site/host_vars/r1-n02.yml": "who: me\nfabric_version: '7'\n",
        "site/group_vars/all.yml": "pages_owner: nobody\npages_sizes: [2]\n",
    }
    site = Site(tmp_path / "site", files)
    names = ["pages_owner", "pages_enabled", "pages_sizes", "pages_mount", "fabric_version"]
    (tmp_path / "out").mkdir()
    theirs = ansible_values(site, names, tmp_path / "out")
    for node in load_nodes(site.layers, "all", content=CONTENT):
        ours = {**node.spec.roles["pages"], **node.spec.roles["fabric"]}
        for name in names:
            value = theirs[node.name][name]
            assert value in ("unset", ours[name]) or str(value) == str(ours[name]), (node.name, name)
        assert theirs[node.name]["pages_owner"] != "unset"
