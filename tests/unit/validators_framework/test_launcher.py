from __future__ import annotations

import hashlib
import os
import stat
from typing import TYPE_CHECKING

import pytest

from clusterctl_validators import launcher
from clusterctl_validators.launcher import EXIT_ABSENT, EXIT_DAMAGED, EXIT_NO_PLACE, EXIT_TOO_OLD, RefusedError

if TYPE_CHECKING:
    from pathlib import Path

CONTENT = b"a bundle"
SHA256 = hashlib.sha256(CONTENT).hexdigest()
SIZE = len(CONTENT)


@pytest.fixture
def place(tmp_path: Path) -> Path:
    return tmp_path / "kept"


def keep(*places: Path) -> Path:
    return launcher.keep(CONTENT, SHA256, [str(p) for p in places])


def find_code(*places: Path) -> int:
    with pytest.raises(RefusedError) as caught:
        launcher.find(SHA256, SIZE, [str(p) for p in places])
    return caught.value.code


def test_kept_and_found(place: Path) -> None:
    path = keep(place)
    assert launcher.find(SHA256, SIZE, [str(place)]) == path
    assert stat.S_IMODE(place.stat().st_mode) == 0o700
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert [p.name for p in place.iterdir()] == [f"bundle-{SHA256}.pyz"]


def test_absent(place: Path) -> None:
    assert find_code(place) == EXIT_ABSENT


def test_a_damaged_copy_is_not_run(place: Path) -> None:
    keep(place).write_bytes(b"A bundle")
    assert find_code(place) == EXIT_ABSENT


def test_a_file_writable_by_others_is_not_run(place: Path) -> None:
    path = keep(place)
    place.chmod(0o777)
    assert find_code(place) == EXIT_ABSENT
    place.chmod(0o700)
    path.chmod(0o664)
    assert find_code(place) == EXIT_ABSENT


def test_a_link_is_not_followed(place: Path, tmp_path: Path) -> None:
    path = keep(place)
    real = path.replace(tmp_path / "real")
    path.symlink_to(real)
    assert find_code(place) == EXIT_ABSENT
    (tmp_path / "link").symlink_to(place)
    assert find_code(tmp_path / "link") == EXIT_ABSENT


def test_a_folder_that_others_can_write_is_not_used(place: Path, tmp_path: Path) -> None:
    place.mkdir(mode=0o777)
    place.chmod(0o777)
    other = tmp_path / "other"
    assert keep(place, other).parent == other
    assert list(place.iterdir()) == []


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give a folder away")
def test_a_folder_of_another_user_is_not_trusted(place: Path) -> None:
    keep(place)
    os.chown(place, 12345, 12345)
    assert find_code(place) == EXIT_ABSENT


def test_a_damaged_transfer_is_not_kept(place: Path) -> None:
    with pytest.raises(RefusedError) as caught:
        launcher.keep(b"A bundle", SHA256, [str(place)])
    assert caught.value.code == EXIT_DAMAGED
    assert not place.exists()


def test_no_usable_folder(tmp_path: Path) -> None:
    with pytest.raises(RefusedError) as caught:
        keep(tmp_path / "no" / "such", tmp_path / "folder" / "here")
    assert caught.value.code == EXIT_NO_PLACE


def test_old_bundles_are_deleted(place: Path) -> None:
    for n in range(5):
        path = launcher.keep(b"%d" % n, hashlib.sha256(b"%d" % n).hexdigest(), [str(place)])
        os.utime(path, (n, n))
    newest = keep(place)
    left = {p.name for p in place.iterdir()}
    assert len(left) == launcher.KEPT
    assert newest.name in left


@pytest.mark.parametrize(("oldest", "refused"), [("3.8", False), ("3.99", True), ("4.0", True)])
def test_an_old_python_is_refused(oldest: str, refused: bool) -> None:
    if not refused:
        launcher.check_python(oldest)
        return
    with pytest.raises(RefusedError, match=f"is older than {oldest}") as caught:
        launcher.check_python(oldest)
    assert caught.value.code == EXIT_TOO_OLD
