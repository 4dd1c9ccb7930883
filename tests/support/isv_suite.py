"""The checks of NVIDIA/ai-cloud-validation, out of a checkout: the environment variable CLUSTERCTL_ISV_SUITE names its folder."""

from __future__ import annotations

import importlib
import os
import sys
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any

import pytest

from support.plain_yaml import load_yaml

if TYPE_CHECKING:
    from collections.abc import Mapping

_FOLDER = os.environ.get("CLUSTERCTL_ISV_SUITE", "")


def has_suite() -> bool:
    """Whether a checkout is named."""
    return bool(_FOLDER)


def verdict(check: str, answer: Mapping[str, Any], limits: Mapping[str, Any]) -> str:
    """What a check says of an answer: `passed`, `skipped: WHY` or `failed: WHY`."""
    module, _, name = check.partition(".")
    one: Any = getattr(_module(f"validations.{module}"), name)(config={"step_output": answer, **limits})
    if answer.get("skipped") is True:  # as its BaseValidation.execute does before any check
        return f"skipped: {answer['skip_reason']}"
    try:
        one.run()
    except pytest.skip.Exception as e:
        return f"skipped: {e}"
    return "passed" if one.passed else f"failed: {one.message}"


def required(suite: str) -> dict[str, list[str]]:
    """Per check of a suite that is of no capability itself: those of which `isvctl test run` must name one."""
    data = load_yaml(Path(_FOLDER, f"isvctl/configs/suites/{suite}.yaml").read_text())["tests"]
    return {name: check["requires"] for group in data["validations"].values() for name, check in group["checks"].items()}


def login(answer: Mapping[str, Any]) -> dict[str, Any]:
    """Where the suite logs in by itself, for checks that run on the host."""
    found: dict[str, Any] = _module("core.ssh").get_ssh_config({"step_output": answer}, {})
    return found


def _module(name: str) -> ModuleType:
    """A module of isvtest without what its packages import: that needs the other packages of the checkout."""
    for package in ("isvtest", "isvtest.core", "isvtest.validations"):
        if package not in sys.modules:
            made = ModuleType(package)
            made.__path__ = [str(Path(_FOLDER, "isvtest", "src", *package.split(".")))]
            sys.modules[package] = made
    return importlib.import_module(f"isvtest.{name}")
