"""The verbs `power`, `bmc`, `logs` and `inventory --parts` as they are typed: real inventory, SSH, TLS and database; the BMC and the node are fakes."""

from __future__ import annotations

import asyncio
import json
from typing import TYPE_CHECKING, Any

import pytest

from clusterctl import main
from clusterctl.model.exit_codes import ExitCode
from support.redfish_bmc import PASSWORD, READER, READER_PASSWORD, USER, Bmc
from support.redfish_tree import invented
from support.roles import ROOT
from support.ssh_node import SshNode

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from support.ssh_node import Process

SYSTEM = "/redfish/v1/Systems/Node.1"
STAT = "1 (systemd) S 0 1 1 0 -1 4194560 60 70 8 9 10 11 12 13 20 0 1 0 100 170000 3000 1844 1 1 0"
XID = '{"__REALTIME_TIMESTAMP":"1795819014667336","PRIORITY":"4","SYSLOG_IDENTIFIER":"kernel","MESSAGE":"NVRM: Xid (PCI:0000:38:00): 79"}'


class Site:
    """One node, its BMC, and clusterctl in this process. A reset gives the node a new boot id; while it is off, SSH has no answer."""

    def __init__(self, folder: Path, bmc: Bmc, capsys: pytest.CaptureFixture[str]) -> None:
        self.bmc, self.capsys = bmc, capsys
        self.node = SshNode(folder / "node", self.behave)
        self.argv = ["--state-dir", str(folder / "state")]
        self.layers = ["-i", str(ROOT / "inventory" / "common"), "-i", str(folder / "site")]

    async def behave(self, process: Process) -> None:
        if self.bmc.tree[SYSTEM]["PowerState"] != "On":
            process.channel.abort()
            return
        if "boot_id" in (process.command or ""):
            process.stdout.write(f"boot-{len(self.bmc.resets)}\n100.0 200.0\n{STAT}\n".encode())
            process.exit(0)
            return
        if "journalctl" in (process.command or ""):
            process.stdout.write(f"{XID}\n".encode())
            process.exit(0)
            return
        shell = await asyncio.create_subprocess_shell(process.command or "", stdout=asyncio.subprocess.PIPE)
        process.stdout.write((await shell.communicate())[0])
        process.exit(shell.returncode or 0)

    def run(self, *words: str, layers: bool = True) -> tuple[int, str, str]:
        code = main.call([*self.argv, *words, *(self.layers if layers else [])])
        captured = self.capsys.readouterr()
        return code, captured.out, captured.err

    def json(self, *words: str) -> Any:
        code, text, err = self.run(*words, "-o", "json")
        assert code == 0, err
        return json.loads(text)


