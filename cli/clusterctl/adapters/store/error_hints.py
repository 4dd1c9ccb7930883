"""The next action for an error of the database, by words of its message."""

from __future__ import annotations

_ACCESS = "give this user write access, or choose another directory with --state-dir"
_SQLITE = (
    ("full", "free space there; the transaction was rolled back"),
    ("readonly", _ACCESS),
    ("unable to open", _ACCESS),
    ("permission denied", _ACCESS),
    ("locked", "another clusterctl has locked the database for a long time; try again"),
    (
        "malformed",
        "the file is damaged: docs/how-to/backup-and-restore.md shows how to restore it; the run directories contain the raw evidence",
    ),
    ("not a database", "clusterctl did not write this file: move it away or choose another directory with --state-dir"),
    ("disk i/o error", "the disk or its file system has errors: see `dmesg`"),
)
# Messages of libpq and of the server; the first match counts, so those that any failed connection has come last.
_POSTGRESQL = (
    ("no space left", "free space on the server of database_url; the transaction was rolled back"),
    ("root certificate file", "sslrootcert in database_url must name the certificate of the authority, readable for this user"),
    (
        "certificate verify failed",
        "sslrootcert in database_url must name the authority that signed the certificate of the server, and both must be valid today",
    ),
    ("does not match host name", "write the host in database_url as the server's certificate names it"),
    ("does not support ssl", "enable ssl on the server, or remove sslmode from database_url where its network is trusted"),
    ("no encryption", "the server takes encrypted connections only: add sslmode=verify-full and sslrootcert to database_url"),
    ("valid client certificate", "the server requires a client certificate: add sslcert and sslkey to database_url"),
    ("private key file", "sslkey in database_url must name the key of sslcert, owned by this user, with mode 0600"),
    ("certificate authentication failed", "the client certificate is of another user: its common name must be the user in database_url"),
    ("alert unknown ca", "the server does not trust the client certificate: sslcert must be signed by the server's ssl_ca_file"),
    ("invalid sslmode value", "sslmode is disable, allow, prefer, require, verify-ca or verify-full; use verify-full"),
    ("invalid connection option", "correct the parameter in database_url: https://www.postgresql.org/docs/current/libpq-connect.html"),
    ("resolve host", "correct the host in database_url, or look why this machine cannot resolve it"),
    ("permission denied", "grant the user of database_url the right to create, read and write tables"),
    ("read-only transaction", "database_url names a standby: name the primary"),
    ("connect", "check that the server of database_url runs and that this user can log in"),
)
_OURS = (("foreign key", "the node or run was not recorded before; report this as a bug"),)


def database_hint(dialect: str, message: str) -> str:
    """The next action; `dialect` is `sqlite` or `postgresql`."""
    low = message.lower()
    table = _SQLITE if dialect == "sqlite" else _POSTGRESQL
    return next((hint for sign, hint in (*_OURS, *table) if sign in low), "run again with --debug and report it")
