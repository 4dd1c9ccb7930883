"""The script of the role storage_client: the differences that it reports and the values that it sets."""

from __future__ import annotations

import importlib.util
import os
from typing import TYPE_CHECKING, Any

import pytest

from clusterctl_tools.lctl import parse_values
from clusterctl_validators.mount_options import wrong_options
from clusterctl_validators.mount_source import same_source
from support.checks import write_files
from support.plain_yaml import load_yaml
from support.roles import ROOT

if TYPE_CHECKING:
    from pathlib import Path
    from types import ModuleType

SOURCES = load_yaml((ROOT / "tests/cases/storage_client/sources.yml").read_text())
LCTL = load_yaml((ROOT / "tests/cases/storage_client/lctl.yml").read_text())
SCRIPT = ROOT / "roles" / "storage_client" / "files" / "clusterctl_storage_client.py"


def load_script() -> ModuleType:
    found = importlib.util.spec_from_file_location("clusterctl_storage_client", SCRIPT)
    assert found is not None
    assert found.loader is not None
    module = importlib.util.module_from_spec(found)
    found.loader.exec_module(module)
    return module


script = load_script()
MOUNT: dict[str, Any] = {
    "kind": "nfs",
    "source": "nas:/a/",
    "path": "/mnt/a",
    "unit": "mnt-a.mount",
    "fstype": "nfs",
    "options": ["vers=4", "hard", "_netdev", "nconnect=4"],
    "timeout_s": 5,
    "required": True,
}
FUSE = MOUNT | {"kind": "generic", "source": "/srv/a", "fstype": "fuse.bindfs", "options": ["ro"]}


@pytest.mark.parametrize(
    ("mount", "line", "says"),
    [
        (MOUNT, "nas:/a /mnt/a nfs4 rw,vers=4.2,hard,proto=tcp,nconnect=4 0 0", ""),
        (MOUNT, "nas:/a /mnt/b nfs4 rw,vers=4.2,hard,nconnect=4 0 0", "is not mounted"),
        (MOUNT, "nas:/b /mnt/a nfs4 rw,vers=4.2,hard,nconnect=4 0 0", "is nas:/b"),
        (MOUNT, "nas:/a /mnt/a ext4 rw,vers=4.2,hard,nconnect=4 0 0", "is ext4"),
        (MOUNT, "nas:/a /mnt/a nfs4 rw,vers=4.2,hard 0 0", "nconnect=1"),
        (FUSE, "/srv/a /mnt/a fuse.bindfs ro,user_id=0 0 0", ""),
        (FUSE, "/srv/a /mnt/a fuse ro,user_id=0 0 0", ""),
        (FUSE, "/srv/a /mnt/a fuse.sshfs ro,user_id=0 0 0", "is fuse.sshfs"),
        (FUSE, "/srv/a /mnt/a fuse.bindfs rw,user_id=0 0 0", "runs with ro"),
        (MOUNT | {"kind": "gpfs", "source": "/dev/fs1", "fstype": "gpfs", "options": []}, "fs1 /mnt/a gpfs rw 0 0", ""),
        (
            MOUNT | {"kind": "juicefs", "source": "redis://m/1", "fstype": "juicefs", "options": []},
            "JuiceFS:x /mnt/a fuse.juicefs rw 0 0",
            "",
        ),
    ],
)
def test_a_mount_is_compared_with_its_declaration(mount: dict[str, Any], line: str, says: str) -> None:
    said = script.mount_problem(mount, [line.split()])
    assert (says in said) if says else said == ""


CEPH = MOUNT | {"kind": "cephfs", "source": "none", "fstype": "fuse.ceph", "options": []}


@pytest.mark.parametrize(("line", "says"), [("fuse.ceph-fuse", ""), ("fuse.sshfs", "is fuse.sshfs"), ("ceph", "is ceph")])
def test_ceph_by_fuse_shows_its_own_name(line: str, says: str) -> None:
    """`none /mnt/ceph fuse.ceph` of docs.ceph.com, Mount CephFS in your File Systems Table; csi of ceph, cephFuseFsType."""
    said = script.mount_problem(CEPH, [f"ceph-fuse /mnt/a {line} rw,allow_other 0 0".split()])
    assert (says in said) if says else said == ""


@pytest.mark.parametrize("name", SOURCES)
def test_script_and_validator_compare_sources_alike(name: str) -> None:
    case = SOURCES[name]
    mount = MOUNT | {"kind": case["kind"], "source": case["declared"], "fstype": "x", "options": []}
    assert (script.mount_problem(mount, [[case["shown"], "/mnt/a", "x", "rw"]]) == "") is case["same"]
    assert same_source(case["kind"], case["declared"], case["shown"]) is case["same"]


OPTIONS = [
    ["vers=4.2", "hard"],
    ["nfsvers=3", "tcp", "nconnect=2"],
    ["proto=rdma", "port=20049"],
    ["ro", "nosuid", "sec=krb5"],
    ["flock"],
    ["rw", "exec", "dev", "suid", "atime"],
    ["defaults", "_netdev", "x=1", "rsize=4096"],
]
EFFECTIVE = [
    "rw,vers=4.2,hard,proto=tcp,nconnect=2,sec=sys",
    "ro,nosuid,nodev,noexec,noatime,vers=3,soft,proto=tcp6,sec=krb5",
    "rw,vers=4.1,proto=rdma,hard",
    "rw",
]