@pytest.fixture
def site(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Iterator[Site]:
    tree = invented()
    tree[SYSTEM] |= {"@odata.id": SYSTEM, "PowerState": "On", "SerialNumber": "S1"}
    with Bmc(tree, tmp_path) as bmc:
        made = Site(tmp_path, bmc, capsys)
        with made.node as node:
            access = {"bmc_url": bmc.url, "bmc_user": USER, "bmc_password": PASSWORD, "bmc_ca_file": str(bmc.ca_file)}
            access |= {"bmc_readonly_user": READER, "bmc_readonly_password": READER_PASSWORD}
            node.write_site(tmp_path / "site", rack="rack-12", **access)
            yield made


def test_off_on_and_reboot_of_a_drained_node(site: Site) -> None:
    code, _, err = site.run("power", "off", "n1")
    assert (code, site.bmc.resets) == (ExitCode.USAGE, [])
    assert "n1 is registered: it cannot be switched off" in err
    assert "clusterctl drain n1 --reason" in err
    assert site.run("drain", "n1", "--reason", "test", "--force", "--wait", layers=False)[0] == 0
    (off,) = site.json("power", "off", "n1")["nodes"]
    assert (off["outcome"], off["power"], off["reachable"]) == ("done", "off", False)
    (on,) = site.json("power", "on", "n1")["nodes"]
    assert (on["outcome"], on["power"], on["reachable"], on["boot_id"], on["uptime_s"]) == ("done", "on", True, "boot-2", 99.0)
    code, table, err = site.run("power", "reboot", "n1")
    assert (code, site.bmc.resets) == (0, ["GracefulShutdown", "On", "GracefulRestart"])
    assert table.splitlines()[1].split()[:4] == ["n1", "done", "on", "yes"]
    assert "n1: done" in err
    assert PASSWORD not in table + err


def test_a_cycle_is_cold_and_recorded(site: Site) -> None:
    site.run("power", "cycle", "n1")
    site.run("drain", "n1", "--reason", "test", "--force", layers=False)
    found = site.json("power", "cycle", "n1")
    assert [(n["outcome"], n["boot_id"], n["serial"]) for n in found["nodes"]] == [("done", "boot-2", "S1")]
    assert site.bmc.resets == ["GracefulShutdown", "On"]
    assert found["run_id"] in site.run("history", "n1", "-o", "json", layers=False)[1]


def test_a_bmc_that_refuses_is_an_unreachable_node(site: Site) -> None:
    site.run("power", "off", "n1")
    site.run("drain", "n1", "--reason", "test", "--force", layers=False)
    site.bmc.refused = {"GracefulShutdown"}
    code, table, _ = site.run("power", "off", "n1")
    assert code == ExitCode.UNREACHABLE
    assert "its BMC: " in table
    assert "'GracefulShutdown'" in table


def test_a_bmc_is_read_in_any_state_of_the_node(site: Site) -> None:
    (found,) = site.json("bmc", "n1")["nodes"]
    assert (found["power"], found["serial"], found["tls_verified"], found["log"]) == ("on", "S1", True, [])
    page = site.run("bmc", "n1", "--only", "log", "--only", "protocols", "--entries", "2")[1]
    assert "IPMI over LAN: unknown" in page
    assert "no sensors" not in page
    site.bmc.down = True
    code, page, _ = site.run("bmc", "n1")
    assert code == ExitCode.UNREACHABLE
    assert "its BMC cannot be read: /redfish/v1/: HTTP 503" in page


def test_an_account_that_may_only_read_is_tried_where_it_is_asked_for(site: Site) -> None:
    site.json("bmc", "n1")
    assert {method for method, _ in site.bmc.requests} == {"GET"}
    (found,) = site.json("bmc", "n1", "--only", "protocols", "--only", "accounts")["nodes"]
    assert (found["accounts"]["refused"], found["accounts"]["logged"]) == (True, None)
    code, page, err = site.run("bmc", "n1", "--only", "accounts")
    assert (code, f"change with {READER}, which may only read: refused (HTTP 403" in page) == (0, True)
    assert READER_PASSWORD not in page + err
    site.bmc.reader_status = (401, 401)
    code, page, _ = site.run("bmc", "n1", "--only", "accounts")
    assert (code, f"accounts: cannot be read: {READER} may not even read" in page) == (ExitCode.UNREACHABLE, True)


def test_parts_are_read_over_ssh_and_shown_from_the_record(site: Site) -> None:
    assert site.run("inventory", "n1", "--read")[0] == ExitCode.USAGE
    assert "n1: no part is recorded" in site.run("inventory", "n1", "--parts")[1]
    code, text, err = site.run("inventory", "n1", "--parts", "--read", "-o", "json")
    document = json.loads(text)
    assert (code, document["kind"], [n["name"] for n in document["nodes"]]) == (0, "parts", ["n1"])
    assert "parts not read" not in err
    site.bmc.tree[SYSTEM]["PowerState"] = "Off"
    code, _, err = site.run("inventory", "n1", "--parts", "--read")
    assert code == ExitCode.UNREACHABLE
    assert "n1: parts not read" in err


def test_the_log_of_a_node_is_read_over_ssh(site: Site) -> None:
    found = site.json("logs", "n1")
    assert [(n["name"], n["outcome"], n["source"], [e["level"] for e in n["entries"]]) for n in found["nodes"]] == [
        ("n1", "read", "journal", ["warn"])
    ]
    code, text, _ = site.run("logs", "n1", "--journal", "--since", "2h", "--lines", "50")
    assert (code, text) == (0, "n1  2026-11-27T22:36:54.667336Z  warn    kernel: NVRM: Xid (PCI:0000:38:00): 79\n")
    assert site.run("logs", "n1", "--journal", "--since", "3h", "--until", "2h")[0] == 0
    plain, journal, ended = (c for c in site.node.commands if "journalctl" in c)
    assert "--since=-900s --lines=201 _TRANSPORT=kernel" in plain
    assert journal.endswith("--since=-7200s --lines=51")
    assert ended.endswith("--since=-10800s --until=-7200s --lines=201")
    site.bmc.tree[SYSTEM]["PowerState"] = "Off"
    code, text, _ = site.run("logs", "n1")
    assert code == ExitCode.UNREACHABLE
    assert text.startswith("n1  not reached: ")
