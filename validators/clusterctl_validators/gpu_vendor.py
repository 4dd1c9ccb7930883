"""Selects the vendor of the GPUs of a node, by name: `vendor_<name>.py` beside this module, where a site may put its own."""

import importlib
import re
from pathlib import Path
from typing import List

import clusterctl_validators
from clusterctl_validators.gpu import GpuReader, GpuVendor
from clusterctl_validators.probe import Probe

DEFAULT = "nvidia"
_NAME = re.compile(r"[a-z][a-z0-9_]*")


class UnknownVendorError(ValueError):
    """No module is there for a vendor, or it cannot be imported."""


def vendor_named(name: str) -> GpuVendor:
    """The vendor of that name. Raises UnknownVendorError."""
    module = "{}.vendor_{}".format(clusterctl_validators.__name__, name)
    if not _NAME.fullmatch(name):
        raise UnknownVendorError("{!r} is not a valid name of a GPU vendor".format(name))
    try:
        vendor = importlib.import_module(module).VENDOR
    except ModuleNotFoundError as e:
        why = "" if e.name == module else ": it needs {!r}".format(e.name)
        raise UnknownVendorError("no validators/vendor_{}.py for GPUs of {!r}{}".format(name, name, why)) from e
    except (ImportError, SyntaxError, AttributeError) as e:
        raise UnknownVendorError("vendor_{}.py: {}: {}".format(name, type(e).__name__, e)) from e
    if not isinstance(vendor, GpuVendor):
        raise UnknownVendorError("vendor_{}.py: VENDOR is not a GpuVendor".format(name))
    return vendor


def known_vendors() -> List[str]:
    """The names of all vendors that a module is there for."""
    return sorted({p.stem[len("vendor_") :] for folder in clusterctl_validators.__path__ for p in Path(folder).glob("vendor_*.py")})


def reader_of(probe: Probe, vendor: str = DEFAULT) -> GpuReader:
    """The reader of a node's GPUs. Raises UnknownVendorError."""
    return vendor_named(vendor).reader(probe)
