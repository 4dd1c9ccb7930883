"""Waits for the burn-in agent of a node, through broken connections and a reboot of the node."""

from __future__ import annotations

import shlex
import time
from contextlib import suppress
from typing import Any

from ansible.errors import AnsibleConnectionFailure, AnsibleError
from ansible.plugins.action import ActionBase
from ansible.utils.display import Display

# `burnin_agent.py wait` ends so while the agent is still at work.
RUNNING = 3
# A shell reports a command that a signal ended as this and more; a node that goes down ends all of them.
KILLED = 128
# One command on the node is short, so that a node that is gone is noticed.
SLICE_S = 30
PAUSE_S = 5
# A connection to a node that lost power ends after a minute, also one that an earlier task opened and this one would share.
KEEPALIVE = "-o ServerAliveInterval=15 -o ServerAliveCountMax=4"


class ActionModule(ActionBase):
    """`limit_s`: for the agent. `return_s`: for a node that does not answer any more. `folder`: of the run, on the node."""

    _VALID_ARGS = frozenset({"folder", "limit_s", "return_s"})
    TRANSFERS_FILES = False

    def run(self, tmp: Any = None, task_vars: Any = None) -> dict[str, Any]:
        """Wait; the result is that of the last `burnin_agent.py wait`.

        Raises:
            AnsibleConnectionFailure: the node did not come back in time, which makes it unreachable.
        """
        result: dict[str, Any] = super().run(tmp, task_vars)
        folder, limit_s, return_s = str(self._task.args["folder"]), float(self._task.args["limit_s"]), float(self._task.args["return_s"])
        self._keep_alive()
        started = answered = time.monotonic()
        while True:
            left = started + limit_s - time.monotonic()
            try:
                done = self._query(folder, max(0.0, min(SLICE_S, left)))
            except AnsibleConnectionFailure as e:
                silent = time.monotonic() - answered
                if silent > return_s:
                    raise AnsibleConnectionFailure(
                        f"it stopped answering during the measurement and was not back after {silent:.0f} s: {e}"
                    ) from e
                Display().vv(f"no answer for {silent:.0f} s")
                self._reset()
                time.sleep(PAUSE_S)
                continue
            answered = time.monotonic()
            if done["rc"] != RUNNING or left <= 0:
                return {**result, "changed": False, "rc": done["rc"], "stdout": done["stdout"], "stderr": done["stderr"]}

    def _query(self, folder: str, slice_s: float) -> dict[str, Any]:
        command = f"python3 burnin_agent.py wait . {slice_s:.0f}"
        answer: dict[str, Any] = self._low_level_execute_command(f"cd {shlex.quote(folder)} && {command}")
        if answer["rc"] >= KILLED:
            raise AnsibleConnectionFailure(f"the command was ended: {answer['stderr'].strip()}")
        return answer

    def _keep_alive(self) -> None:
        """Connections notice a node that is gone; those of other kinds than SSH have no such option."""
        with suppress(KeyError, AnsibleError):
            own = self._connection.get_option("ssh_extra_args") or ""
            self._connection.set_option("ssh_extra_args", f"{own} {KEEPALIVE}".strip())
            self._reset()

    def _reset(self) -> None:
        with suppress(AttributeError, AnsibleError):  # some connections cannot be reset, and one that is broken need not be
            self._connection.reset()
