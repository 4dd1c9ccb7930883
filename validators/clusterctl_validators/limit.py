"""A time limit for one check."""

import signal
from contextlib import contextmanager
from types import FrameType
from typing import Iterator, Optional


class TimeLimitError(BaseException):
    """Not an Exception, so that no check can catch it by accident."""


@contextmanager
def time_limit(limit_s: float) -> Iterator[None]:
    """Raise TimeLimitError in the body after `limit_s`; main thread only, 0 means no limit."""

    def stop(_number: int, _frame: Optional[FrameType]) -> None:
        raise TimeLimitError("timed out after {:g} s".format(limit_s))

    previous = signal.signal(signal.SIGALRM, stop)
    signal.setitimer(signal.ITIMER_REAL, limit_s)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, previous)
