"""The pages in Chromium: they fit a telephone, are read in the dark and with the keyboard, break no rule of their own policy, and follow a run."""

from __future__ import annotations

import contextlib
import socket
import threading
import time
from typing import TYPE_CHECKING

import pytest
import uvicorn

from clusterctl.adapters.store import Store
from pages.measure import BROKEN_WORDS, FAINT
from support.browser import MISSING, browser, program
from support.web_site import BAD, FIRST, NODE, SECOND, app_of, store_url, write_site
from unit.serve.test_access import BY_TOKEN, TOKEN

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from playwright.sync_api import Browser

    from clusterctl.serve.guard import Guard

pytestmark = pytest.mark.skipif(program() is None, reason=MISSING)
PATHS = (
    "/",
    "/racks/rack_12",
    "/nodes",
    f"/nodes/{NODE}",
    f"/nodes/{BAD}",
    "/runs",
    f"/runs/{FIRST}",
    f"/compare?before={FIRST}&after={SECOND}",
    "/no",
)


@contextlib.contextmanager
def served(app: Guard) -> Iterator[str]:
    """The application on a port of loopback; its address."""
    listening = socket.socket()
    listening.bind(("127.0.0.1", 0))
    listening.listen()
    address = f"http://127.0.0.1:{listening.getsockname()[1]}"
    server = uvicorn.Server(uvicorn.Config(app, log_config=None, lifespan="off", timeout_graceful_shutdown=1))
    thread = threading.Thread(target=server.run, kwargs={"sockets": [listening]})
    thread.start()
    try:
        yield address
    finally:
        server.should_exit = True
        thread.join(timeout=10)


@pytest.fixture(scope="module")
def chromium() -> Iterator[Browser]:
    with browser() as started:
        yield started


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = tmp_path_factory.mktemp("site")
    write_site(made, " <b>")
    return made


@pytest.fixture(scope="module")
def address(folder: Path) -> Iterator[str]:
    with served(app_of(folder)) as found:
        yield found


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [390, 1280])
def test_pages_fit_and_can_be_read(chromium: Browser, address: str, width: int, scheme: str) -> None:
    context = chromium.new_context(viewport={"width": width, "height": 800}, color_scheme="dark" if scheme == "dark" else "light")
    said: list[str] = []
    context.on("weberror", lambda error: said.append(str(error.error)))
    context.on("console", lambda message: said.append(message.text))
    for path in PATHS:
        page = context.new_page()
        page.goto(address + path)
        assert page.evaluate("document.documentElement.scrollWidth - innerWidth") <= 0, path
        assert page.evaluate(BROKEN_WORDS) == [], path
        assert page.evaluate(FAINT) == [], path
        page.close()
    assert [s for s in said if "404" not in s] == []
    context.close()


def test_a_rack_and_a_node_open_with_the_keyboard_alone(chromium: Browser, address: str) -> None:
    page = chromium.new_page()
    page.goto(address)
    for wanted in ("/racks/rack_12", f"/nodes/{NODE}"):
        for _ in range(40):
            page.keyboard.press("Tab")
            if page.evaluate("document.activeElement.getAttribute('href')") == wanted:
                break
        assert page.evaluate("getComputedStyle(document.activeElement).outlineStyle") == "solid"
        page.keyboard.press("Enter")
        page.wait_for_url(address + wanted)
    page.close()


def test_the_page_of_runs_follows_a_run(chromium: Browser, address: str, folder: Path) -> None:
    page = chromium.new_page()
    page.goto(f"{address}/runs")
    now = page.locator("#now")
    assert "1 not begun" in now.inner_text()
    with Store.open(store_url(folder)) as store:
        store.save_run_node(SECOND, NODE, phase="measure <b>")
    until = time.monotonic() + 10
    while "1 measure <b>" not in now.inner_text():
        assert time.monotonic() < until, now.inner_text()
        page.wait_for_timeout(100)
    assert now.locator("b").count() == 0
    page.close()


def test_a_browser_reads_with_the_token_as_its_password(chromium: Browser, folder: Path) -> None:
    with served(app_of(folder, BY_TOKEN)) as address:
        context = chromium.new_context(http_credentials={"username": "alice", "password": TOKEN})
        page = context.new_page()
        page.goto(f"{address}/runs")
        page.wait_for_selector("#now li")
        assert page.evaluate("getComputedStyle(document.querySelector('#now')).listStyleType") == "none", "the style was loaded, too"
        context.close()
        stranger = chromium.new_page()
        answer = stranger.goto(address)
        assert answer is not None
        assert answer.status == 401
        stranger.close()
