"""What a node gets to run Ansible by itself."""

from __future__ import annotations

from pathlib import Path, PurePosixPath

import pytest

from clusterctl.adapters.on_node import archive

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
    folder = "payload/content/playbooks/collections/ansible_collections/clusterctl/gpu/plugins/filter/"
    names = {name.removeprefix(folder) for name in MEMBERS if name.startswith(folder)}
    assert "ofed_names.py" in names
    assert [n for n in names if n.endswith(".yml")] == []
    assert [n for n in MEMBERS if "gpu/plugins/doc_fragments/" in n] == []


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
