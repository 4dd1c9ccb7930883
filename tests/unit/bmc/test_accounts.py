"""Whether a BMC enforces roles and logs the use of accounts: a fake one, and the lab's."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from clusterctl.adapters.bmc import accounts
from clusterctl.adapters.bmc.access import BmcAccess
from clusterctl.adapters.bmc.host_power import BmcLimits
from clusterctl.adapters.bmc.read_report import read_report
from clusterctl.model.bmc_report import BmcReport, BmcSection
from support import bmc_service
from support.redfish_bmc import PASSWORD, READER, READER_PASSWORD, USER, Bmc

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from support.redfish_tree import Tree

ROOT, SYSTEM = "/redfish/v1", "/redfish/v1/Systems/1"
ENTRIES = f"{SYSTEM}/LogServices/SEL/Entries"


def machine() -> Tree:
    return {
        ROOT: {n: {"@odata.id": f"{ROOT}/{n}"} for n in ("Systems", "Managers")},
        f"{ROOT}/Systems": {"Members": [{"@odata.id": SYSTEM}]},
        f"{ROOT}/Managers": {"Members": []},
        SYSTEM: {
            "@odata.id": SYSTEM,
            "Id": "1",
            "AssetTag": "rack 12",
            "Actions": {"#ComputerSystem.Reset": {}},
            "Bios": {"@odata.id": f"{SYSTEM}/Bios"},
            "LogServices": {"@odata.id": f"{SYSTEM}/LogServices"},
        },
        f"{SYSTEM}/Bios": {"Attributes": {}},
        f"{SYSTEM}/LogServices": {"Members": [{"@odata.id": f"{SYSTEM}/LogServices/SEL"}]},
        f"{SYSTEM}/LogServices/SEL": {"Id": "SEL", "Entries": {"@odata.id": ENTRIES}},
        ENTRIES: {"Members": [{"Id": "0", "Created": "2026-01-01T00:00:00Z", "Message": f"{READER} logged in"}]},
    }


@pytest.fixture
def bmc(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Bmc]:
    monkeypatch.setattr(accounts, "_LOGGED_WITHIN_S", 0.0)
    with Bmc(machine(), tmp_path) as one:
        yield one


def checked(bmc: Bmc, **changes: str) -> BmcReport:
    account = {"readonly_user": READER, "readonly_password": READER_PASSWORD} | changes
    access = BmcAccess("r12-n01", bmc.url, USER, PASSWORD, str(bmc.ca_file), **account)
    return read_report(access, BmcLimits(5), [BmcSection.ACCOUNTS], 3)


@pytest.mark.parametrize(("status", "refused"), [(403, True), (401, None), (200, False), (400, None), (405, None), (412, None)])
def test_a_change_that_is_refused_for_lack_of_privilege_shows_roles(bmc: Bmc, status: int, refused: bool | None) -> None:
    bmc.reader_status = (200, status)
    found = checked(bmc)
    assert (found.problem, found.missing) == ("", ())
    assert found.accounts is not None
    assert (found.accounts.user, found.accounts.refused, found.accounts.logged) == (READER, refused, None)
    assert found.accounts.answer.startswith("accepted" if status == 200 else f"HTTP {status}")
    assert [r for r in bmc.requests if r[0] != "GET"] == [("PATCH", SYSTEM)] * (2 if refused else 1), "the second is bmc_user's"
    assert bmc.tree[SYSTEM]["AssetTag"] == "rack 12"


@pytest.mark.parametrize(("status", "refused"), [(401, None), (403, None), (429, None), (500, None), (503, None), (400, True), (405, True)])
def test_roles_show_only_where_the_account_that_may_change_things_is_let_through(bmc: Bmc, status: int, refused: bool | None) -> None:
    bmc.lockdown = status
    found = checked(bmc).accounts
    assert found is not None
    assert (found.refused, found.answer) == (refused, "HTTP 403 There are insufficient privileges.")
    assert found.privileged_answer == f"HTTP {status} No changes now."


def test_an_entry_that_comes_late_is_found(bmc: Bmc, monkeypatch: pytest.MonkeyPatch) -> None:
    late = {"Id": "9", "Created": "2026-03-01T00:00:00Z", "Message": f"PATCH by {READER} refused"}
    monkeypatch.setattr(accounts, "_LOGGED_WITHIN_S", 60.0)
    monkeypatch.setattr("clusterctl.adapters.bmc.accounts.time.sleep", lambda _s: bmc.tree[ENTRIES]["Members"].append(late))
    found = checked(bmc).accounts
    assert found is not None
    assert found.logged is not None
    assert found.logged.id == "9"


def test_a_new_entry_that_names_the_account_shows_that_its_use_is_logged(bmc: Bmc) -> None:
    bmc.reader_log = ENTRIES
    found = checked(bmc).accounts
    assert found is not None
    assert found.logged is not None
    assert (found.logged.log, found.logged.message) == ("SEL", f"PATCH by {READER}: 403")


@pytest.mark.parametrize(
    ("changes", "reads", "why"),
    [
        ({"readonly_problem": "bmc_readonly_password cannot be decrypted"}, 200, "cannot be decrypted"),
        ({"readonly_user": ""}, 200, "bmc_readonly_user is not set"),
        ({"readonly_user": USER, "readonly_password": PASSWORD}, 200, "or is bmc_user"),
        ({"readonly_password": "wrong"}, 200, "may not even read"),
        ({}, 403, "may not even read"),
        ({}, 503, "HTTP 503"),
    ],
)
def test_what_cannot_be_tried_is_missing_with_the_reason(bmc: Bmc, changes: dict[str, str], reads: int, why: str) -> None:
    bmc.reader_status = (reads, 403)
    found = checked(bmc, **changes)
    assert found.accounts is None
    ((section, reason),) = found.missing
    assert (section, why in reason) == (BmcSection.ACCOUNTS, True), reason
    assert PASSWORD not in reason
    assert [r for r in bmc.requests if r[0] != "GET"] == []


def test_the_labs_bmc_enforces_roles_and_logs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    bmc_service.new_box(monkeypatch)
    reader = bmc_service.ACCOUNTS[1]
    with bmc_service.served(tmp_path) as (url, ca_file):
        access = BmcAccess("r12-n01", url, bmc_service.USER, bmc_service.PASSWORD, str(ca_file), reader.user, reader.password)
        found = read_report(access, BmcLimits(5), [BmcSection.ACCOUNTS], 3).accounts
    assert found is not None
    assert (found.refused, found.answer.startswith("HTTP 403 There are insufficient privileges")) == (True, True)
    assert found.privileged_answer.startswith("HTTP 400 "), "no asset tag: a change of nothing"
    assert found.logged is not None
    assert found.logged.message == f"PATCH /redfish/v1/Systems/System.1 by {reader.user} refused: no privilege"
