"""Whatever an API server sends, the pool does not answer: an error of the pool with a hint, within the limit of time."""

from __future__ import annotations

import json
import time
from itertools import count
from typing import TYPE_CHECKING, Any

import pytest

from clusterctl.adapters.deadline import within
from clusterctl.adapters.pools import kubernetes_api
from clusterctl.adapters.pools.kubernetes_api import KubernetesApi
from clusterctl.model.errors import PoolError
from support.hostile_server import HostileServer, write_kubeconfig

if TYPE_CHECKING:
    from pathlib import Path

OK = b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n"


def whole(body: bytes) -> bytes:
    return OK + b"Content-Length: %d\r\n\r\n" % len(body) + body


def api(folder: Path, server: HostileServer, timeout_s: float = 5.0) -> KubernetesApi:
    return KubernetesApi(write_kubeconfig(folder, server), "", timeout_s)


ANSWERS: list[tuple[str, bytes]] = [
    ("a page of a proxy", whole(b"<html>please log in</html>")),
    ("nothing", b""),
    ("an answer that breaks off", OK + b"Content-Length: 1000\r\n\r\n{"),
    ("a chunked answer that breaks off", OK + b"Transfer-Encoding: chunked\r\n\r\n1000\r\n{"),
    ("no HTTP", b"SSH-2.0-OpenSSH_9.2\r\n"),
    ("deep JSON", whole(b"[" * 200_000 + b"]" * 200_000)),
    *(
        (f"JSON of another form: {text}", whole(text.encode()))
        for text in ("5", "[]", "null", "{}", '{"items": 5, "metadata": {}}', '{"items": [5]}')
    ),
    ("a node without a name", whole(json.dumps({"items": [{"metadata": {}}], "metadata": {}}).encode())),
    ("a pod without a spec", whole(json.dumps({"items": [{"metadata": {"name": "p"}}], "metadata": {}}).encode())),
    ("an error that is not JSON", b"HTTP/1.1 500 Oops\r\nContent-Length: 6\r\n\r\n<html>"),
]


@pytest.mark.parametrize("answer", [a[1] for a in ANSWERS], ids=[a[0] for a in ANSWERS])
def test_any_answer_is_an_error_of_the_pool(tmp_path: Path, answer: bytes) -> None:
    with HostileServer(tmp_path, [answer]) as server:
        found = api(tmp_path, server)
        for call in (lambda: found.nodes(""), lambda: found.node("n1"), lambda: found.pods(["n1"])):
            with pytest.raises(PoolError) as caught:
                call()
            assert caught.value.hint


def test_one_byte_each_fifth_of_a_second_is_not_waited_for(tmp_path: Path) -> None:
    with HostileServer(tmp_path, [OK + b"Content-Length: 1000\r\n\r\n", *([b" "] * 1000)], 0.2) as server:
        start = time.monotonic()
        with pytest.raises(PoolError, match="no whole answer within 1 s"):
            api(tmp_path, server, 1.0).nodes("")
        assert time.monotonic() - start < 10


def page(position: str) -> bytes:
    return json.dumps({"items": [{"metadata": {"name": "n1"}, "spec": {}, "status": {}}], "metadata": {"continue": position}}).encode()


def test_pages_that_lead_back_to_an_earlier_one_are_not_read_for_ever(tmp_path: Path) -> None:
    with (
        HostileServer(tmp_path, [whole(page("again"))]) as server,
        pytest.raises(PoolError, match="its pages form a loop at 'again'") as caught,
    ):
        api(tmp_path, server).nodes("")
    assert caught.value.hint


@pytest.mark.parametrize(("pages", "seconds", "told"), [(5, 60.0, "more than 5 pages"), (10**9, 0.2, "more pages than it sends in time")])
def test_pages_without_an_end_are_not_read_for_ever(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, pages: int, seconds: float, told: str
) -> None:
    monkeypatch.setattr(kubernetes_api, "_MOST_PAGES", pages)
    monkeypatch.setattr(kubernetes_api, "_LIST_LIMITS", seconds / 5.0)
    with HostileServer(tmp_path, [b""]) as server:
        found, numbers = api(tmp_path, server), count()
        monkeypatch.setattr(found, "_call", lambda *_args, **_words: json.loads(page(str(next(numbers)))))
        with pytest.raises(PoolError, match=told):
            found.nodes("")


def test_a_call_within_its_limit_returns_or_raises_as_it_is() -> None:
    def fail() -> Any:
        raise KeyError("x")

    assert within(5, lambda: 3) == 3
    with pytest.raises(KeyError):
        within(5, fail)
