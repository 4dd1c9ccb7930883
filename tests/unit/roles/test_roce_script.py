"""The script of the role roce against the lab's simulated tools, with files in a folder and a network in a dictionary."""

from __future__ import annotations

import contextlib
import importlib.util
import io
import json
import sys
from typing import TYPE_CHECKING, Any

import pytest

from clusterctl_lab.simulator import cma_roce, ethtool, mlnx_qos, nic_settings
from support.checks import write_files
from support.filters import filter_plugin
from support.roles import ROOT, load_role

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path
    from types import ModuleType

rules = filter_plugin("roce_rules")
SCRIPT = ROOT / "roles" / "roce" / "files" / "clusterctl_roce.py"
RAILS = [{"device": "mlx5_0", "rail": 0, "address": "10.0.0.1/31", "gateway": "10.0.0.0"}, {"device": "mlx5_1", "rail": 1}]


def load_script() -> ModuleType:
    found = importlib.util.spec_from_file_location("clusterctl_roce", SCRIPT)
    assert found is not None
    assert found.loader is not None
    module = importlib.util.module_from_spec(found)
    sys.modules[found.name] = module  # dataclasses look their module up
    found.loader.exec_module(module)
    return module


class Network:
    """A simulated `ip` with interfaces, addresses, rules and routes."""

    def __init__(self) -> None:
        self.links: dict[str, dict[str, Any]] = {
            nic_settings.interface_name(i): {"flags": [], "mtu": 1500, "addr_info": []} for i in range(2)
        }
        self.rules: list[dict[str, Any]] = [{"priority": 32766, "src": "all", "table": "254"}]
        self.routes: dict[str, list[dict[str, str]]] = {}

    def ip(self, words: list[str]) -> str:
        words = [w for w in words if not w.startswith("-")]
        if "show" in words:
            return json.dumps(self._shown(words))
        self._change(words)
        return ""

    def _shown(self, words: list[str]) -> list[dict[str, Any]]:
        match words:
            case ["link" | "addr", "show", "dev", name]:
                return [self.links[name]]
            case ["rule", "show"]:
                return self.rules
            case ["route", "show", "table", table]:
                return list(self.routes.get(table, []))
        raise AssertionError(words)

    def _change(self, words: list[str]) -> None:
        match words:
            case ["link", "set", "dev", name, "up"]:
                self.links[name]["flags"] = ["UP"]
            case ["link", "set", "dev", name, "mtu", mtu]:
                self.links[name]["mtu"] = int(mtu)
            case ["addr", "add", address, "dev", name, *_]:
                local, _, length = address.partition("/")
                self.links[name]["addr_info"].append({"local": local, "prefixlen": int(length)})
            case ["rule", "del", "priority", priority]:
                self.rules.remove(next(r for r in self.rules if str(r["priority"]) == priority))
            case ["rule", "add", "from", source, "table", table, "priority", priority]:
                self.rules.append({"priority": int(priority), "src": source, "table": table})
            case ["route", "flush", "table", table]:
                self.routes[table] = []
            case ["route", "add", dst, *rest, "table", table]:
                given = dict(zip(rest[::2], rest[1::2], strict=True))
                names = {"via": "gateway", "dev": "dev", "src": "prefsrc"}
                self.routes.setdefault(table, []).append({"dst": dst} | {names[k]: v for k, v in given.items()})
            case _:
                raise AssertionError(words)


