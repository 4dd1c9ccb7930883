"""The collection `clusterctl.gpu`: built, installed into an empty folder, and run from there; nothing of the checkout but the inventory is in reach."""

from __future__ import annotations

import shutil
import subprocess
import sys
import tarfile
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from support.demo_rack import DemoRack
from support.roles import ROOT

if TYPE_CHECKING:
    from collections.abc import Iterator

LEVEL = {"CHANGELOG.md", "FILES.json", "LICENSE", "MANIFEST.json", "README.md", "meta", "playbooks", "plugins", "roles", "tools"}
BIN = Path(sys.executable).parent
RACK = 40
FILTERS = """
- hosts: localhost
  gather_facts: false
  tasks:
    - ansible.builtin.assert:
        that:
          - "{'hugepages_pages': [{'size': '1G', 'node': 0, 'count': -1}], 'hugepages_mounts': []} | clusterctl.gpu.hugepages_problems == ['hugepages_pages[0].count: -1 is below 0']"
          - "{'BIOS': '1.4'} | clusterctl.gpu.bios_firmware_problems([{'name': 'it', 'ids': ['BIOS'], 'version': '1.4'}]) == []"
          - "['a-b'] | map('clusterctl.gpu.kernel_module_name') | first == 'a_b'"
    - clusterctl.gpu.redfish_bios: {baseurl: "https://127.0.0.1:9", username: u, password: p, timeout: 1}
      register: answer
      failed_when: "'127.0.0.1:9' not in answer.msg"
"""


@pytest.fixture(scope="module")
def archive(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("built")
    argv = [str(BIN / "ansible-galaxy"), "collection", "build", "--output-path", str(folder), str(ROOT)]
    subprocess.run(argv, check=True, capture_output=True, text=True, timeout=300)
    return next(folder.glob("clusterctl-gpu-*.tar.gz"))


@pytest.fixture(scope="module")
def installed(archive: Path) -> Path:
    """A folder with `collections/` and nothing else, the home and the working directory of what runs."""
    folder = archive.parent / "home"
    folder.mkdir()
    argv = [str(BIN / "ansible-galaxy"), "collection", "install", "--offline", "--no-deps", "-p", str(folder / "collections"), str(archive)]
    subprocess.run(argv, check=True, capture_output=True, text=True, timeout=300, cwd=folder, env=environment(folder))
    return folder


def environment(home: Path) -> dict[str, str]:
    """No setting of Ansible but where collections are and fewer round trips; collections of the virtual environment are found anyway."""
    paths = {"PATH": f"{BIN}:/usr/local/bin:/usr/bin:/bin", "HOME": str(home), "ANSIBLE_COLLECTIONS_PATH": str(home / "collections")}
    speed = {"ANSIBLE_PIPELINING": "1", "ANSIBLE_CALLBACKS_ENABLED": "clusterctl.gpu.preload"}
    return paths | speed | {"ANSIBLE_NOCOLOR": "1", "LC_ALL": "C.UTF-8"}


def play(home: Path, *words: str, timeout_s: float = 300) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        ["ansible-playbook", *words],
        cwd=home,
        env=environment(home),
        check=False,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=timeout_s,
    )


def test_it_carries_what_it_needs_and_nothing_else(archive: Path) -> None:
    with tarfile.open(archive) as files:
        names = files.getnames()
    assert {n.split("/")[0] for n in names} == LEVEL
    assert [n for n in names if "__pycache__" in n or "/collections" in n] == []
    for kind, file in (("filter", "hugepages"), ("modules", "redfish_bios"), ("doc_fragments", "bmc"), ("module_utils", "bios_plan")):
        assert f"plugins/{kind}/{file}.py" in names
    assert {f"tools/clusterctl_tools/{p.name}" for p in (ROOT / "tools" / "clusterctl_tools").glob("*.py")} <= set(names)


@pytest.mark.parametrize("playbook", sorted(p.stem for p in (ROOT / "playbooks").glob("*.yml")))
def test_every_playbook_loads_with_its_roles(installed: Path, playbook: str) -> None:
    done = play(installed, "-i", "localhost,", "--syntax-check", f"clusterctl.gpu.{playbook}")
    assert done.returncode == 0, done.stderr


def test_filters_and_the_module_are_found(installed: Path) -> None:
    (installed / "play.yml").write_text(FILTERS)
    done = play(installed, "play.yml")
    assert done.returncode == 0, done.stdout + done.stderr
    assert "Skipping callback" not in done.stderr


def test_the_documentation_of_a_module_has_what_it_shares_with_others(installed: Path) -> None:
    argv = [str(BIN / "ansible-doc"), "-t", "module", "clusterctl.gpu.redfish_bios"]
    done = subprocess.run(argv, cwd=installed, env=environment(installed), check=True, capture_output=True, text=True, timeout=300)
    assert {"baseurl", "record_dir", "overrides"} <= set(done.stdout.split())


@pytest.fixture(scope="module")
def rack(tmp_path_factory: pytest.TempPathFactory) -> Iterator[DemoRack]:
    made = DemoRack(tmp_path_factory.mktemp("site"), RACK)
    made.write_site()
    try:
        made.lab_up("--nodes", "1")
        yield made
    finally:
        made.clusterctl("lab", "down", made.target)


@pytest.mark.containers
@pytest.mark.slow
@pytest.mark.skipif(not shutil.which("podman"), reason="no podman here")
def test_a_new_node_is_checked_from_the_installed_collection(installed: Path, rack: DemoRack) -> None:
    layers = (ROOT / "inventory" / "common", ROOT / "inventory" / "lab", rack.state_dir / "lab" / "hosts")
    words = [word for layer in layers for word in ("-i", str(layer))]
    done = play(installed, *words, "-l", rack.node(1), "--check", "clusterctl.gpu.provision", timeout_s=1800)
    assert done.returncode == 0, done.stdout[-4000:] + done.stderr
    assert "TASK [clusterctl.gpu.hugepages : " in done.stdout
    recap = done.stdout.partition("PLAY RECAP")[2]
    assert "unreachable=0    failed=0" in recap
