"""A limit of time for a call that has none of its own."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable

T = TypeVar("T")


def within(limit_s: float, call: Callable[[], T]) -> T:
    """What `call` returns, or raises.

    Past the limit its thread is left behind; it ends with the process.

    Raises:
        TimeoutError: there is no result within `limit_s`.
    """
    results: list[T] = []
    errors: list[BaseException] = []

    def run() -> None:
        try:
            results.append(call())
        except BaseException as e:  # noqa: BLE001 raised again in the thread of the caller
            errors.append(e)

    thread = threading.Thread(target=run, daemon=True)
    thread.start()
    thread.join(limit_s)
    if errors:
        raise errors[0]
    if not results:
        raise TimeoutError(f"no whole answer within {limit_s:g} s")
    return results[0]
