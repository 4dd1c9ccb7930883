"""From a small site to nodes."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from clusterctl.adapters.inventory.load import list_hosts, load_and_lint_nodes, load_profile
from clusterctl.core.digest import spec_digest
from clusterctl.model.errors import ConfigError, SpecInvalidError, UnknownTargetError
from support.site import CONTENT, Site

SECRET = "hunter2-of-the-bmc"


def test_values_have_the_types_and_defaults_of_the_argument_spec(tmp_path: Path) -> None:
    node = Site(tmp_path).nodes("r1-n01")[0]
    assert list(node.spec.roles) == ["pages", "fabric"]
    assert node.spec.roles["pages"] == {
        "pages_pages": {"1G": {"node0": 4, "node1": 8}, "2M": None},
        "pages_mount": "/dev/hugepages",
        "pages_enabled": True,
        "pages_sizes": [1024],
        "pages_owner": None,
    }
    assert node.spec.roles["fabric"] == {
        "fabric_version": "6.10",
        "fabric_rails": [{"name": "rail0", "mtu": 9000, "address": None}],
        "fabric_label": "6.10-x",
    }
    assert node.spec.gates == {"gates_levels": {"quick": ["rdma_pair"]}}
    assert node.groups == ("profile_x", "rack_1")
    assert node.profile == "profile_x"
    assert node.place.rack == "rack-1"
    assert node.place.slot == 1


def test_zero_false_and_empty_are_values(tmp_path: Path) -> None:
    files = {"site/group_vars/rack_2.yml": "pages_pages: {1G: {node0: 0}}\npages_owner: ''\n"}
    node = Site(tmp_path, files).nodes("rack-2")[0]
    assert node.profile == "profile_y"
    pages = node.spec.roles["pages"]
    assert (pages["pages_enabled"], pages["pages_sizes"], pages["pages_owner"]) == (False, [], "")
    assert pages["pages_pages"]["1G"] == {"node0": 0, "node1": 0}


def test_nodes_with_the_same_inputs_share_spec_and_digest(tmp_path: Path) -> None:
    files = {"site/host_vars/r1-n02.yml": "serial: X1\nwaivers: [{check: 'a.*', reason: r, owner: o, expires: 2030-01-01}]\n"}
    one, two, three, other = Site(tmp_path, files).nodes()
    assert one.spec.digest == two.spec.digest == three.spec.digest != other.spec.digest
    assert one.spec.roles["pages"] is three.spec.roles["pages"]
    assert two.spec.waivers == ({"check": "a.*", "reason": "r", "owner": "o", "expires": "2030-01-01"},)
    assert one.spec.waivers == ()
    assert one.spec.digest == spec_digest(one.spec.roles)


def test_nodes_with_equal_lists_share_them_and_none_gets_those_of_another(tmp_path: Path) -> None:
    waiver = "{check: 'a.*', reason: r, owner: o, expires: 2030-01-01}"
    files = {
        "site/group_vars/rack_1.yml": "observe: [{check: '{{ rack }}.*', reason: new}]\n",
        "site/host_vars/r1-n01.yml": f"waivers: [{waiver}]\n",
        "site/host_vars/r1-n02.yml": f"waivers: [{waiver}]\nobserve: [{{check: b, reason: own}}]\n",
    }
    one, two, three = Site(tmp_path, files).nodes("r1-n01,r1-n02,r1-n03")
    assert one.spec.observe is three.spec.observe
    assert one.spec.waivers is two.spec.waivers
    assert [n.spec.observe[0]["reason"] for n in (one, two, three)] == ["new", "own", "new"]
    assert [len(n.spec.waivers) for n in (one, two, three)] == [1, 1, 0]


def test_the_digest_does_not_depend_on_how_the_files_are_written(tmp_path: Path) -> None:
    before = Site(tmp_path / "a").nodes("r1-n01")[0].spec.digest
    files = {
        "common/group_vars/profile_x/pages.yml": "pages_pages: {1G: {node1: 8, node0: '4'}}\n",
        "common/group_vars/profile_x/fabric.yml": "fabric_rails:\n  - {mtu: 9000, name: rail0}\nfabric_version: '6.10'\n",
        "common/group_vars/profile_x/node.yml": "node_roles: [fabric, pages]\n",
    }
    assert Site(tmp_path / "b", files).nodes("r1-n01")[0].spec.digest == before


@pytest.mark.parametrize(
    "files",
    [
        {"site/group_vars/rack_1.yml": "pages_owner: '{{ inventory_hostname }}'\n"},
        {"site/group_vars/rack_1.yml": "pages_owner: '{{ who }}'\nwho: 'n{{ rack_slot }}'\n"},
        {"site/group_vars/rack_1.yml": "pages_owner: \"{{ hostvars[inventory_hostname]['ansible_host'] }}\"\n"},
        {"site/group_vars/rack_1.yml": "pages_owner: \"{{ lookup('vars', 'rack_' ~ 'slot') | string }}\"\n"},
        {
            "site/group_vars/rack_1.yml": "pages_owner: '{{ who }}'\n",
            **{f"site/host_vars/r1-n0{n}.yml": f"who: '{{{{ own }}}}'\nown: n{n}\n" for n in (1, 2, 3)},
        },
    ],
    ids=["magic", "transitive", "hostvars", "computed name", "host vars"],
)
def test_a_template_that_reads_the_host_makes_the_spec_the_hosts_own(files: dict[str, str], tmp_path: Path) -> None:
    nodes = Site(tmp_path, files).nodes("rack-1")
    assert len({n.spec.roles["pages"]["pages_owner"] for n in nodes}) == 3
    assert len({n.spec.digest for n in nodes}) == 3
    assert nodes[0].spec.roles["fabric"] is nodes[2].spec.roles["fabric"]


def test_a_template_that_reads_the_rack_is_rendered_per_rack(tmp_path: Path) -> None:
    nodes = Site(tmp_path, {"common/group_vars/all.yml": "pages_owner: '{{ rack }} {{ group_names | length }}'\n"}).nodes()
    assert [n.spec.roles["pages"]["pages_owner"] for n in nodes] == ["rack-1 2"] * 3 + ["rack-2 3"]


def test_equal_text_marked_unsafe_is_not_rendered(tmp_path: Path) -> None:
    files = {
        "site/host_vars/r1-n01.yml": "pages_owner: '{{ rack }}'\n",
        "site/host_vars/r1-n02.yml": "pages_owner: !unsafe '{{ rack }}'\n",
    }
    nodes = Site(tmp_path, files).nodes("rack-1")
    assert [n.spec.roles["pages"]["pages_owner"] for n in nodes] == ["rack-1", "{{ rack }}", None]


def test_how_to_reach_a_node(tmp_path: Path) -> None:
    files = {
        "site/group_vars/rack_1.yml": (
            "ansible_user: admin\nansible_become: 'yes'\nansible_ssh_private_key_file: ~/.ssh/id_site\n"
            "ansible_ssh_common_args: \"-o UserKnownHostsFile={{ inventory_dir }}/known_hosts -J 'bastion {{ rack_slot }}'\"\n"
            "bmc_url: 'https://bmc-{{ inventory_hostname }}.example.net'\nrail_leaves: {rail0: leaf-1, rail1: leaf-2}\n"
        ),
        "site/host_vars/r1-n02.yml": "ansible_port: '2222'\nansible_python_interpreter: /opt/python/bin/python3\nansible_connection: local\n",
    }
    one, two, _ = Site(tmp_path, files).nodes("rack-1")
    assert (one.connection.host, one.connection.port, one.connection.user, one.connection.become) == ("192.0.2.1", 22, "admin", True)
    assert one.connection.key_path == str(Path("~/.ssh/id_site").expanduser())
    assert one.connection.ssh_args == ("-o", f"UserKnownHostsFile={tmp_path}/site/known_hosts", "-J", "bastion 1")
    assert one.connection.python == "/usr/bin/python3"
    assert (two.connection.port, two.connection.python, two.connection.kind) == (2222, "/opt/python/bin/python3", "local")
    assert one.bmc_url == "https://bmc-r1-n01.example.net"
    assert (one.labels, one.rail_leaves) == ({}, {"rail0": "leaf-1", "rail1": "leaf-2"})


def test_the_same_address_behind_two_ports_is_two_nodes(tmp_path: Path) -> None:
    files = {f"site/host_vars/r1-n0{n}.yml": f"ansible_host: 192.0.2.9\nansible_port: {2200 + n}\n" for n in (1, 2, 3)}
    assert len(Site(tmp_path, files).nodes("rack-1")) == 3


def encrypt(text: str, password: Path) -> str:
    command = [str(Path(sys.executable).with_name("ansible-vault")), "encrypt_string", "--vault-id", str(password), text]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


def test_a_secret_that_no_spec_needs_needs_no_password(tmp_path: Path) -> None:
    password = tmp_path / "vault.txt"
    password.write_text("example")
    secret = encrypt(SECRET, password)
    rails = f"  - name: rail0\n    key: {secret}".replace("\n          ", "\n      ")
    files = {"site/group_vars/rack_1.yml": f"bmc_password: {secret}\npages_token: {secret}\nfabric_rails:\n{rails}"}
    node = Site(tmp_path, files).nodes("r1-n01")[0]
    assert "pages_token" not in node.spec.roles["pages"]
    assert "key" not in node.spec.roles["fabric"]["fabric_rails"][0]


def test_no_secret_enters_a_node(tmp_path: Path) -> None:
    password = tmp_path / "vault.txt"
    password.write_text("example")
    files = {
        "site/group_vars/rack_1.yml": (
            f"bmc_password: {encrypt(SECRET, password)}\nansible_user: {encrypt('admin', password)}\n"
            f"pages_token: {SECRET}\nfabric_rails: [{{name: rail0, key: {SECRET}}}]\n"
        ),
    }
    node = Site(tmp_path, files).nodes("r1-n01", vault_ids=[str(password)])[0]
    assert node.connection.user == "admin"
    assert SECRET not in repr(node)


def test_values_from_an_encrypted_file_are_secrets_even_with_the_password(tmp_path: Path) -> None:
    password = tmp_path / "vault.txt"
    password.write_text("example")
    site = Site(
        tmp_path,
        {
            "site/group_vars/rack_1/vault.yml": f"vault_owner: {SECRET}\n",
            "site/group_vars/rack_1/a.yml": "pages_owner: '{{ vault_owner }}'\n",
        },
    )
    file = tmp_path / "site/group_vars/rack_1/vault.yml"
    subprocess.run(
        [str(Path(sys.executable).with_name("ansible-vault")), "encrypt", "--vault-id", str(password), str(file)],
        check=True,
        capture_output=True,
    )
    with pytest.raises(SpecInvalidError, match="vault_owner, which it reads, is vault-encrypted") as caught:
        site.nodes("r1-n01", vault_ids=[str(password)])
    assert SECRET not in str(caught.value)


def test_extra_variables_win_over_hosts(tmp_path: Path) -> None:
    (tmp_path / "more.json").write_text('{"fabric_version": "7.0"}')
    site = Site(tmp_path, {"site/host_vars/r1-n01.yml": "pages_mount: /host\n"})
    node = site.nodes("r1-n01", extra_vars=["pages_mount=/cli", f"@{tmp_path}/more.json"])[0]
    assert node.spec.roles["pages"]["pages_mount"] == "/cli"
    assert node.spec.roles["fabric"]["fabric_label"] == "7.0-x"


@pytest.mark.parametrize(
    ("target", "limit", "names"),
    [
        ("rack-1:&profile-x:!r1-n03", None, ["r1-n01", "r1-n02"]),
        ("rack_1[1:2]", None, ["r1-n02", "r1-n03"]),
        ("rack-1[0],r2-n01", None, ["r1-n01", "r2-n01"]),
        ("~r.-n01", None, ["r1-n01", "r2-n01"]),
        ("all", "@{folder}/some.retry", ["r1-n03", "r2-n01"]),
        ("profile_x", "!rack-1", ["r2-n01"]),
        ("rack-1:!rack-3", None, ["r1-n01", "r1-n02", "r1-n03"]),
    ],
)
def test_patterns(target: str, limit: str | None, names: list[str], tmp_path: Path) -> None:
    (tmp_path / "some.retry").write_text("r1-n03\nrack-2\n")
    nodes = Site(tmp_path).nodes(target, limit=limit and limit.format(folder=tmp_path))
    assert [n.name for n in nodes] == names


def test_topology(tmp_path: Path) -> None:
    topology = list_hosts(Site(tmp_path).layers)
    assert topology.groups["rack_1"] == ("r1-n01", "r1-n02", "r1-n03")
    assert topology.groups["rack_3"] == ()
    assert topology.children["profile_x"] == ("profile_y", "rack_1")
    assert topology.profiles == ("profile_x", "profile_y")
    assert [h.place.rack for h in topology.hosts] == ["rack-1"] * 3 + ["rack-2"]


def test_an_inventory_without_hosts_can_be_listed(tmp_path: Path) -> None:
    topology = list_hosts(Site(tmp_path, layers=("common",)).layers)
    assert topology.hosts == ()
    assert topology.idle_profiles == ("profile_y",)


def test_a_profile_needs_no_node(tmp_path: Path) -> None:
    site = Site(tmp_path)
    spec = load_profile(site.layers, "profile_y", content=CONTENT)
    assert spec.digest == site.nodes("r2-n01")[0].spec.digest
    with pytest.raises(UnknownTargetError, match="did you mean 'profile_y'"):
        load_profile(site.layers, "profile_yy", content=CONTENT)


def test_what_is_observed_is_read_and_no_part_of_the_declared_state(tmp_path: Path) -> None:
    files = {
        "site/group_vars/rack_1.yml": "observe: [{check: 'pages.*', reason: new}, {gate: rdma_pair, rule: floor, reason: too flappy}]\n"
    }
    with_it, without = Site(tmp_path / "one", files).nodes()[0], Site(tmp_path / "two").nodes()[0]
    assert with_it.spec.observe == ({"check": "pages.*", "reason": "new"}, {"gate": "rdma_pair", "rule": "floor", "reason": "too flappy"})
    assert without.spec.observe == ()
    assert with_it.spec.digest == without.spec.digest


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("observe: all\n", "observe: 'all' is not a list"),
        ("observe: [{check: 'pages.*'}]\n", r"observe\[0\]: reason is missing"),
        ("observe: [{gate: a, reason: b}, {reason: b}]\n", r"observe\[1\]: name either check or gate"),
    ],
)
def test_what_observes_nothing_is_told_with_its_file(tmp_path: Path, text: str, problem: str) -> None:
    with pytest.raises(SpecInvalidError, match=problem):
        Site(tmp_path, {"site/group_vars/rack_1.yml": text}).nodes("r1-n01")


def test_a_list_of_hosts_is_a_layer(tmp_path: Path) -> None:
    site = Site(tmp_path)
    site.layers[1:] = [Path("r8-n01,r8-n02,")]
    with pytest.raises(SpecInvalidError, match="node_roles: is not set"):
        site.nodes("r8-n01")


def test_a_date_that_does_not_exist_is_told_with_its_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    site = Site(tmp_path, {"site/group_vars/rack_1.yml": "waivers: [{check: x, reason: y, owner: z, expires: 2026-13-45}]\n"})
    monkeypatch.chdir(tmp_path)
    with pytest.raises(ConfigError, match=r"^site/group_vars/rack_1\.yml: .*month must be in 1\.\.12"):
        site.nodes("r1-n01")


def test_names_that_only_look_misspelt_are_the_sites_own(tmp_path: Path) -> None:
    files = {
        "site/group_vars/rack_1.yml": "node_role: storage\nown_variables: [node_role]\nracks_of_row: 4\nrow1: x\nrack1: y\nrow: row-a\n",
        "site/group_vars/all.yml": "own_variables: [leafs]\nleafs: 3\nbmc_urls: {r1-n01: 'https://192.0.2.7'}\nsite_name: x\n",
        "site/host_vars/r1-n01.yml": "bmc_url: '{{ bmc_urls[inventory_hostname] }}'\n",
        "site/host_vars/r9-n99.yml": "rack_slot: 1\n",
    }
    assert Site(tmp_path, files).nodes("r1-n01")[0].bmc_url == "https://192.0.2.7"


@pytest.mark.parametrize(
    ("name", "meant"),
    [
        ("ansible_usr", "ansible_user"),
        ("ansible_hosts", "ansible_host"),
        ("ansible_becom", "ansible_become"),
        ("ansible_ssh_privat_key_file", "ansible_ssh_private_key_file"),
        ("ansible_sudo_flag", "ansible_sudo_flags"),
    ],
)
def test_a_misspelt_variable_of_ansible_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str, meant: str) -> None:
    site = Site(tmp_path, {"site/group_vars/rack_1.yml": f"ansible_ssh_timeout: 5\n{name}: x\n"})
    monkeypatch.chdir(tmp_path)
    _, problems = load_and_lint_nodes(site.layers, "rack-1", content=CONTENT)
    expected = f"site/group_vars/rack_1.yml:2: {name}: nothing reads it; did you mean {meant!r}? (if it is meant as it is, list it in own_variables)"
    assert [p.text() for p in problems] == [expected]


def test_variables_of_ansible_that_clusterctl_does_not_read_are_right(tmp_path: Path) -> None:
    names = (
        "ansible_ssh_retries",
        "ansible_become_exe",
        "ansible_ssh_pipelining",
        "ansible_control_path",
        "ansible_managed",
        "ansible_facts_parallel",
    )
    site = Site(tmp_path, {"site/group_vars/rack_1.yml": "".join(f"{name}: x\n" for name in names)})
    assert load_and_lint_nodes(site.layers, "rack-1", content=CONTENT)[1] == ()


def test_an_inventory_plug_in_is_not_taken_for_misspelt(tmp_path: Path) -> None:
    site = Site(tmp_path)
    script = site.layers[1] / "cmdb.py"
    answer = '{"rack_1": {"hosts": ["r1-n04"]}, "_meta": {"hostvars": {"r1-n04": {"racks": ["rack-1"], "node_role": "gpu"}}}}'
    script.write_text(f"#!{sys.executable}\nprint('{answer}')\n")
    script.chmod(0o755)
    assert [n.name for n in site.nodes("r1-n04")] == ["r1-n04"]


def test_a_check_finds_what_is_misspelt_beside_the_nodes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    files = {
        "site/host_vars/r1-n1.yml": "rack_slot: 7\n",
        "site/host_vars/r2-n01/place.yml": "rack_slot: 1\n",
        "site/group_vars/rack_1.yml": "page_mount: /x\n",
    }
    site = Site(tmp_path, files)
    monkeypatch.chdir(tmp_path)
    nodes, problems = load_and_lint_nodes(site.layers, "rack-1", content=CONTENT)
    assert len(nodes) == 3
    assert [p.text() for p in problems] == [
        "site/group_vars/rack_1.yml:1: page_mount: nothing reads it; did you mean 'pages_mount'? (if it is meant as it is, list it in own_variables)",
        "site/host_vars/r1-n1.yml: there is no host 'r1-n1', so nothing reads this; did you mean 'r1-n01'?",
    ]
    (tmp_path / "site" / "group_vars" / "rack_2.yml").write_text("pages_enabled: maybe\n")
    with pytest.raises(SpecInvalidError) as caught:
        load_and_lint_nodes(site.layers, "all", content=CONTENT)
    assert "page_mount" in str(caught.value)
    assert "'maybe' is not a bool" in str(caught.value)


def test_a_name_that_is_a_path_an_option_or_no_text_is_refused(tmp_path: Path) -> None:
    bad = ["../../x", "a\nb", "-oProxyCommand=touch x", "n1;reboot", "n1/2", ".hidden", "n" * 254, "nö1"]
    racks = {"rack_9": {"vars": {"rack": "rack-9"}, "hosts": {name: {} for name in (*bad, "r9-n02.example.net")}}}
    site = Site(tmp_path, {"site/hosts.yml": json.dumps({"profile_x": {"children": {"rack_9": {}}}, **racks}, ensure_ascii=False)})
    for load in (lambda: site.nodes("rack-9"), lambda: list_hosts(site.layers, "all")):
        with pytest.raises(SpecInvalidError) as caught:
            load()
        assert all(f"{name!r}: not the name of a node" in str(caught.value) for name in bad)
        assert "r9-n02" not in str(caught.value)
