"""Who gets data: nobody without what the site asks for, whatever else a request brings."""

from __future__ import annotations

import base64
import string
from typing import TYPE_CHECKING

import pytest
from hypothesis import HealthCheck, assume, example, given, settings
from hypothesis import strategies as st

from clusterctl.model.errors import UsageProblemError
from clusterctl.serve.access import Access, Denial, access_of, denial
from clusterctl.serve.app import OPENAPI_PATH
from clusterctl.serve.guard import Guard
from support.asgi import ask
from support.web_site import LOOPBACK, NODE, app_of, write_site

if TYPE_CHECKING:
    from pathlib import Path

    from starlette.types import Receive, Scope, Send

TOKEN = "0123456789abcdef0123456789abcdef"
BY_TOKEN = access_of(address="0.0.0.0", token=TOKEN, header="", proxies=())
BY_PROXY = access_of(address="0.0.0.0", token=None, header="X-Remote-User", proxies=["10.0.0.0/29"])
BY_LOCAL_PROXY = access_of(address="", token=None, header="X-Remote-User", proxies=())
DATA = ("/", f"/nodes/{NODE}", "/api/v1/fleet", "/api/v1/events", OPENAPI_PATH, "/style.css", "/no")
NAMES = st.sampled_from(["authorization", "x-remote-user", "x-forwarded-for", "host", "forwarded", "x_remote_user", "cookie", "x-real-ip"])
VALUES = st.one_of(
    st.text(alphabet=string.printable[:95] + "\x80\xff", max_size=40),
    st.sampled_from(
        [f"Token {TOKEN}", f"Basic {TOKEN}", f"Bearer {TOKEN[:-1]}", f"Bearer {TOKEN}x", "Bearer", "Bearer ", "10.0.0.1", "root"]
    ),
)
HEADERS = st.lists(st.tuples(NAMES, VALUES), max_size=5)


def wire(headers: list[tuple[str, str]]) -> list[tuple[bytes, bytes]]:
    return [(k.encode("latin-1"), v.encode("latin-1")) for k, v in headers]


def basic(password: str) -> str:
    return "Basic " + base64.b64encode(f"anybody:{password}".encode()).decode()


@given(HEADERS, st.sampled_from(["127.0.0.1", "10.0.0.1", "192.0.2.9", "::1", None]))
def test_no_request_without_the_token_gets_data(headers: list[tuple[str, str]], peer: str | None) -> None:
    assert not any(v.partition(" ")[2].strip() == TOKEN and v.lower().startswith("bearer") for _, v in headers)
    assert denial(BY_TOKEN, wire(headers), peer) is not None


@given(HEADERS, st.sampled_from(["127.0.0.1", "192.0.2.9", "10.0.0.8", "::1", "no address", None]))
def test_no_request_from_elsewhere_than_the_proxy_gets_data(headers: list[tuple[str, str]], peer: str | None) -> None:
    assert denial(BY_PROXY, wire(headers), peer) is not None


@given(HEADERS)
def test_no_request_of_the_proxy_gets_data_without_exactly_one_user(headers: list[tuple[str, str]]) -> None:
    users = [v for k, v in headers if k == "x-remote-user"]
    expected = len(users) == 1 and bool(users[0].strip())
    assert (denial(BY_PROXY, wire(headers), "10.0.0.1") is None) == expected


@given(st.text(alphabet=string.printable[:95], max_size=60))
@example("127.0.0.1.evil.example")
@example("localhost.evil.example")
@example("localhost@evil.example")
@example("[::1].evil.example")
@example("evil.example@localhost")
@example("localhost:1:evil.example")
@example("0.0.0.0")
@example("")
def test_a_name_of_elsewhere_is_refused_without_a_token(host: str) -> None:
    assume(not host.lower().strip().startswith(("localhost", "127.", "[::1]")) or ".example" in host)
    assert denial(LOOPBACK, [(b"host", host.encode())], "127.0.0.1") is not None


@pytest.mark.parametrize("host", ["localhost", "localhost:9000", "127.0.0.1:8787", "127.1.2.3", "[::1]:8787", "LOCALHOST"])
def test_a_name_of_this_machine_is_let_in(host: str) -> None:
    assert denial(LOOPBACK, [(b"host", host.encode())], "127.0.0.1") is None


@pytest.mark.parametrize("value", [f"Bearer {TOKEN}", f"bearer {TOKEN}", basic(TOKEN)])
def test_the_token_lets_in_as_bearer_token_and_as_password(value: str) -> None:
    assert denial(BY_TOKEN, wire([("authorization", value)]), "192.0.2.9") is None


@pytest.mark.parametrize(
    "value",
    [basic(TOKEN[:-1]), basic(""), "Basic !!!", "Basic \xe9", "Basic " + base64.b64encode(TOKEN.encode()).decode(), f"Basic {TOKEN}"],
)
def test_another_password_does_not(value: str) -> None:
    assert denial(BY_TOKEN, wire([("authorization", value)]), "127.0.0.1") is not None


