"""What a node gets to run Ansible by itself."""

from __future__ import annotations

import copy
import json
import re
import subprocess
import sys
from pathlib import Path, PurePosixPath

import ansible
import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from clusterctl.adapters.on_node import archive
from clusterctl.adapters.on_node.fast_to_read import as_json, own_routes
from support.filters import filter_plugin
from support.plain_yaml import load_yaml
from support.roles import ROOT

MEMBERS = archive.members()


def test_every_file_in_a_folder_of_plug_ins_is_one() -> None:
    """Ansible loads each of them, and warns of one that is none."""
    folder = PurePosixPath("payload/content/connection")
    files = {PurePosixPath(name).name: content for name, content in MEMBERS.items() if PurePosixPath(name).parent == folder}
    assert list(files) == ["preloaded.py"]
    assert all(b"class Connection(" in content for content in files.values())


def test_the_program_that_forks_modules_is_where_the_plug_in_looks_for_it() -> None:
    assert b'parents[1] / "preloaded_python.py"' in MEMBERS["payload/content/connection/preloaded.py"]
    assert MEMBERS["payload/content/preloaded_python.py"] == MEMBERS["clusterctl_on_node/preloaded_python.py"]


def test_filters_and_modules_travel_without_their_documentation() -> None:
    """Nothing on a node reads it."""
    assert [n for n in MEMBERS if re.search(r"gpu/plugins/(filter|plugin_utils)/.*\.yml$", n)] == []
    assert [n for n in MEMBERS if "gpu/plugins/doc_fragments/" in n] == []


def test_all_filters_are_in_one_file_for_ansible_reads_each_of_them_for_each_filter_of_a_task(tmp_path: Path) -> None:
    gpu = "payload/content/playbooks/collections/ansible_collections/clusterctl/gpu/plugins/"
    assert {n for n in MEMBERS if n.startswith(f"{gpu}filter/")} == {f"{gpu}filter/all.py"}
    for name, data in MEMBERS.items():
        if name.startswith(gpu):
            path = tmp_path / name.removeprefix("payload/content/playbooks/collections/")
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(data)
    script = "from ansible_collections.clusterctl.gpu.plugins.filter.all import FilterModule; print(*sorted(FilterModule().filters()))"
    done = subprocess.run([sys.executable, "-c", script], env={"PYTHONPATH": str(tmp_path)}, capture_output=True, text=True, check=True)
    declared = {name for p in (ROOT / "plugins" / "filter").glob("*.py") for name in filter_plugin(p.stem).FilterModule().filters()}
    assert set(done.stdout.split()) == declared


def test_names_that_moved_to_a_collection_lead_there_where_the_node_has_it() -> None:
    whole = load_yaml((Path(ansible.__file__).parent / "config" / "ansible_builtin_runtime.yml").read_bytes())
    sent = load_yaml(MEMBERS["payload/lib/ansible/config/ansible_builtin_runtime.yml"])
    here = {"ansible.builtin", "clusterctl.gpu"} | {
        f"{p[0]}.{p[1]}"
        for name in MEMBERS
        if len(p := name.partition("payload/content/collections/ansible_collections/")[2].split("/")) > 1
    }
    assert {k: v for k, v in sent.items() if k != "plugin_routing"} == {k: v for k, v in whole.items() if k != "plugin_routing"}
    assert sent["plugin_routing"] == {
        kind: {
            name: entry
            for name, entry in names.items()
            if entry.keys() != {"redirect"} or ".".join(entry["redirect"].split(".")[:2]) in here
        }
        for kind, names in whole["plugin_routing"].items()
    }
    assert 0 < sum(map(len, sent["plugin_routing"].values())) < 1200


@given(
    st.dictionaries(
        st.sampled_from(["modules", "lookup", "become"]),
        st.dictionaries(
            st.from_regex(r"[a-z_]{1,6}", fullmatch=True),
            st.sampled_from(
                [
                    {"redirect": "a.b.c"},
                    {"redirect": "x.y.z.w"},
                    {"tombstone": {"removal_version": "2"}},
                    {"redirect": "x.y.z", "deprecation": 1},
                ]
            ).map(copy.deepcopy),  # YAML would write the second use of one object as an alias
            min_size=1,
        ),
        min_size=1,
    )
)
def test_routes_are_left_out_whole(kinds: dict[str, dict[str, dict[str, object]]]) -> None:
    text = yaml.safe_dump({"plugin_routing": kinds, "action_groups": {"k": [1]}}, sort_keys=False).encode()
    found = load_yaml(own_routes(text, {"a.b"}))
    left_out = ({"redirect": "x.y.z.w"},)
    assert found["plugin_routing"] == {k: {n: e for n, e in names.items() if e not in left_out} for k, names in kinds.items()}
    assert found["action_groups"] == {"k": [1]}


def test_argument_specs_are_json_with_the_same_content() -> None:
    files = {n: d for n, d in MEMBERS.items() if n.endswith("meta/argument_specs.yml")}
    assert len(files) > 10
    for name, data in files.items():
        assert json.loads(data) == load_yaml((Path(__file__).parents[3] / name.removeprefix("payload/content/")).read_bytes())


@pytest.mark.parametrize(
    "text",
    [
        b"a: !vault |\n  x\n",
        b"a: [\n",
        b"a: 1\n---\nb: 2\n",
        b"2026-01-01: 1\n",
        b"a: 2026-01-01\n",
        b"1: a\n",
        b"a: {yes: b}\n",
        b"a: .nan\n",
    ],
)
def test_what_json_cannot_say_stays_yaml(text: bytes) -> None:
    assert as_json(text) == text


@pytest.mark.parametrize("where", ["path", "home"])
def test_a_collection_of_the_site_is_found_where_ansible_finds_it(where: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = tmp_path / "collections" / "ansible_collections" / "example" / "site" / "plugins"
    for name in ("modules/wanted.py", "modules/other.py", "module_utils/shared.py"):
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text("")
    monkeypatch.setenv("ANSIBLE_HOME", str(tmp_path if where == "home" else tmp_path / "none"))
    monkeypatch.delenv("ANSIBLE_COLLECTIONS_PATH", raising=False)
    if where == "path":
        monkeypatch.setenv("ANSIBLE_COLLECTIONS_PATH", f"/nowhere:{tmp_path}/collections")
    found = archive.collection_files([b"- example.site.wanted:\n    a: 1\n", b"msg: no.such.collection"])
    assert {name for name, _ in found} == {
        "ansible_collections/example/site/plugins/modules/wanted.py",
        "ansible_collections/example/site/plugins/module_utils/shared.py",
    }
