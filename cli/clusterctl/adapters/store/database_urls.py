"""URLs of the database: reading them, and what of them may be shown."""

from __future__ import annotations

from sqlalchemy import URL, make_url
from sqlalchemy.exc import ArgumentError

from clusterctl.adapters.config_keys import database_problem

# Parameters of libpq 18 that are secrets: https://www.postgresql.org/docs/18/libpq-connect.html#LIBPQ-PARAMKEYWORDS
_SECRETS = frozenset({"password", "sslpassword", "oauth_client_secret", "scram_client_key", "scram_server_key"})
_HIDDEN = "hidden"


def parsed_url(url: str) -> URL:
    """The parts of a URL.

    Raises:
        ArgumentError: malformed, or of another kind of database.
    """
    if not url.startswith("sqlite") and url.count("@") > 1:  # part of the password would be taken for the host, and shown
        raise ArgumentError("more than one @: the password is not percent-encoded")
    parsed = make_url(url)
    if problem := database_problem(parsed.drivername):
        raise ArgumentError(problem)
    return parsed


def without_password(url: str | URL) -> str:
    """A URL for messages: without its password and the secrets among its parameters."""
    parsed = make_url(url)
    secrets = {name: _HIDDEN for name in parsed.query if name in _SECRETS}
    return parsed.update_query_dict(secrets).render_as_string(hide_password=True)


def without_credentials(url: str) -> str:
    """A URL that could not be read, for messages: what precedes an @ and what follows a ? may hold a secret."""
    return url.rsplit("@", maxsplit=1)[-1].partition("?")[0]


def server_and_database(url: str, machine: str) -> str:
    """What two URLs of one database have in common, whoever connects, and by which certificates.

    `machine`: the name of this one. A file, a socket or a loopback address is another database on each machine.
    """
    parsed = make_url(url)
    hosts = parsed.normalized_query.get("host", ()) or (parsed.host or "",)
    ports = ",".join(parsed.normalized_query.get("port", ())) or str(parsed.port or "")
    named = ",".join(hosts)
    return f"{machine + ' ' if any(map(_is_of_this_machine, hosts)) else ''}{named}:{ports}/{parsed.database or ''}"


def _is_of_this_machine(host: str) -> bool:
    """No host at all is a file or the usual socket, a path is a socket."""
    return not host or host.startswith(("/", "127.", "localhost", "::1", "[::1]"))


def connection_string(url: str) -> str:
    """A URL of PostgreSQL for libpq, as the store's own driver hands it on: libpq has no `host=NAME:PORT` for each of several servers."""
    from psycopg.conninfo import make_conninfo  # noqa: PLC0415 an extra

    parsed = make_url(url)
    _, parameters = parsed.get_dialect()().create_connect_args(parsed)
    return make_conninfo(**parameters)