@pytest.mark.parametrize("header", ["X Y", "X-User:", "\u00e4", "X\n", "Host", "user-agent", "Accept"])
def test_a_header_that_no_proxy_can_set_or_that_everyone_sends_is_refused(header: str) -> None:
    with pytest.raises(UsageProblemError, match="--trust-header") as caught:
        access_of(address="", token=None, header=header, proxies=())
    assert "X-Remote-User" in caught.value.hint


def test_of_two_headers_none_counts() -> None:
    assert denial(BY_TOKEN, wire([("authorization", f"Bearer {TOKEN}")] * 2), "127.0.0.1") is not None


def test_a_proxy_is_known_on_a_socket_of_both_families() -> None:
    """There, Linux gives the address of an IPv4 peer as ::ffff:10.0.0.1."""
    sent = wire([("x-remote-user", "alice")])
    assert denial(BY_PROXY, sent, "::ffff:10.0.0.1") is None
    assert denial(BY_PROXY, sent, "::ffff:10.0.0.9") is not None


def test_a_proxy_on_this_machine_needs_no_address() -> None:
    for peer, lets_in in ((None, True), ("127.0.0.1", True), ("::1", True), ("10.0.0.1", False)):
        assert (denial(BY_LOCAL_PROXY, wire([("x-remote-user", "alice"), ("host", "127.0.0.1:8787")]), peer) is None) == lets_in, peer


@pytest.mark.parametrize(
    "access", [BY_LOCAL_PROXY, access_of(address="127.0.0.1", token=None, header="X-Remote-User", proxies=["127.0.0.0/8"])]
)
def test_a_page_whose_name_leads_to_this_machine_cannot_name_a_user(access: Access) -> None:
    """A browser beside the proxy sends what such a page sets, as its own host (DNS rebinding)."""
    for host, why in (("fleet.evil.example:8787", Denial.OTHER_HOST), ("", Denial.OTHER_HOST), ("localhost:8787", None)):
        assert denial(access, wire([("x-remote-user", "alice"), ("host", host)]), "127.0.0.1") is why, host


def test_the_name_of_the_site_may_pass_through_a_unix_socket_and_from_another_machine() -> None:
    sent = wire([("x-remote-user", "alice"), ("host", "fleet.site.example")])
    assert denial(BY_LOCAL_PROXY, sent, None) is None
    assert denial(BY_PROXY, sent, "10.0.0.1") is None


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = tmp_path_factory.mktemp("site")
    write_site(made)
    return made


@settings(max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(headers=HEADERS, path=st.sampled_from(DATA), method=st.sampled_from(["GET", "HEAD", "POST", "OPTIONS"]))
def test_nothing_of_the_application_runs_without_the_token(headers: list[tuple[str, str]], path: str, method: str) -> None:
    asked: list[str] = []

    async def application(scope: Scope, _receive: Receive, _send: Send) -> None:
        asked.append(scope["path"])

    answer = ask(Guard(application, BY_TOKEN), path, method=method, headers=headers, peer="192.0.2.9")
    assert asked == []
    assert (answer.status, answer.headers["content-type"]) == (401, "application/json")
    assert NODE not in answer.text


def test_with_the_token_there_is_data(folder: Path) -> None:
    app = app_of(folder, BY_TOKEN)
    for path in ("/", f"/nodes/{NODE}", "/api/v1/fleet", OPENAPI_PATH):
        assert ask(app, path).status == 401, path
        assert ask(app, path, headers={"Authorization": f"Bearer {TOKEN}"}).status == 200, path


def test_a_refusal_tells_a_browser_to_ask_for_the_password(folder: Path) -> None:
    assert ask(app_of(folder, BY_TOKEN), "/").headers["www-authenticate"] == 'Basic realm="clusterctl"', "the last of its lines"
    assert ask(app_of(folder, BY_PROXY), "/").status == 403


REFUSED = [
    {"address": "0.0.0.0"},
    {"address": "::"},
    {"address": "10.0.0.5"},
    {"address": "10.0.0.5", "header": "X-Remote-User"},
    {"address": "10.0.0.5", "header": "X-Remote-User", "proxies": ["0.0.0.0/0"]},
    {"address": "10.0.0.5", "header": "X-Remote-User", "proxies": ["10.0.0.5/8"]},
    {"address": "127.0.0.1", "proxies": ["10.0.0.5"]},
    {"address": "127.0.0.1", "token": ""},
    {"address": "127.0.0.1", "token": "short"},
    {"address": "127.0.0.1", "token": "two words of a token"},
    {"address": "127.0.0.1", "token": "ä" * 32},
    {"address": "127.0.0.1", "token": f"{TOKEN}\n{TOKEN}"},
    {"address": "my-host", "token": TOKEN},
]


@pytest.mark.parametrize("options", REFUSED, ids=str)
def test_options_that_let_everybody_in_or_make_no_sense_are_refused_with_a_hint(options: dict[str, str | list[str]]) -> None:
    with pytest.raises(UsageProblemError) as found:
        access_of(**({"address": "", "token": None, "header": "", "proxies": ()} | options))  # type: ignore[arg-type]
    assert found.value.hint


@pytest.mark.parametrize("address", ["127.0.0.1", "127.9.9.9", "::1", "localhost", ""])
def test_this_machine_needs_no_token(address: str) -> None:
    assert access_of(address=address, token=None, header="", proxies=()) == Access(needs_own_host=bool(address))
