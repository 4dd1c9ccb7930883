"""The folder of a run: in memory, and root's alone."""

from __future__ import annotations

import io
import subprocess
import sys
import zipfile
from typing import TYPE_CHECKING

import pytest

from clusterctl_on_node import run_folder
from clusterctl_on_node.content import unpacked
from clusterctl_on_node.run_folder import EXIT_NO_MEMORY_FOLDER, RefusedError, open_lock, root_folder, try_lock

if TYPE_CHECKING:
    from pathlib import Path


def mounts(place: Path, kind: str = "tmpfs") -> str:
    return f"proc /proc proc rw 0 0\n/dev/vda / ext4 rw 0 0\nx {place} {kind} rw 0 0\n"


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(run_folder, "MEMORY_FOLDERS", (str(tmp_path / "none"), str(tmp_path)))
    return tmp_path


def test_it_is_made_in_memory_for_this_user_alone(place: Path) -> None:
    folder = root_folder(mounts(place))
    assert folder.parent == place
    assert folder.stat().st_mode & 0o777 == 0o700
    assert root_folder(mounts(place)) == folder


@pytest.mark.parametrize("kind", ["ext4", "overlay", "nfs4"])
def test_a_disk_is_refused(place: Path, kind: str) -> None:
    with pytest.raises(RefusedError) as refused:
        root_folder(mounts(place, kind))
    assert refused.value.code == EXIT_NO_MEMORY_FOLDER


def test_the_last_mount_on_a_point_counts(place: Path) -> None:
    with pytest.raises(RefusedError):
        root_folder(mounts(place) + f"y {place} ext4 rw 0 0\n")


def test_a_link_or_an_open_folder_of_others_is_refused(place: Path) -> None:
    (place / "elsewhere").mkdir(mode=0o700)
    (place / "clusterctl-apply").symlink_to(place / "elsewhere")
    with pytest.raises(RefusedError):
        root_folder(mounts(place))
    (place / "clusterctl-apply").unlink()
    (place / "clusterctl-apply").mkdir(mode=0o755)
    with pytest.raises(RefusedError):
        root_folder(mounts(place))


def test_a_lock_is_never_opened_through_a_link(place: Path) -> None:
    (place / "target").write_text("kept")
    (place / "lock").symlink_to(place / "target")
    with pytest.raises(OSError, match="symbolic link"):
        open_lock(place / "lock")
    assert (place / "target").read_text() == "kept"


def test_a_lock_is_held_once(place: Path) -> None:
    with open_lock(place / "lock") as first, open_lock(place / "lock") as second:
        assert try_lock(first)
        assert not try_lock(second)


WHERE = "import sys\nimport yaml\ndef main():\n    print(yaml.__file__, hasattr(yaml, '__with_libyaml__'))\n"


@pytest.mark.parametrize(
    ("own", "taken"),
    [
        ("__version__ = '6.0.1'\n__with_libyaml__ = True\n", True),
        ("__version__ = '6.0.1'\n__with_libyaml__ = False\n", False),
        ("__version__ = '5.4'\n__with_libyaml__ = True\n", False),
        ("raise RuntimeError('broken')\n", False),
        ("from yaml import gone\n", False),
        ("", False),
        (None, False),
    ],
)
def test_the_yaml_of_the_node_is_used_where_it_is_as_good_and_faster(own: str | None, taken: bool, tmp_path: Path) -> None:
    path = tmp_path / "bundle-a.pyz"
    with zipfile.ZipFile(path, "w") as packed:
        packed.writestr("payload/lib/yaml/__init__.py", "")
        packed.writestr("payload/lib/ansible/__init__.py", "")
        packed.writestr("payload/lib/ansible/cli/__init__.py", "")
        packed.writestr("payload/lib/ansible/cli/playbook.py", WHERE)
    program = unpacked(path, "a") / "bin" / "ansible-playbook"
    packages = tmp_path / "packages"
    (packages / "yaml").mkdir(parents=True)
    if own is None:
        (packages / "yaml").rmdir()
    else:
        (packages / "yaml" / "__init__.py").write_text(own)
    start = f"import sys; sys.path.insert(0, {str(packages)!r}); exec(open({str(program)!r}).read())"
    done = subprocess.run([sys.executable, "-I", "-S", "-c", start], capture_output=True, text=True, check=True)
    where, fast = done.stdout.split()
    assert where.startswith(str(packages if taken else tmp_path / "content-a"))
    assert fast == str(taken)


def archive(folder: Path, sha256: str, text: str) -> Path:
    path = folder / f"bundle-{sha256}.pyz"
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as packed:
        packed.writestr("clusterctl_on_node/entry.py", "")
        packed.writestr("payload/lib/ansible/__init__.py", text)
    path.write_bytes(buffer.getvalue())
    return path


def test_content_is_unpacked_once_and_only_the_latest_are_kept(tmp_path: Path) -> None:
    for n in range(4):
        folder = unpacked(archive(tmp_path, f"{n}", f"v{n}"), f"{n}")
        assert (folder / "lib" / "ansible" / "__init__.py").read_text() == f"v{n}"
        assert (folder / "bin" / "ansible-playbook").stat().st_mode & 0o777 == 0o700
    assert len(list(tmp_path.glob("content-*"))) <= 3
    marker = folder / "lib" / "kept"
    marker.touch()
    assert unpacked(tmp_path / "bundle-3.pyz", "3") == folder
    assert marker.exists()


def test_an_unfinished_unpacking_is_repeated(tmp_path: Path) -> None:
    path = archive(tmp_path, "a", "whole")
    (tmp_path / "content-a" / "lib").mkdir(parents=True)
    folder = unpacked(path, "a")
    assert (folder / "lib" / "ansible" / "__init__.py").read_text() == "whole"
