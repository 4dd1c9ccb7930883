"""What every test starts from, wherever it was started."""

from __future__ import annotations

import signal

from hypothesis import HealthCheck, settings

# a job in the background of a script ignores Ctrl-C, and hands that on to its children, whose tests send it
signal.signal(signal.SIGINT, signal.default_int_handler)

# the time that an example takes depends on what else the machine runs
settings.register_profile("any_load", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("any_load")
