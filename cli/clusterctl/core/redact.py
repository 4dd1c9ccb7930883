"""Masks secrets in text before it is stored: by the name in front of them, and by value where the value is known. Pure."""

from __future__ import annotations

import contextlib
import re
import shlex
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import yaml

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

MASK = "********"
# `_pass` with what may follow it: connection and become plug-ins of Ansible name ansible_become_pass, ansible_ssh_pass, ANSIBLE_SUDO_PASS ...
_NAMES = r"(?:password|passwd|passphrase|(?<=_)pass|secret|token|api_?key|access_?key|private_?key|credentials?)"
_QUOTED = r"\\?\"(?:[^\"\\]|\\.)*\"|'[^']*'"
# after `=` a value ends at a space, as in `-e a_pass=x b=y`; after `:` at the end of its line, as in YAML
_NAMED = re.compile(
    rf"(?i)({_NAMES}(?:\\?[\"'])?\s*=\s*)({_QUOTED}|[^\s,}}\"']+)|({_NAMES}(?:\\?[\"'])?\s*:\s*)({_QUOTED}|(?:[^,}}\"'\n\\]|\\(?!n))+)"
)
# `--password VALUE` of a command line, and `Authorization: Bearer VALUE`
_WORD_AFTER = re.compile(rf"(?i)(--[\w-]*{_NAMES}[ \t]+|\bauthorization[\"']?\s*[:=]\s*[\"']?(?:[a-z]+[ \t]+)?)(?!-)[^\s\"',}}]+")
# The password of a URL; one that is not encoded may have an @ in it.
_IN_URL = re.compile(r"(://[^\s/:@\"']*:)[^\s/\"']+(?=@)")
# One of them is in each of these names. Looking for them first takes a two-hundredth of the time, and nearly no text has one.
_WORDS = ("pass", "secret", "token", "key", "cred", "authorization")
_SECRET_NAME = re.compile(rf"(?i){_NAMES}$")
_SHORTEST = 6


@dataclass(frozen=True, slots=True)
class Redactor:
    """Masks secrets; `values` are masked wherever they occur."""

    values: tuple[str, ...] = ()

    @classmethod
    def of_command(cls, environment: Mapping[str, str], words: Sequence[str]) -> Redactor:
        """A redactor that masks what stands under a secret's name in the environment and in the words of a command line."""
        named = {v for k, v in environment.items() if _SECRET_NAME.search(k)} | {v for word in words for v in _values_in(word)}
        return cls(tuple(sorted((v for v in named if len(v) >= _SHORTEST), key=len, reverse=True)))

    def __call__(self, text: str) -> str:
        """`text` without secrets."""
        if not text:
            return text
        for value in self.values:
            text = text.replace(value, MASK)
        text = without_url_passwords(text)
        folded = text.casefold()
        if not any(word in folded for word in _WORDS):
            return text
        return _WORD_AFTER.sub(rf"\1{MASK}", _NAMED.sub(lambda m: (m.group(1) or m.group(3)) + MASK, text))


def without_url_passwords(text: str) -> str:
    """`text`, of each URL in it without the password: that of a package mirror or a proxy stands in many files and messages."""
    return _IN_URL.sub(rf"\1{MASK}", text) if "://" in text else text


def _values_in(word: str) -> Iterator[str]:
    """The secrets in one word of a command line: a mapping in JSON or YAML, or `name=value` pairs, as `-e` takes them."""
    if "{" in word:
        with contextlib.suppress(yaml.YAMLError, ValueError, RecursionError):
            yield from _values_under(yaml.safe_load(word[word.find("{") :]), secret=False)
    for pair in _split(word):
        name, _, value = pair.partition("=")
        if name.startswith("--") and not _SECRET_NAME.search(name):  # --extra-vars=NAME=VALUE
            name, _, value = value.partition("=")
        if value and _SECRET_NAME.search(name):
            yield value


def _split(word: str) -> Sequence[str]:
    try:
        return shlex.split(word)
    except ValueError:
        return word.split()


def _values_under(data: Any, *, secret: bool) -> Iterator[str]:
    if isinstance(data, Mapping):
        for name, value in data.items():
            yield from _values_under(value, secret=secret or bool(_SECRET_NAME.search(str(name))))
    elif isinstance(data, list):
        for value in data:
            yield from _values_under(value, secret=secret)
    elif secret and data is not None:
        yield str(data)
