from __future__ import annotations

import json
import re
from pathlib import Path

import ansible.plugins
import pytest
from hypothesis import given
from hypothesis import strategies as st

from clusterctl.core.redact import _NAMED, _SECRET_NAME, MASK, Redactor


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
        "ansible_become_pass=hunter2 x=1",
        "ansible_ssh_pass: hunter2",
        "ANSIBLE_BECOME_PASS=hunter2",
        "password: two words hunter2",
        "--extra-vars=ansible_sudo_pass=hunter2",
        '{ansible_become_pass: "two words hunter2"}',
        "URIs: https://user:hunter2@mirror.example.org/cuda",
        'Acquire::http::Proxy "http://user:hunter2@proxy:3128";',
        "https_proxy=http://:hunter2@proxy",
        "postgresql://user:a@hunter2@db/clusterctl",
        "Authorization: Bearer hunter2",
        '{"authorization": "Basic hunter2"}',
        "COMMAND=/usr/bin/x --db-password hunter2 --verbose",
        "AWS_SECRET_ACCESS_KEY=hunter2",
    ],
)
def test_values_of_secret_keys_are_masked(text: str) -> None:
    masked = Redactor()(text)
    assert "hunter2" not in masked
    assert MASK in masked


@pytest.mark.parametrize(
    "text",
    [
        "https://mirror.example.org:8443/a@b",
        "ssh://git@host/x: y@z",
        "https://[2001:db8::1]:443/x",
        "Basic authentication",
        "see --token-file x",
        '"pass": 3',
        "bypass=on",
        "4 passed: fine",
        "tokens used by 3 nodes",
        "hugepages.pages[1G]: 64",
        '"x": 1, "passed": true',
    ],
)
def test_other_text_is_unchanged(text: str) -> None:
    assert Redactor()(text) == text


ODD_LETTERS = {"s": "\u017f", "k": "\u212a", "i": "\u0131"}


@given(st.data())
def test_no_way_to_write_the_name_of_a_secret_escapes(data: st.DataObject) -> None:
    """Also letters that match without regard to case and are not another case of it in ASCII."""
    name = data.draw(st.from_regex(_SECRET_NAME, fullmatch=True))
    written = "".join(data.draw(st.sampled_from([c, c.upper(), ODD_LETTERS.get(c.lower(), c)])) for c in name)
    text = f"{data.draw(st.text(max_size=9))}\n_{written}=hunter2\n"
    expected = _NAMED.sub(lambda m: (m.group(1) or m.group(3)) + MASK, text)
    assert Redactor()(text) == expected
    assert "hunter2" not in expected


def test_values_of_secret_environment_variables_are_masked_everywhere() -> None:
    redact = Redactor.of_command({"BMC_PASSWORD": "s3cr3t-value", "SHORT_TOKEN": "ab", "PATH": "/usr/bin"}, ())
    assert redact("login root/s3cr3t-value in /usr/bin ab") == f"login root/{MASK} in /usr/bin ab"


@given(st.text(alphabet=st.characters(min_codepoint=33, max_codepoint=126), min_size=6, max_size=30))
def test_known_values_are_always_masked(value: str) -> None:
    assert value not in Redactor((value,))(f"x {value} y{value}").replace(MASK, "")


def password_variables() -> list[str]:
    """The variables and environment variables that Ansible's own connection and become plug-ins read passwords from."""
    folder = Path(next(iter(ansible.plugins.__path__)))
    files = [p for kind in ("become", "connection") for p in (folder / kind).glob("*.py")]
    return sorted({name for p in files for name in re.findall(r"name: *(\w*(?:pass|password))\b", p.read_text(), re.IGNORECASE)})


@pytest.mark.parametrize("name", password_variables())
def test_passwords_under_the_names_of_ansible_are_masked(name: str) -> None:
    assert len(password_variables()) > 10
    assert "hunter2" not in Redactor()(f"{name}=hunter2")
    assert Redactor.of_command({name: "hunter2"}, ()).values == ("hunter2",)


SECRET = st.text(st.characters(min_codepoint=33, max_codepoint=126, exclude_characters="*'{}\\" + '"'), min_size=6, max_size=20)


@given(value=SECRET, form=st.sampled_from(["-e", "-vve", "--extra-vars=", "--extra="]), name=st.sampled_from(password_variables()))
def test_a_secret_of_the_command_line_is_masked_wherever_it_occurs(value: str, form: str, name: str) -> None:
    plain = (("-e", f"x=1 {name}='{value}'"), (f"{form}{name}='{value}'",), ("-e", json.dumps({"x": {name: [value]}})))
    for words in plain:
        redact = Redactor.of_command({}, words)
        assert value not in redact(f"sudo: {value}: sorry").replace(MASK, "")
        assert not [w for w in words if value in redact(w).replace(MASK, "")]
