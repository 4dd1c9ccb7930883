"""The series of ansible-core that clusterctl supports, and the Pythons that each needs on nodes. Pure."""

from __future__ import annotations

# Series -> the oldest Python of a node, from the support matrix of ansible-core's documentation (`_PY_MIN` of its module_utils/basic.py).
# From 2.20 on the controller needs Python 3.12.
NODE_PYTHON = {"2.19": "3.8", "2.20": "3.9", "2.21": "3.9"}

# As pip takes it, which then installs the newest that its own Python can run; the same as in pyproject.toml.
REQUIREMENT = "ansible-core>=2.19,<2.22"


def series_of(version: str) -> str:
    """`2.21.5` -> `2.21`."""
    return ".".join(version.split(".")[:2])


def oldest_node_python(version: str) -> str:
    """The oldest Python of a node that this ansible-core can change; empty for one that is not supported."""
    return NODE_PYTHON.get(series_of(version), "")


def is_older(python: str, oldest: str) -> bool:
    """Whether the version of a Python (`3.8.18`) is older than another one (`3.9`); not where either is unknown."""
    return bool(python and oldest) and _numbers(python) < _numbers(oldest)


def _numbers(version: str) -> tuple[int, ...]:
    return tuple(int(part) for part in version.split(".")[:2] if part.isdigit())