@pytest.mark.parametrize("effective", EFFECTIVE)
@pytest.mark.parametrize("declared", OPTIONS, ids="-".join)
@pytest.mark.parametrize("kind", ["nfs", "lustre", "generic"])
def test_script_and_validator_find_the_same_wrong_options(kind: str, declared: list[str], effective: str) -> None:
    mine = script.wrong_options(kind, declared, effective.split(","))
    theirs = wrong_options(kind, declared, effective.split(","))
    assert len(mine) == len(theirs), (mine, theirs)


@pytest.mark.parametrize(
    ("declared", "effective", "wrong"),
    [
        # nvidia's DGX Cloud document of EXAScaler; rmarable/flask-dynamic-inventory's mount of FSx, whose flock is not set.
        ("flock", "rw,flock,lazystatfs", []),
        ("flock", "rw,lazystatfs", ["no flock"]),
        ("flock", "rw,localflock,lazystatfs", ["no flock"]),
        ("noflock", "rw,flock,lazystatfs", ["flock"]),
        ("noflock", "rw,lazystatfs", []),
    ],
)
def test_locks_of_lustre_are_compared(declared: str, effective: str, wrong: list[str]) -> None:
    for compare in (script.wrong_options, wrong_options):
        assert compare("lustre", [declared], effective.split(",")) == wrong


@pytest.mark.parametrize(("effective", "wrong"), [("sec=krb5p", []), ("sec=krb5", []), ("sec=sys", ["sec=sys"]), ("", ["sec=none"])])
def test_one_of_several_kinds_of_security_is_enough(effective: str, wrong: list[str]) -> None:
    """`sec=krb5:krb5i:krb5p` is what RHEL's STIG demands of every NFS mount (mitre/redhat-enterprise-linux-9-stig-baseline); the kernel shows the one in use."""
    for compare in (script.wrong_options, wrong_options):
        assert compare("nfs", ["sec=krb5:krb5i:krb5p"], ["rw", effective]) == wrong


@pytest.mark.parametrize("name", LCTL)
def test_script_and_validator_read_the_same_values_of_lctl(name: str) -> None:
    case = LCTL[name]
    assert sorted(parse_values(case["name"], case["text"])) == case["values"]
    assert sorted(script.lctl_values(case["name"], case["text"])) == case["values"]


def test_a_hanging_or_lost_mount_is_reported_in_time(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    here = MOUNT | {"path": "/proc", "unit": "proc.mount"}
    lost = MOUNT | {"path": str(tmp_path), "unit": "lost.mount"}
    assert dict(script.touch([here, lost])) == {"lost.mount": f"{tmp_path}: is not a mount"}
    monkeypatch.setattr(script, "TOUCH", "import time; time.sleep(60)")
    monkeypatch.setattr(script, "TOUCH_S", 1)
    assert dict(script.touch([here, lost])) == {
        "proc.mount": "/proc does not respond within 1 s",
        "lost.mount": f"{tmp_path} does not respond within 1 s",
    }


@pytest.fixture
def node(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(script, "SYS_MODULE", str(tmp_path / "module"))
    monkeypatch.setattr(script, "PROC_SYS", f"{tmp_path}/sys/")
    return write_files(
        tmp_path, {"/sys/sunrpc/slots": "2\n", "/module/lnet/parameters/check": "N\n", "/module/lnet/parameters/networks": "tcp\n"}
    )


def declared(tunables: list[dict[str, str]] | None = None, **parameters: str) -> dict[str, Any]:
    return {"tunables": tunables or [], "module_parameters": {"lnet": parameters, "not-loaded": {"x": "1"}}, "mounts": []}


def test_settings_are_reported_and_set_once(node: Path) -> None:
    settings = declared([{"kind": "sysctl", "name": "sunrpc.slots", "value": "128"}], check="Y")
    lines = ["lnet.check: Y", "sunrpc.slots: 2 -> 128"]
    assert list(script.settings(settings, write=False)) == lines
    assert list(script.settings(settings, write=True)) == lines
    assert (node / "sys/sunrpc/slots").read_text() == "128"
    assert list(script.settings(settings, write=True)) == []


def test_a_parameter_for_the_next_load(node: Path) -> None:
    os.chmod(node / "module/lnet/parameters/networks", 0o444)  # noqa: PTH101 as the kernel shows it
    assert list(script.settings(declared(networks="o2ib"), write=True)) == [
        "lnet.networks: is not o2ib; set at the next load of the module"
    ]


@pytest.mark.usefixtures("node")
def test_absent_settings_are_reported(monkeypatch: pytest.MonkeyPatch) -> None:
    for kind, name in (("sysctl", "sunrpc.absent"), ("read_ahead_kib", "/nonexistent"), ("lctl", "osc.*.checksums")):
        with pytest.raises(script.UnansweredError):
            list(script.settings(declared([{"kind": kind, "name": name, "value": "1"}]), write=True))
    monkeypatch.setattr(script, "run", lambda *argv: "0\n1\n" if argv[1] == "get_param" else "")
    with pytest.raises(script.UnansweredError, match="set to 0, but is 0, 1"):
        list(script.settings(declared([{"kind": "lctl", "name": "osc.*.checksums", "value": "0"}]), write=True))
