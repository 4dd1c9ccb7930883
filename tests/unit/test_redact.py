from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from clusterctl.core.redact import MASK, Redactor


@pytest.mark.parametrize(
    "text",
    [
        'bmc_password: "hunter2"',
        "bmc_password=hunter2 other",
        '{"bmc_password": "hunter2", "x": 1}',
        "{'token': 'hunter2'}",
        '"msg": "{\\"bmc_password\\": \\"hunter2\\"}"',
        "API_KEY = hunter2",
        "-e bmc_password=hunter2",
    ],
)
def test_values_of_secret_keys_are_masked(text: str) -> None:
    masked = Redactor()(text)
    assert "hunter2" not in masked
    assert MASK in masked


@pytest.mark.parametrize("text", ["4 passed: fine", "tokens used by 3 nodes", "hugepages.pages[1G]: 64", '"x": 1, "passed": true'])
def test_other_text_is_unchanged(text: str) -> None:
    assert Redactor()(text) == text


def test_values_of_secret_environment_variables_are_masked_everywhere() -> None:
    redact = Redactor.from_environment({"BMC_PASSWORD": "s3cr3t-value", "SHORT_TOKEN": "ab", "PATH": "/usr/bin"})
    assert redact("login root/s3cr3t-value in /usr/bin ab") == f"login root/{MASK} in /usr/bin ab"


@given(st.text(alphabet=st.characters(min_codepoint=33, max_codepoint=126), min_size=6, max_size=30))
def test_known_values_are_always_masked(value: str) -> None:
    assert value not in Redactor((value,))(f"x {value} y{value}").replace(MASK, "")
