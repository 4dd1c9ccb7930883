"""Checks that count losses of links: named in one place, and each counts for the part that it is about."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

import pytest

from clusterctl.adapters import clock
from clusterctl.core import timestamps
from clusterctl.core.lemons.flaps import flapping_nodes
from clusterctl.core.lemons.owners import PartsThen, device_key
from clusterctl.model.part import Part
from clusterctl.model.trouble import LemonAction, PartSpan, Trouble, TroubleKind
from clusterctl.workflows.lemons import worst_serials
from clusterctl_validators import link_flaps
from clusterctl_validators.finding import Finding, Outcome, Severity
from clusterctl_validators.link_flaps import flapping_device
from support.roles import ROOT
from support.stores import a_node, a_run, findings, fresh
from support.troubles import DEFAULT_LIMITS

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

N1 = "r12-n01"
VALIDATORS = ROOT / "validators" / "clusterctl_validators"
# The number or name of the item in a check, and the part whose serial has the record.
ITEMS = {
    link_flaps.HCA: ("mlx5_3", Part("nic", "0000:1a:00.0", "mlx5_3", "CX7", "MT1")),
    link_flaps.GPU: ("3", Part("gpu", "0000:9c:00.0", "GPU 3", "H100", "165")),
}


def texts(path: Path) -> Iterator[str]:
    """The texts in the code of a module, without its documentation."""
    tree = ast.parse(path.read_text())
    bare = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in bare:
            yield node.value


def test_every_check_that_counts_flaps_of_a_link_is_declared() -> None:
    elsewhere = {
        p.name: [t for t in texts(p) if link_flaps.END in t and "[" in t] for p in VALIDATORS.glob("*.py") if p.stem != "link_flaps"
    }
    assert {name: found for name, found in elsewhere.items() if found} == {}, "name it in link_flaps.py"
    assert set(ITEMS) == set(link_flaps.DEVICES)
    assert all(check.endswith(link_flaps.END) for check in link_flaps.DEVICES), "the store looks for this end"


@pytest.mark.parametrize("check", ITEMS)
def test_its_device_is_the_part_that_burn_in_names(check: str) -> None:
    item, part = ITEMS[check]
    device = flapping_device(check.format(item))
    assert device_key(device) == device_key(part.name)
    assert flapping_device("site" + check[check.index(".") :].format(item)) == device


def test_an_nvlink_that_load_errors_names_is_of_the_same_part() -> None:
    assert device_key("NVSwitch mlx5_8/1") == device_key("NVSwitch mlx5_8") != device_key("mlx5_8/1")
    assert device_key(flapping_device(link_flaps.GPU.format(3))) == device_key("GPU 3 NVLink 7")


@pytest.mark.parametrize(
    ("device", "serial"),
    [("nvme10n1", "S1"), ("nvme10n1p2", "S1"), ("nvme6", "S1"), ("nvme6n1", "S2"), ("nvme10", ""), ("0000:b7:00.0", "S1")],
)
def test_a_disk_is_named_as_a_controller_and_as_what_it_stores(device: str, serial: str) -> None:
    """A sosreport has nvme10n1 of the controller nvme6; the gate nvme_fio and file systems name the first, the driver the second."""
    parts = [
        Part("nvme", "0000:b7:00.0", "nvme6 (nvme10n1)", "M", "S1"),
        Part("nvme", "0000:b8:00.0", "nvme7 (nvme6n1, nvme6n2)", "M", "S2"),
    ]
    owner = PartsThen([PartSpan("n1", p, "") for p in parts]).owner(
        Trouble("n1", TroubleKind.EXCLUSION, "2026-03-14T09:00:00", device=device)
    )
    assert (owner.serial if owner else "") == serial


@pytest.mark.parametrize(
    "check",
    [
        *("hardware.link_flaps", "hardware.gpus.nvlink_flaps", "hardware.gpu[3].nvlinks", "hardware.gpu[3].link_flaps.persisted"),
        *("hca[mlx5_3].link_flaps", "hardware.nvme[nvme0].link_flaps", ""),
    ],
)
def test_other_checks_count_none(check: str) -> None:
    assert flapping_device(check) == ""


@pytest.mark.parametrize("check", ITEMS)
def test_what_flaps_on_several_nights_owes_the_same_whatever_link_it_is(
    check: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    item, part = ITEMS[check]
    monkeypatch.setenv("CLUSTERCTL_STATE_DIR", str(tmp_path / "state"))
    store = fresh(tmp_path / "state")
    run = a_run()
    store.register([a_node(N1)])
    store.start_run(run)
    store.save_parts(run.id, N1, [part])
    seen: list[tuple[int, LemonAction, bool]] = []
    # Two nights in a row show the same losses, one none that are too many, and one those of a whole rack.
    for day, (times, above) in enumerate(((3, ""), (5, ""), (5, ""), (0, ""), (8, "a_rack.rack.switches"), (9, "")), 1):
        outcome = Outcome.FAIL if times else Outcome.PASS
        found = Finding(check.format(item), "hardware", outcome, Severity.CRITICAL, "at most 2", f"link 7: {times}", above=above)
        at = timestamps.after(clock.now(), (day - 10) * 86_400)
        store._clock = lambda at=at: at  # type: ignore[misc]
        store.save_findings(run.id, findings(found))
        (record,) = (r for r in worst_serials(store, DEFAULT_LIMITS) if r.serial == part.serial)
        drained = flapping_nodes(store.trouble_sources("2026-01-01"), {N1: "2026-01-01"}, 3, clock.now())
        seen.append((record.days_30.link_flap_days, record.next_action, N1 in drained))
    assert seen == [(1, LemonAction.NONE, False), *[(2, LemonAction.NONE, False)] * 4, (3, LemonAction.FULL, True)]
