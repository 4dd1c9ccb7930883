from __future__ import annotations

import pytest

from clusterctl.core.near_match import misspelling_of

KNOWN = [
    "node_roles",
    "gates_settings",
    "gates_settings_site",
    "waivers",
    "rack",
    "row",
    "su",
    "leaf",
    "rack_slot",
    "rail_leaves",
    "nvlink_domain",
    "bmc_url",
    "bmc_user",
    "bmc_password",
    "hugepages_pages",
    "hugepages_mounts",
    "os_tuning_sysctl",
    "nvidia_driver_version",
    "hardware_gpus",
]


@pytest.mark.parametrize(
    ("word", "meant"),
    [
        ("hugepage_pages", "hugepages_pages"),
        ("node_role", "node_roles"),
        ("node-roles", "node_roles"),
        ("gate_settings", "gates_settings"),
        ("gates_settings_sit", "gates_settings_site"),
        ("bmc_urls", "bmc_url"),
        ("bmc_pasword", "bmc_password"),
        ("waiver", "waivers"),
        ("waviers", "waivers"),
        ("os_tunning_sysctl", "os_tuning_sysctl"),
        ("nvida_driver_version", "nvidia_driver_version"),
        ("rail_leafs", "rail_leaves"),
        ("nvlink_domian", "nvlink_domain"),
    ],
)
def test_a_misspelling_is_recognised(word: str, meant: str) -> None:
    assert misspelling_of(word, KNOWN) == meant


@pytest.mark.parametrize(
    "word",
    [
        "driver_version",
        "rack1",
        "gates_settings_site2",
        "rows",
        "sus",
        "site_name",
        "nvidia_version",
        "node_rails",
        "rack_id",
        "bmc_vendor",
        "gpus",
    ],
)
def test_other_words_get_no_suggestion(word: str) -> None:
    assert misspelling_of(word, KNOWN) == ""
