"""Reads `events` of clusterctl.yml."""

from __future__ import annotations

import re
from dataclasses import fields
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from clusterctl.model.event_settings import EventReceiver, EventSettings

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from clusterctl.model.errors import ConfigError

_KEYS = {f.name for f in fields(EventReceiver)}
_VARIABLE = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]{0,63}")
_MOST_S, _MOST_ATTEMPTS = 60, 10
_HINT = "write receivers: [{name: pager, webhook: https://pager.example.org/hook, token_env: PAGER_TOKEN}, {name: log, command: [logger, -t, clusterctl]}]"


def read_event_settings(value: object, invalid: Callable[[str, str, str], ConfigError]) -> EventSettings:
    """The receivers; `invalid` makes the error from a path in the file, what is wrong there, and a hint.

    Raises:
        ConfigError: one is declared wrongly.
    """
    if not isinstance(value, dict) or not isinstance(value.get("receivers"), list) or set(value) - {"receivers", "source"}:
        raise invalid("events", "is not a mapping of receivers (a list) and source", _HINT)
    source = value.get("source", "")
    if not isinstance(source, str) or re.search(r"\s", source):
        raise invalid("events.source", f"{source!r} is not a URI", "write source: https://clusterctl.example.org/site-1")
    receivers = tuple(_receiver(item, i + 1, invalid) for i, item in enumerate(value["receivers"]))
    names = [r.name for r in receivers]
    for name in names:
        if names.count(name) > 1:
            raise invalid("events.receivers", f"{name} is declared twice", "give each receiver a name of its own: dead letters name it")
    return EventSettings(receivers, source)


def _receiver(item: object, number: int, invalid: Callable[[str, str, str], ConfigError]) -> EventReceiver:
    def wrong(message: str) -> ConfigError:
        return invalid("events.receivers", f"receiver {number}: {message}", _HINT)

    if not isinstance(item, dict):
        raise wrong("is not a mapping")
    if unknown := sorted(str(k) for k in item if k not in _KEYS):
        raise wrong(f"{unknown[0]}: unknown key")
    for message in _problems(item):
        raise wrong(message)
    lists = {k: tuple(item[k]) for k in ("command", "types") if k in item}
    return EventReceiver(**{**item, **lists})


def _problems(item: Mapping[str, Any]) -> list[str]:
    """What is wrong with the values."""
    ways = [k for k in ("webhook", "webhook_env", "command") if k in item]
    found = [] if len(ways) == 1 else ["needs one of webhook, webhook_env and command"]
    if not isinstance(item.get("name"), str) or not _NAME.fullmatch(item["name"]):
        found.append(f"name: {item.get('name')!r} is not a name of letters, digits, dots and dashes")
    if "webhook" in item and (problem := _url_problem(item["webhook"])):
        found.append(f"webhook: {problem}")
    # what stands in place of a variable's name may be the secret itself, so no message shows it
    variables = [k for k in ("webhook_env", "token_env") if k in item and not (isinstance(item[k], str) and _VARIABLE.fullmatch(item[k]))]
    found += [f"{key}: is not the name of an environment variable" for key in variables]
    found += [f"{key}: is not a list of words" for key in ("command", "types") if key in item and not _are_words(item[key])]
    if "token_env" in item and "command" in item:
        found.append("token_env: is for webhooks; a command has the environment of clusterctl")
    for key, most in (("timeout_s", _MOST_S), ("attempts", _MOST_ATTEMPTS)):
        number = item.get(key, 1)
        whole = key == "attempts" and not isinstance(number, int)
        if isinstance(number, bool) or not isinstance(number, int | float) or whole or not 0 < number <= most:
            found.append(f"{key}: {number!r} is not a number above 0 and up to {most}")
    return found


def _are_words(value: object) -> bool:
    return isinstance(value, list) and bool(value) and all(isinstance(w, str) and w for w in value)


def _url_problem(url: object) -> str:
    try:
        parts = urlsplit(url) if isinstance(url, str) else None
        good = parts is not None and parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
    except ValueError:
        return "is not a URL"
    if not good or parts is None or re.search(r"\s", str(url)):
        return "is not a URL that starts with http:// or https://"
    return "has a password; name a variable with the whole URL in webhook_env" if parts.username or parts.password else ""
