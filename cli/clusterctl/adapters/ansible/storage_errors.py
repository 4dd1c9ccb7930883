"""Where the files of a playbook run cannot be written: a full disk is the site's, and no defect of ours."""

from __future__ import annotations

import errno
from contextlib import contextmanager
from typing import TYPE_CHECKING

from clusterctl.model.errors import StoreError

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

_ERRORS = frozenset({errno.ENOSPC, errno.EDQUOT, errno.EROFS, errno.EACCES, errno.EIO})


@contextmanager
def storage_errors(artifacts: Path) -> Iterator[None]:
    """Convert the errors of a disk that is full, or cannot be written.

    Raises:
        StoreError: with the path, and what to do.
    """
    try:
        yield
    except OSError as e:
        if e.errno not in _ERRORS:
            raise
        raise StoreError(path=e.filename or artifacts, detail=e.strerror, hint="free space there or set --state-dir, then run again") from e
