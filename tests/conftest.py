"""What every test starts from, wherever it was started."""

from __future__ import annotations

import signal

# a job in the background of a script ignores Ctrl-C, and hands that on to its children, whose tests send it
signal.signal(signal.SIGINT, signal.default_int_handler)
