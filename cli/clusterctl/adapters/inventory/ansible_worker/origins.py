"""Where a value is written: Ansible tags what it loads with file and line."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ansible._internal._datatag._tags import Origin, TrustedAsTemplate
from ansible.parsing.vault import EncryptedString

if TYPE_CHECKING:
    from collections.abc import Hashable, Mapping

Place = tuple[str, int]
NOWHERE: Place = ("", 0)


def where(value: object) -> Place:
    """File and line of a loaded value; NOWHERE for booleans, None and computed values."""
    origin = Origin.get_tag(value)
    return (str(origin.path), int(origin.line_num or 0)) if origin is not None and origin.path else NOWHERE


def where_key(mapping: Mapping[Any, Any], key: object) -> Place:
    """Where the value of `key` is written: a scalar carries its place, a container or boolean goes by its key.

    A container that replaced the value of another file goes by itself: the key is still that of the other file.
    """
    value = mapping.get(key)
    of_value, of_key = where(value), where(next((k for k in mapping if k == key), None))
    if NOWHERE in (of_value, of_key):
        return of_key if of_value == NOWHERE else of_value
    return of_key if isinstance(value, (dict, list)) and of_key[0] == of_value[0] else of_value


def where_path(raw: object, path: tuple[str | int, ...], start: Place) -> Place:
    """The nearest known place on the way along `path` into `raw`; templates end the way, for what is inside them is computed."""
    best, current = start, raw
    for step in path:
        if isinstance(current, dict):
            key = next((k for k in current if k == step or str(k) == step), None)
            found = where_key(current, key) if key is not None else NOWHERE
            current = current.get(key) if key is not None else None
        elif isinstance(current, list) and isinstance(step, int) and step < len(current):
            current = current[step]
            found = where(current)
        else:
            break
        best = found if found != NOWHERE else best
    return best


def is_trusted(value: object) -> bool:
    """Whether Ansible would render the string as a template (not so for `!unsafe`)."""
    return bool(TrustedAsTemplate.is_tagged_on(value))


def is_vaulted(value: object) -> bool:
    """Whether the value is, or holds, a vault-encrypted string."""
    if isinstance(value, EncryptedString):
        return True
    if isinstance(value, dict):
        return any(is_vaulted(v) for v in value.values())
    return isinstance(value, (list, tuple)) and any(is_vaulted(v) for v in value)


def freeze(value: object) -> Hashable:
    """A hashable stand-in: equal stand-ins render equally."""
    if isinstance(value, EncryptedString):
        return ("vault", str(value._ciphertext))  # noqa: SLF001 its text would decrypt it
    if isinstance(value, str):
        return (str(value), is_trusted(value))
    if isinstance(value, dict):
        return ("map", tuple((freeze(k), freeze(v)) for k, v in value.items()))
    if isinstance(value, (list, tuple)):
        return ("list", tuple(freeze(v) for v in value))
    return (type(value).__name__.replace("_AnsibleTagged", "").lower(), str(value))


def plain(value: Any) -> Any:
    """The value as JSON can express it: no tags, string keys, dates as ISO 8601."""
    if value is None or isinstance(value, bool):
        return value
    if isinstance(value, dict):
        return {_key(k): plain(v) for k, v in value.items()}
    if isinstance(value, (list, tuple, set, frozenset)):
        return [plain(v) for v in value]
    for native in (int, float):
        if isinstance(value, native):
            return native(value)
    return str(value.isoformat() if hasattr(value, "isoformat") else value)


def _key(key: object) -> str:
    return str(key).lower() if isinstance(key, bool) else str(plain(key))
