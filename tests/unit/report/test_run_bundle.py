"""The archive of a run: page and evidence, whose links hold in it, and no secret of the run."""

from __future__ import annotations

import json
import re
import stat
import tarfile
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from clusterctl import main
from clusterctl.adapters.run_bundle import bundle_files
from clusterctl.adapters.run_directory import RunDir
from clusterctl.model.errors import RunDirectoryGoneError
from clusterctl.model.records import RunStatus
from support.rack_after_run import NAMES, provisioned_rack
from support.secret_search import Secrets
from support.stores import a_run, fresh

if TYPE_CHECKING:
    from clusterctl.model.records import RunRow

TOKEN = "5ec7e7" * 8
OWN_SECRET = "correct horse/battery"
SECRETS = Secrets({"token": TOKEN, "password": OWN_SECRET})


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> RunRow:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "clusterctl.yml").write_text("state_dir: state\n")
    store, row = provisioned_rack(tmp_path / "state")
    store.close()
    rundir = RunDir.open(Path(row.directory))
    for name in NAMES:
        rundir.write_json(f"burnin/nodes/plans/{name}.json", {"node": name, "token": TOKEN})
        rundir.write_json(f"verdicts/{name}.json", {"node": name})
    rundir.write_json("burnin/nodes/variables.json", {"burnin_plan_dir": str(rundir.path)})
    rundir.write_text("burnin/nodes/records/r12-n01.jsonl", TOKEN)
    rundir.write_json("request.json", {"options": {"extra_vars": [f"password={OWN_SECRET}"]}})
    rundir.write_text("notes.txt", OWN_SECRET)
    rundir.write_json(
        "phases/001-begin.json", {"schema_version": 1, "phase": "verify", "began_at": "2026-01-01T00:00:00Z", "nodes": list(NAMES)}
    )
    rundir.write_text("ansible/01-provision/events.jsonl", '{"event": "ok"}\n')
    rundir.write_text("ansible/01-provision/ansible-r12-n01.log", "ok\n")
    rundir.write_text("ansible/01-provision/command.txt", f"ansible-playbook -e {OWN_SECRET}\n")
    return row


def packed(path: Path) -> dict[str, bytes]:
    """Relative name -> content; the folder is the same for all."""
    with tarfile.open(path) as archive:
        found = {m.name: m for m in archive.getmembers()}
        assert list(found) == sorted(found)
        assert all(m.isfile() and (m.uid, m.gid, m.uname, m.gname, m.mode) == (0, 0, "", "", 0o644) for m in found.values())
        contents = {name: archive.extractfile(m) for name, m in found.items()}
        return {name.partition("/")[2]: c.read() for name, c in contents.items() if c}


