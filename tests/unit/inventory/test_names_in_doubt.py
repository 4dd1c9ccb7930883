"""Ansible's documentation of its plug-ins is read for a name in doubt only: it takes as long as the rest of a small site."""

from __future__ import annotations

from typing import Any

import pytest

from clusterctl.adapters.inventory.ansible_worker import lint


class AskedError(Exception):
    """The documentation was read."""


@pytest.fixture(autouse=True)
def _documentation(monkeypatch: pytest.MonkeyPatch) -> None:
    def read() -> frozenset[str]:
        raise AskedError

    monkeypatch.setattr(lint, "ansible_names", read)


def problems(**variables: Any) -> list[str]:
    entity = {k: v for k, v in variables.items() if k != "read"}
    return [p.text() for p in lint.misspelt_variables([entity], {}, {}, frozenset(variables.get("read", ())))]


def test_names_that_are_known_need_none() -> None:
    assert problems(ansible_host="a", ansible_user="b", ansible_become=True, ansible_ssh_common_args="", rack="c", mine="d") == []


def test_nor_does_a_name_that_a_template_reads_or_the_site_lists_as_its_own() -> None:
    assert problems(ansible_mine="x", read=["ansible_mine"]) == []
    assert problems(ansible_mine="x", own_variables=["ansible_mine"]) == []


def test_any_other_name_of_ansibles_does() -> None:
    with pytest.raises(AskedError):
        problems(ansible_usr="a")
