"""Switch one node: request it from its BMC, then wait until it is off, or back with a new boot."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

from clusterctl.adapters.config_keys import REBOOT_BUDGET
from clusterctl.adapters.ssh.remote_result import TransportError
from clusterctl.model.errors import ConfigError
from clusterctl.model.power import PowerAction, PowerOutcome, PowerReport
from clusterctl_tools.redfish import BmcError, UnreachableError

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from clusterctl.model.power import Boot, PowerView

_FORCE_HINT = "--force takes the power away without it"


class Machine(Protocol):
    """`clusterctl.adapters.bmc.host_power.HostPower`, or a stand-in."""

    def view(self) -> PowerView:
        """The state now."""
        ...

    def reset(self, kind: str) -> None:
        """Run a reset of Redfish."""
        ...

    def offers_ac_cycle(self) -> bool:
        """Whether all power can be taken from it for a moment."""
        ...

    def ac_cycle(self) -> None:
        """Do so; it must be off."""
        ...


@dataclass(frozen=True, slots=True)
class PowerLimits:
    """How long each step may take, in seconds, and how many nodes at once.

    Attributes:
        force: without a shutdown by the operating system; data that it has not written is lost.
        off_s: until it is off; systemd gives a unit 90 s by default.
        back_s: until SSH answers; as reboot_timeout_s of playbooks/reboot.yml: memory training takes minutes on large servers.
        away_s: after an AC power cycle was accepted, until the BMC no longer answers (assumed).
        restore_s: after the BMC is back, until the host is on by itself; else it is switched on (assumed: its policy for a return of power is not read).
        pause_s: without power, before it is switched on again (assumed; nothing public states what adapters need).
        poll_s: between two questions.
        budget: nodes of one rack that may be down at once, as playbooks/reboot.yml takes it.
    """

    force: bool = False
    off_s: float = 300.0
    back_s: float = 1200.0
    away_s: float = 120.0
    restore_s: float = 60.0
    pause_s: float = 10.0
    poll_s: float = 3.0
    budget: str = REBOOT_BUDGET


class _StepError(Exception):
    """A step failed; the text names it."""


@dataclass(slots=True)
class NodeSwitch:
    """One node: its BMC, and what reads its boot by SSH (which raises TransportError or ConfigError)."""

    node: str
    machine: Machine
    read_boot: Callable[[], Awaitable[Boot]]
    limits: PowerLimits
    _down: bool = False

    async def run(self, action: PowerAction) -> PowerReport:
        """Switch it; an error of its BMC is an outcome."""
        try:
            before = await self._view()
            boot = await self._boot()
            changed = await self._act(action, before, boot)
            after, boot = await self._view(), await self._boot()
        except BmcError as e:
            return await self._failed(f"its BMC: {e}")
        except _StepError as e:
            return await self._failed(str(e))
        if before.serial != after.serial:
            self._down = True
            return await self._failed(f"another machine answers: serial {before.serial or 'none'} -> {after.serial or 'none'}")
        outcome = PowerOutcome.DONE if changed else PowerOutcome.UNCHANGED
        return PowerReport(self.node, outcome, after.power, after.serial, boot, "" if changed else f"is {after.power} already")

    async def _act(self, action: PowerAction, before: PowerView, boot: Boot | None) -> bool:
        off = before.power == "off"
        if action is PowerAction.OFF:
            return False if off else await self._switch_off(before)
        if action is PowerAction.ON:
            return await self._switch_on(boot) if off else False
        if action is PowerAction.AC_CYCLE:
            return await self._cycle_ac(before, boot)
        if action is PowerAction.REBOOT and off:
            raise _StepError("is off: `clusterctl power on` starts it")
        warm = "ForceRestart" if self.limits.force else "GracefulRestart"
        if action is PowerAction.REBOOT and self._offers(before, warm):
            await self._reset(warm)
            self._down = True
            return await self._wait_back(boot)
        if not off:
            await self._switch_off(before)
            self._down = True
            await asyncio.sleep(self.limits.pause_s)
        return await self._switch_on(boot)

    async def _cycle_ac(self, before: PowerView, boot: Boot | None) -> bool:
        if not await asyncio.to_thread(self.machine.offers_ac_cycle):
            raise _StepError(
                "its BMC offers no AC power cycle that is known: take the power from it by its PDU, or use `clusterctl power cycle`"
            )
        if before.power != "off":
            await self._switch_off(before)
        self._down = True
        answer = await self._take_ac()
        await self._wait_answer(self.limits.away_s, answers=False)
        if not await self._wait_answer(self.limits.back_s, answers=True):
            raise _StepError(f"its BMC does not answer {self.limits.back_s:g} s after the AC power cycle")
        await (self._wait_back(boot) if await self._wait_power("on", self.limits.restore_s) else self._switch_on(boot))
        if answer:
            raise _StepError(f"is back, but whether its standby power was gone is not known: its BMC {answer}")
        return True

    async def _take_ac(self) -> str:
        """Why there was no answer: a BMC that lives from this power may break it off, or may never have got the request. Empty if it accepted."""
        try:
            await asyncio.to_thread(self.machine.ac_cycle)
        except UnreachableError as e:
            return str(e)
        return ""

    async def _wait_answer(self, limit_s: float, *, answers: bool) -> bool:
        deadline = asyncio.get_running_loop().time() + limit_s
        while True:
            try:
                await self._view()
                found = True
            except BmcError:
                found = False
            if found is answers or asyncio.get_running_loop().time() >= deadline:
                return found is answers
            await asyncio.sleep(self.limits.poll_s)

    async def _switch_off(self, before: PowerView) -> bool:
        kind = "ForceOff" if self.limits.force else "GracefulShutdown"
        if not self._offers(before, kind):
            raise _StepError(f"its BMC offers no {kind} ({', '.join(before.resets)})" + ("" if self.limits.force else f"; {_FORCE_HINT}"))
        await self._reset(kind)
        if not await self._wait_power("off", self.limits.off_s):
            # It may still go down later, so it counts as down.
            self._down = True
            raise _StepError(f"is still on {self.limits.off_s:g} s after {kind}" + ("" if self.limits.force else f"; {_FORCE_HINT}"))
        return True

    async def _switch_on(self, boot: Boot | None) -> bool:
        await self._reset("On")
        if not await self._wait_power("on", self.limits.off_s):
            raise _StepError(f"is still off {self.limits.off_s:g} s after On")
        return await self._wait_back(boot)

    async def _wait_power(self, wanted: str, limit_s: float) -> bool:
        deadline = asyncio.get_running_loop().time() + limit_s
        while True:
            try:
                if (await self._view()).power == wanted:
                    return True
            except BmcError:
                if asyncio.get_running_loop().time() >= deadline:
                    raise
            if asyncio.get_running_loop().time() >= deadline:
                return False
            await asyncio.sleep(self.limits.poll_s)

    async def _wait_back(self, before: Boot | None) -> bool:
        deadline = asyncio.get_running_loop().time() + self.limits.back_s
        while True:
            boot, why = await self._try_boot()
            if boot and (before is None or boot.boot_id != before.boot_id):
                self._down = False
                return True
            if asyncio.get_running_loop().time() >= deadline:
                state = f"boot id is still {boot.boot_id}: it did not reboot" if boot else f"SSH does not answer: {why}"
                raise _StepError(f"not back after {self.limits.back_s:g} s: {state}")
            await asyncio.sleep(self.limits.poll_s)

    async def _failed(self, why: str) -> PowerReport:
        """What can still be seen of it."""
        try:
            view = await self._view()
        except BmcError:
            return PowerReport(self.node, PowerOutcome.FAILED, boot=await self._boot(), detail=why, down=self._down)
        return PowerReport(self.node, PowerOutcome.FAILED, view.power, view.serial, await self._boot(), why, self._down)

    async def _view(self) -> PowerView:
        return await asyncio.to_thread(self.machine.view)

    async def _reset(self, kind: str) -> None:
        await asyncio.to_thread(self.machine.reset, kind)

    async def _boot(self) -> Boot | None:
        return (await self._try_boot())[0]

    async def _try_boot(self) -> tuple[Boot | None, str]:
        try:
            return await self.read_boot(), ""
        except TransportError as e:
            return None, e.detail
        except ConfigError as e:
            return None, str(e)

    @staticmethod
    def _offers(view: PowerView, kind: str) -> bool:
        """Of a BMC that does not report what it offers, this is requested."""
        return not view.resets or kind in view.resets
