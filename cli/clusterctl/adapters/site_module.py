"""Python modules of a site: from its `plugins/` directory, or installed."""

from __future__ import annotations

import importlib
import sys
import traceback
from pathlib import Path
from typing import TYPE_CHECKING

from clusterctl.model.errors import ConfigError

if TYPE_CHECKING:
    from types import ModuleType


def import_site_module(name: str, folder: Path | None) -> ModuleType:
    """Import a module from `folder`, or an installed one; the modules of `folder` may import each other.

    Raises:
        ConfigError: the module does not exist or cannot be imported, or another module with the same name is imported instead.
    """
    if folder is not None and folder.is_dir() and str(folder) not in sys.path:
        sys.path.append(str(folder))  # last, so that a module of the site never replaces one of Python or clusterctl
        importlib.invalidate_caches()
    where = f"in {folder} or installed" if folder is not None else "installed"
    try:
        module = importlib.import_module(name)
    except ModuleNotFoundError as e:
        missing = f"no module {name!r} is {where}" if e.name == name else f"module {name!r} needs {e.name!r}, which is not {where}"
        raise ConfigError(detail=missing, hint="correct its name in clusterctl.yml, or install its package") from e
    except (ImportError, SyntaxError) as e:
        raise ConfigError(detail=f"module {name!r} cannot be imported: {e}", hint="correct the module") from e
    except Exception as e:  # a module of the site may raise anything while it is imported
        raise ConfigError(detail=f"{_raised_at(e)}: {type(e).__name__}: {e}", hint=f"correct the module {name!r}") from e
    own = folder / f"{name}.py" if folder is not None else None
    if own is not None and own.is_file() and Path(str(module.__file__)).resolve() != own.resolve():
        raise ConfigError(detail=f"{own}: {module.__file__} is imported instead", hint="rename the file, because its name is in use")
    return module


def _raised_at(error: Exception) -> str:
    """`FILE:LINE` of the code that raised it."""
    frame = traceback.extract_tb(error.__traceback__)[-1]
    return f"{frame.filename}:{frame.lineno}"
