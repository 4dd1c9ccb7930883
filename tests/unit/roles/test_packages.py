from __future__ import annotations

import pytest

from support.filters import filter_plugin

LISTED = "a\t1\tinstall\tinstalled\nb\t1\thold\tinstalled\nc\t1\tdeinstall\tconfig-files\nlib\t3\tinstall\tinstalled\nlib\t4\tinstall\tinstalled\n"
plugin = filter_plugin("packages")


def packages(*pairs: tuple[str, str]) -> list[dict[str, str]]:
    return [{"name": name, "version": version} for name, version in pairs]


def test_packages_that_are_absent_removed_or_of_another_version() -> None:
    wrong = plugin.package_differences(packages(("a", "1"), ("b", "2"), ("c", "1"), ("d", "1"), ("lib", "3"), ("lib", "5")), LISTED)
    assert wrong == [
        {"name": "b", "version": "2", "found": "1"},
        {"name": "c", "version": "1", "found": ""},
        {"name": "d", "version": "1", "found": ""},
        {"name": "lib", "version": "5", "found": "3, 4"},
    ]


@pytest.mark.parametrize(("hold", "names"), [(True, ["a", "lib"]), (False, ["b"])])
def test_only_packages_with_another_hold_change(hold: bool, names: list[str]) -> None:
    assert plugin.package_hold_changes(packages(("a", "1"), ("b", "1"), ("lib", "3")), LISTED, hold) == names


def test_packages_by_name() -> None:
    assert plugin.packages_named(LISTED, "^(lib|c|x)") == ["lib 3", "lib 4"]
    assert plugin.packages_named(LISTED, "ib") == []
    assert plugin.packages_named("", ".*") == []


def test_a_line_that_is_no_row_ends_the_task() -> None:
    with pytest.raises(ValueError, match="not a row of a package list"):
        plugin.packages_named("dpkg-query: warning\n", ".*")
