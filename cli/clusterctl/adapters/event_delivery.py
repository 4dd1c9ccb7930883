"""One attempt to deliver an event: a POST to a webhook, or a command with the event on its stdin. Never raises for what a receiver does."""

from __future__ import annotations

import os
import signal
import subprocess
import urllib.request
from contextlib import suppress
from http.client import HTTPException
from typing import TYPE_CHECKING, Any
from urllib.error import HTTPError, URLError

from clusterctl.adapters.deadline import within
from clusterctl.model.cloud_event import NotTaken

if TYPE_CHECKING:
    from clusterctl.model.event_settings import EventReceiver

# the JSON event format in structured mode (CloudEvents 1.0.2, HTTP protocol binding)
_TYPE = "application/cloudevents+json; charset=UTF-8"
# too early, too many, or the receiver's own fault: RFC 9110, 15.5 and 15.6, RFC 6585
_LATER = frozenset({408, 425, 429, *range(500, 600)})


def attempt(receiver: EventReceiver, body: bytes) -> NotTaken | None:
    """Deliver once; None = the receiver took it. The problem names no URL, which may be a secret."""
    return _run(receiver, body) if receiver.command else _post(receiver, body)


class _NoRedirect(urllib.request.HTTPRedirectHandler):
    def redirect_request(self, *_: Any, **__: Any) -> None:
        """A redirect is an answer: an event goes nowhere else than it was declared to."""


def _post(receiver: EventReceiver, body: bytes) -> NotTaken | None:
    missing = [name for name in (receiver.webhook_env, receiver.token_env) if name and not os.environ.get(name)]
    if missing:
        return NotTaken(f"the environment variable {missing[0]} is not set", final=True)
    try:
        request = _request(receiver, body)
        opener = urllib.request.build_opener(_NoRedirect)
        within(receiver.timeout_s, lambda: opener.open(request, timeout=receiver.timeout_s).close())
    except (OSError, HTTPException, ValueError) as e:  # OSError: URLError and HTTPError, too
        return _refusal(e)
    return None


def _request(receiver: EventReceiver, body: bytes) -> urllib.request.Request:
    url = os.environ[receiver.webhook_env] if receiver.webhook_env else receiver.webhook
    headers = {"Content-Type": _TYPE, "User-Agent": "clusterctl"}
    if receiver.token_env:
        headers["Authorization"] = f"Bearer {os.environ[receiver.token_env]}"
    request = urllib.request.Request(url, body, headers, method="POST")  # noqa: S310 the next line looks at the scheme
    if request.type not in ("http", "https"):
        raise ValueError(request.type)
    return request


def _refusal(error: Exception) -> NotTaken:
    if isinstance(error, HTTPError):
        error.close()
        return NotTaken(f"HTTP {error.code}", final=error.code not in _LATER)
    if isinstance(error, ValueError) and not isinstance(error, OSError):
        return NotTaken("no URL that starts with http:// or https://, or a token that is not a header", final=True)
    cause = error.reason if isinstance(error, URLError) else error
    return NotTaken("timed out" if isinstance(cause, TimeoutError) else f"unreachable: {type(cause).__name__}")


def _run(receiver: EventReceiver, body: bytes) -> NotTaken | None:
    try:
        process = subprocess.Popen(
            receiver.command, stdin=subprocess.PIPE, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True
        )
    except OSError as e:
        return NotTaken(f"cannot start: {e.strerror}")
    with process:
        try:
            process.communicate(body, timeout=receiver.timeout_s)
        except subprocess.TimeoutExpired:
            with suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
            return NotTaken("timed out")
    return NotTaken(f"exit status {process.returncode}") if process.returncode else None