def test_it_has_page_verdicts_records_findings_and_events(run: RunRow, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main.call(["report", "--bundle", "run.tar.gz"]) == 0
    captured = capsys.readouterr()
    assert (captured.out, captured.err) == (f"{tmp_path / 'run.tar.gz'}\n", "")
    found = packed(tmp_path / "run.tar.gz")
    assert set(found) == {
        "report.html",
        "findings.json",
        "provision.log",
        "phases/001-begin.json",
        "ansible/01-provision/events.jsonl",
        "ansible/01-provision/ansible-r12-n01.log",
        *(f"{folder}/{n}.json" for n in NAMES for folder in ("verdicts", "gates/rdma_pair")),
    }
    assert [n["name"] for n in json.loads(found["findings.json"])["nodes"]] == list(NAMES)
    for name in set(found) - {"report.html", "findings.json"}:
        assert found[name] == (Path(run.directory) / name).read_bytes()


@pytest.mark.parametrize("words", [(), ("--bundle", "run.tar.gz")], ids=["page", "archive"])
def test_page_and_archive_have_what_failed_over_time(run: RunRow, tmp_path: Path, words: tuple[str, ...]) -> None:
    assert main.call(["report", *words]) == 0
    html = packed(tmp_path / "run.tar.gz")["report.html"] if words else (Path(run.directory) / "report.html").read_bytes()
    assert b"Measurements to look at, over time" in html
    assert b"floor 180 Gb/s" in html
    assert b"196.4 (196.4 to 196.4), 6 nodes" in html


def test_no_secret_of_the_run_is_in_it(run: RunRow, tmp_path: Path) -> None:
    assert SECRETS.in_files([Path(run.directory)]), "they are in the run directory"
    assert main.call(["report", "--bundle", "run.tar.gz"]) == 0
    assert [leak for name, content in packed(tmp_path / "run.tar.gz").items() for leak in SECRETS.leaks(name, content)] == []


@pytest.mark.parametrize("plan", [json.dumps({"token": TOKEN}, indent=2), f'{{"token": "{TOKEN}", "node'], ids=["whole", "cut off"])
def test_evidence_that_repeats_the_secret_of_a_plan_is_left_out_and_named(
    run: RunRow, tmp_path: Path, capsys: pytest.CaptureFixture[str], plan: str
) -> None:
    rundir = RunDir.open(Path(run.directory))
    for name in NAMES:
        rundir.write_text(f"burnin/nodes/plans/{name}.json", plan)
    rundir.write_text("burnin/nodes/ansible/events.jsonl", f'{{"stdout": "{TOKEN}"}}\n')
    assert main.call(["report", "--bundle", "run.tar.gz"]) == 0
    assert capsys.readouterr().err == "left out: burnin/nodes/ansible/events.jsonl holds the secret of a plan\n"
    found = packed(tmp_path / "run.tar.gz")
    assert "burnin/nodes/ansible/events.jsonl" not in found
    assert [leak for name, content in found.items() for leak in SECRETS.leaks(name, content)] == []


def test_links_of_the_page_lead_to_what_is_in_it(run: RunRow, tmp_path: Path) -> None:
    assert main.call(["report", "--bundle", "run.tar.gz"]) == 0
    found = packed(tmp_path / "run.tar.gz")
    page = found["report.html"].decode()
    data = json.loads(page.split('id="page:data">')[1].split("</script>", maxsplit=1)[0])
    links = {data["texts"][base] + data["texts"][name] for node in data["nodes"] for base, name in node["links"]}
    links |= set(re.findall(r'href="([^"#][^"]*)"', page))
    assert "gates/rdma_pair/r12-n04.json" in links
    assert links <= set(found)


def test_the_same_run_gives_the_same_archive_but_for_the_page(run: RunRow, tmp_path: Path) -> None:
    assert main.call(["report", "--bundle", "one.tar.gz"]) == 0
    (Path(run.directory) / "verdicts" / "r12-n01.json").touch()
    assert main.call(["report", run.id, "--bundle", "two.tar.gz"]) == 0
    one, two = (packed(tmp_path / f"{n}.tar.gz") for n in ("one", "two"))
    assert list(one) == list(two)
    assert {n for n in one if one[n] != two[n]} <= {"report.html"}
    with tarfile.open(tmp_path / "two.tar.gz") as archive:
        assert len({m.mtime for m in archive.getmembers()}) == 1


def test_it_is_private_and_takes_the_place_of_an_older_one(run: RunRow, tmp_path: Path) -> None:
    path = tmp_path / "run.tar.gz"
    path.write_text("older")
    assert main.call(["report", "--bundle", str(path)]) == 0
    assert "report.html" in packed(path)
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert not list(tmp_path.glob(".run.tar.gz.*"))


@pytest.mark.parametrize(
    "name", ["verdicts/../../secret.json", "gates/x.txt", "burnin/nodes/plans/events.jsonl", "x/findings.json", ".gates/x.json"]
)
def test_what_is_no_evidence_is_not_packed(tmp_path: Path, name: str) -> None:
    file = tmp_path / "run" / name
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text("{}")
    (tmp_path / "run" / "verdicts").mkdir(exist_ok=True)
    (tmp_path / "run" / "verdicts" / "link.json").symlink_to(file)
    assert bundle_files(tmp_path / "run").names == ()


@pytest.mark.parametrize(
    ("words", "code", "said"),
    [
        (("--bundle", "x.tar.gz", "-o", "ocptv"), 2, "leave out -o and --out"),
        (("--bundle", "x.tar.gz", "--out", "y"), 2, "leave out -o and --out"),
        (("--bundle", "absent/x.tar.gz"), 3, "choose another file for --bundle"),
        (("--bundle", "state"), 2, "is a directory"),
        # A path of the reader is none of the record: neither 1 nor a hint at --state-dir.
        (("--bundle", "/proc/x.tar.gz"), 3, "error: /proc/x.tar.gz: No such file or directory\nhint: name a file in a folder"),
        (("--out", "/proc/x.html"), 3, "error: /proc/x.html: No such file or directory\nhint: name a file in a folder"),
        (("-o", "ocptv", "--out", "/proc/x.jsonl"), 3, "error: /proc/x.jsonl: No such file or directory\nhint: name a file in a folder"),
        (("-o", "ocptv", "--out", "/proc"), 3, "error: /proc: No such file or directory\nhint: name a file in a folder"),
    ],
)
def test_what_cannot_be_written_is_refused(
    run: RunRow, capsys: pytest.CaptureFixture[str], words: tuple[str, ...], code: int, said: str
) -> None:
    assert main.call(["report", *words]) == code
    assert said in capsys.readouterr().err


def test_a_run_whose_directory_is_gone_has_none(tmp_path: Path) -> None:
    with pytest.raises(RunDirectoryGoneError):
        bundle_files(tmp_path / "gone")


def test_a_run_without_a_directory_does_not_pack_the_present_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "clusterctl.yml").write_text("state_dir: state\n")
    (tmp_path / "findings.json").write_text("{}")
    with fresh(tmp_path / "state") as store:
        store.start_run(a_run(), [])
        store.finish_run(a_run().id, RunStatus.DONE, 0, {})
    assert main.call(["report", "--bundle", "run.tar.gz"]) == RunDirectoryGoneError.exit_code
    assert not (tmp_path / "run.tar.gz").exists()
    assert "run directory" in capsys.readouterr().err
