from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from clusterctl_lab.simulator.cmdline import last_value, parse_cmdline


def test_parameters_with_and_without_value_and_in_quotes() -> None:
    assert parse_cmdline('ro iommu=pt foo="a b" console=ttyS0,115200n8') == [
        ("ro", None),
        ("iommu", "pt"),
        ("foo", "a b"),
        ("console", "ttyS0,115200n8"),
    ]


def test_the_last_value_counts() -> None:
    assert last_value("numa_balancing=enable numa_balancing=disable", "numa_balancing") == "disable"
    assert last_value("ro", "numa_balancing") is None


@given(st.text())
def test_any_text_is_parsed(text: str) -> None:
    assert all(isinstance(name, str) for name, _ in parse_cmdline(text))
