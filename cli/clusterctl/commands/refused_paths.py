"""Which errors of the operating system are about a path of the site, and no defect of clusterctl."""

from __future__ import annotations

import errno

from clusterctl.model.errors import PathError

_CLOSED = "`namei -l {path}` shows which folder or file is closed to this user"
_NO_ROOM = "free space there, or name another place"
_HINTS = {
    errno.EACCES: _CLOSED,
    errno.EPERM: _CLOSED,
    errno.EROFS: "name a place that is not read-only",
    errno.ENOSPC: _NO_ROOM,
    errno.EDQUOT: _NO_ROOM,
    errno.ENAMETOOLONG: "name a shorter path",
    errno.ELOOP: "its symbolic links lead in a circle",
    errno.ESTALE: "mount its file system again",
    errno.EIO: "the kernel log has the error of its disk or mount",
}


def path_refused(problem: Exception) -> PathError | None:
    """The error of a path that the operating system refuses; None for every other exception."""
    if not isinstance(problem, OSError) or problem.filename is None or problem.errno not in _HINTS:
        return None
    error = PathError(path=problem.filename, detail=problem.strerror, hint=_HINTS[problem.errno].format(path=problem.filename))
    error.__cause__ = problem
    return error