class Machine:
    """Two rails with firmware defaults; `run(mode)` runs the script on it."""

    def __init__(self, root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        self.root = root
        self.script = load_script()
        self.network = Network()
        self.broken: set[str] = set()
        self.commands: list[tuple[str, ...]] = []
        monkeypatch.setattr(nic_settings, "FOLDER", str(root / "nics"))
        monkeypatch.setattr(cma_roce, "ROOT", str(root / "sys/class/infiniband"))
        monkeypatch.setattr(self.script, "run", self.command)
        files = {"/run/lock": ""}
        for index in range(2):
            name = nic_settings.interface_name(index)
            files |= {f"/sys/class/infiniband/mlx5_{index}/device/net/{name}/dev_port": "0\n"}
            files |= {f"/sys/class/infiniband/mlx5_{index}/{f}": "" for f in ("tc/1/traffic_class", "ports/1/state")}
            files |= {f"/sys/class/net/{name}/ecn/{p}/enable/{k}": "1\n" for p in ("roce_np", "roce_rp") for k in range(8)}
            files |= {f"/sys/class/net/{name}/ecn/roce_np/{f}": "0\n" for f in ("cnp_dscp", "cnp_802p_prio")}
            files |= {f"/proc/sys/net/ipv4/conf/{name}/{f}": "0\n" for f in ("arp_ignore", "arp_announce", "rp_filter")}
        write_files(root, files)
        self.declare({})

    def declare(self, variables: dict[str, Any]) -> None:
        settings = rules.settings(load_role(ROOT / "roles" / "roce").defaults | {"roce_rails": RAILS} | variables)
        write_files(self.root, {"/etc/clusterctl/roce.json": json.dumps(settings)})

    def command(self, *argv: str) -> str:
        self.commands.append(argv)
        if argv[0] in self.broken:
            raise self.script.UnansweredError(f"{argv[0]}: Operation not permitted")
        if argv[0] == "ip":
            return self.network.ip(list(argv[1:]))
        tools: dict[str, Callable[[list[str]], int]] = {
            "mlnx_qos": lambda a: mlnx_qos.main(a, ""),
            "ethtool": lambda a: ethtool.main(a, ""),
            "cma_roce_tos": cma_roce.tos_command,
            "cma_roce_mode": cma_roce.mode_command,
        }
        output = io.StringIO()
        with contextlib.redirect_stdout(output):
            assert tools[argv[0]](list(argv)) == 0
        return output.getvalue()

    def run(self, mode: str, *words: str) -> tuple[int, list[str]]:
        output = io.StringIO()
        self.script._cache.clear()
        with contextlib.redirect_stdout(output), pytest.MonkeyPatch.context() as patch:
            patch.setattr("sys.argv", ["clusterctl-roce", mode, *words, "--root", str(self.root)])
            code = self.script.main()
        return code, output.getvalue().splitlines()


@pytest.fixture
def machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Machine:
    return Machine(tmp_path, monkeypatch)


def test_check_reports_every_difference_and_changes_nothing(machine: Machine) -> None:
    code, lines = machine.run("check")
    assert code == 1
    assert "mlx5_0 trust: pcp, declared dscp" in lines
    assert "mlx5_0 routes: none, declared 10.0.0.0/31 dev ens10np0 src 10.0.0.1; default via 10.0.0.0 dev ens10np0" in lines
    assert machine.run("check") == (code, lines)


def test_nobody_but_root_may_hold_its_lock(machine: Machine) -> None:
    """Earlier versions made the file for all to read, which is enough to hold its lock (flock(2))."""
    lock = machine.root / "run/clusterctl-roce.lock"
    write_files(machine.root, {"/run/clusterctl-roce.lock": ""})
    lock.chmod(0o644)
    machine.run("check")
    assert lock.stat().st_mode & 0o777 == 0o600
    lock.unlink()
    lock.symlink_to(machine.root / "elsewhere")
    with pytest.raises(OSError, match="symbolic links"):
        machine.run("check")
    assert not (machine.root / "elsewhere").exists()


def test_a_state_that_is_not_installed_yet_is_compared(machine: Machine) -> None:
    (machine.root / "etc/clusterctl/roce.json").rename(machine.root / "declared.json")
    declared = (machine.root / "declared.json").read_text()
    code, lines = machine.run("check", "--declared", declared)
    assert (code, {line.split()[0] for line in lines}) == (1, {"mlx5_0", "mlx5_1"})


def test_apply_sets_everything_once(machine: Machine) -> None:
    assert machine.run("apply") == (0, [])
    machine.commands.clear()
    assert machine.run("apply") == (0, [])
    assert [c for c in machine.commands if {"set", "add", "del", "flush", "-G", "-A", "--trust", "--pfc", "-t", "-m"} & set(c)] == []
    assert nic_settings.load_settings("mlx5_1").pfc == [0, 0, 0, 1, 0, 0, 0, 0]
    assert (machine.root / "sys/class/net/ens11np0/ecn/roce_rp/enable/3").read_text() == "1\n"
    assert (machine.root / "sys/class/net/ens11np0/ecn/roce_rp/enable/0").read_text() == "0"


@pytest.mark.parametrize("dscp", [26, 48, 46])
def test_the_priorities_of_data_and_cnps_are_enforced(machine: Machine, dscp: int) -> None:
    machine.declare({"roce_dscp_to_priority": {46: 7}})
    machine.run("apply")
    declared = nic_settings.load_settings("mlx5_0").priority_of
    machine.command("mlnx_qos", "-i", nic_settings.interface_name(0), "--dscp2prio", f"set,{dscp},0")
    assert machine.run("check") == (1, [f"mlx5_0 dscp_to_priority[{dscp}]: 0, declared {declared[dscp]}"])
    assert machine.run("apply") == (0, [])
    assert nic_settings.load_settings("mlx5_0").priority_of == declared


def test_a_reset_of_one_adapter_is_detected_and_repaired(machine: Machine) -> None:
    machine.run("apply")
    nic_settings.save_settings("mlx5_1", nic_settings.NicSettings())
    machine.network.links["ens11np0"] = {"flags": [], "mtu": 1500, "addr_info": []}
    code, lines = machine.run("check")
    assert code == 1
    assert {line.split()[0] for line in lines} == {"mlx5_1"}
    assert machine.run("apply") == (0, [])


def test_nothing_is_lossless_without_a_declared_priority(machine: Machine) -> None:
    machine.run("apply")
    machine.declare({"roce_pfc_priorities": [], "roce_ecn_priorities": [], "roce_arp_ignore": -1, "roce_rp_filter": 0})
    assert machine.run("apply") == (0, [])
    assert nic_settings.load_settings("mlx5_0").pfc == [0] * 8
    assert (machine.root / "sys/class/net/ens10np0/ecn/roce_np/enable/3").read_text() == "0"
    assert (machine.root / "proc/sys/net/ipv4/conf/ens10np0/rp_filter").read_text() == "0"
    assert (machine.root / "proc/sys/net/ipv4/conf/ens10np0/arp_ignore").read_text() == "1"


def test_unmanaged_trust_leaves_map_and_pfc_unchanged(machine: Machine) -> None:
    machine.declare({"roce_trust": "", "roce_dcbx": ""})
    assert machine.run("apply") == (0, [])
    assert (nic_settings.load_settings("mlx5_0").trust, nic_settings.load_settings("mlx5_0").pfc) == ("pcp", [0] * 8)


@pytest.mark.parametrize(
    "others",
    [
        [{"src": "10.9.9.9", "table": "7"}, {"src": "10.0.0.0", "srclen": 24, "table": "100"}],
        [{"src": "10.0.0.1", "fwmark": "0x1", "table": "100"}],
        [{"src": "10.0.0.1", "not": None, "table": "100"}],
        [{"src": "10.0.0.1", "action": "6"}],
    ],
)
def test_out_of_band_rules_and_routes_are_replaced(machine: Machine, others: list[dict[str, Any]]) -> None:
    machine.network.rules += [{"priority": 1000} | rule for rule in others]
    machine.network.routes["100"] = [{"dst": "default", "gateway": "10.9.9.1", "dev": "eth0"}]
    assert machine.run("apply") == (0, [])
    assert [r for r in machine.network.rules if r["priority"] == 1000] == [{"priority": 1000, "src": "10.0.0.1", "table": "100"}]
    assert [r["dst"] for r in machine.network.routes["100"]] == ["10.0.0.0/31", "default"]


def test_a_failing_tool_is_reported_and_the_rest_is_set(machine: Machine) -> None:
    machine.broken = {"cma_roce_tos"}
    code, lines = machine.run("apply")
    assert code == 1
    assert lines == [f"mlx5_{i} cma_tos: cma_roce_tos: Operation not permitted" for i in range(2)]


def test_a_missing_driver_file_is_reported(machine: Machine) -> None:
    (machine.root / "sys/class/net/ens10np0/ecn/roce_np/cnp_dscp").unlink()
    code, lines = machine.run("check")
    assert code == 1
    assert any(line.startswith("mlx5_0 cnp_dscp: ") and "No such file or directory" in line for line in lines)


def test_an_absent_adapter_is_reported(machine: Machine) -> None:
    machine.declare({"roce_rails": [{"device": "mlx5_9", "rail": 9}]})
    assert machine.run("apply") == (1, ["mlx5_9 interface: none, declared one"])


def test_the_interface_of_the_port_is_selected(machine: Machine) -> None:
    write_files(machine.root, {"/sys/class/infiniband/mlx5_0/device/net/ens10np1/dev_port": "1\n"})
    machine.declare({"roce_rails": [{"device": "mlx5_0", "rail": 0}]})
    assert machine.run("apply") == (0, [])


@pytest.mark.parametrize("mtu", [1500, 4200, 9000])
def test_declared_numbers_are_applied_to_the_interface(machine: Machine, mtu: int) -> None:
    machine.declare({"roce_mtu": mtu, "roce_ring_rx": 2048, "roce_ring_tx": 0, "roce_global_pause": True})
    assert machine.run("apply") == (0, [])
    assert machine.network.links["ens11np0"]["mtu"] == mtu
    assert nic_settings.load_settings("mlx5_0").rings == {"rx": 2048, "tx": 1024}
    assert nic_settings.load_settings("mlx5_0").pause == {"rx": "on", "tx": "on"}
