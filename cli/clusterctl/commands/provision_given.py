"""What was given to `clusterctl provision`: what cannot be combined, and the options as a run takes them."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

import rich_click as click

from clusterctl.model.errors import UsageProblemError

if TYPE_CHECKING:
    from clusterctl.model.provision import ProvisionOptions


def refuse_nonsense(given: dict[str, Any]) -> None:
    """Refuse what makes no sense together.

    Raises:
        UsageError, UsageProblemError: a target is missing, or options exclude each other.
    """
    if not (given["target"] or given["resume"] or given["plan_file"]):
        raise click.UsageError("Missing argument 'TARGET' (or --resume RUN, or --plan FILE).")
    if given["plan_file"] and (given["resume"] or given["all_roles"]):
        raise UsageProblemError(
            detail="--plan cannot be combined with --resume or --all-roles",
            hint="a plan already names what is to be done; leave one of them out",
        )
    if not (given["yes"] or given["check"] or sys.stdin.isatty()):
        raise UsageProblemError(detail="stdin is not a terminal: the plan cannot be confirmed", hint="add --yes (or set CLUSTERCTL_YES=1)")


def options_of(given: dict[str, Any], more: tuple[str, ...]) -> ProvisionOptions:
    """What was given, as a run takes it; `more` are the arguments after `--`."""
    from clusterctl.model.provision import ProvisionOptions  # noqa: PLC0415

    simple: dict[str, Any] = {
        k: given[k] for k in ("roles", "partners", "level", "all_roles", "include_drained", "retest", "force", "forks", "diff")
    }
    args = (*(w for e in given["extra_vars"] for w in ("-e", e)), *more)
    simple["reason"] = given["reason"] or ""
    return ProvisionOptions(**simple, reboot=not given["no_reboot"], verbosity=given["verbose"], ansible_args=args)
