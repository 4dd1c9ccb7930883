"""Who may read: only this machine, unless a token is required or a reverse proxy identifies the client. Pure."""

from __future__ import annotations

import base64
import hmac
import re
from dataclasses import dataclass
from enum import StrEnum
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_address, ip_network
from typing import TYPE_CHECKING

from clusterctl.model.errors import UsageProblemError

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

Network = IPv4Network | IPv6Network
# A word can be guessed; 16 random characters of base64 are 96 bits.
_LEAST_TOKEN = 16
# [address] or name, and a port
_HOST = re.compile(r"(?:\[([0-9A-Fa-f:]+)\]|([^\s:\[\]@/]+))(?::[0-9]+)?")
# RFC 9110, section 5.6.2.
_HEADER = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+")
_OF_EVERY_CLIENT = frozenset(
    {"accept", "accept-encoding", "accept-language", "cache-control", "connection", "cookie", "host", "referer", "user-agent", "via"}
)


class Denial(StrEnum):
    """Why a request is denied."""

    NO_TOKEN = "no_token"  # noqa: S105 no password
    NO_USER = "no_user"
    OTHER_HOST = "other_host"


@dataclass(frozen=True, slots=True)
class Access:
    """What a request must contain.

    Attributes:
        token: as a bearer token, or as the password in a browser; empty = none is required.
        header: set by a reverse proxy that has authenticated the client; lower case; empty = no proxy is trusted.
        proxies: the addresses from which the header is trusted; empty = loopback addresses and the Unix socket.
        needs_own_host: neither is required, so the requested host name must be one of this machine: a page from elsewhere
            could have its own name resolved to 127.0.0.1 (DNS rebinding). A header from a loopback address counts for such names only, too.
    """

    token: str = ""
    header: str = ""
    proxies: tuple[Network, ...] = ()
    needs_own_host: bool = False


def is_loopback(address: str) -> bool:
    """Whether an address reaches this machine only; `localhost` does.

    Raises:
        UsageProblemError: the text is not an address.
    """
    if address == "localhost":
        return True
    try:
        return ip_address(address).is_loopback
    except ValueError as e:
        raise UsageProblemError(detail=f"--bind {address}: not an IP address", hint="for example 127.0.0.1, ::1 or 10.0.0.5") from e


def access_of(*, address: str, token: str | None, header: str, proxies: Sequence[str]) -> Access:
    """What requests to an address must contain; an empty address is a Unix socket. `token`: the content of the file, None without one.

    Raises:
        UsageProblemError: anyone could read, or the options contradict each other.
    """
    networks = tuple(_network(p) for p in proxies)
    if header and not _HEADER.fullmatch(header):
        raise UsageProblemError(detail=f"--trust-header {header!r} is not the name of a header", hint="for example X-Remote-User")
    if header.lower() in _OF_EVERY_CLIENT:
        detail = f"--trust-header {header}: clients send this header themselves, so everyone would be let in"
        raise UsageProblemError(detail=detail, hint="name the header in which the proxy names the user, for example X-Remote-User")
    if networks and not header:
        raise UsageProblemError(detail="--proxy without --trust-header", hint="name the header in which the proxy names the user")
    if token is not None and len(token) < _LEAST_TOKEN:
        hint = "write 32 random characters into it: openssl rand -hex 16"
        raise UsageProblemError(detail=f"the token has {len(token)} characters, at least {_LEAST_TOKEN} are needed", hint=hint)
    if (token is not None and not (token.isascii() and token.isprintable())) or " " in (token or ""):
        raise UsageProblemError(detail="the token is not one word of ASCII characters", hint="openssl rand -hex 16 makes one")
    if address and not is_loopback(address) and token is None and not (header and networks):
        also = ", and --proxy ADDRESS of the proxy that sets the header" if header else ", or --trust-header NAME and --proxy ADDRESS"
        hint = f"add --token-file FILE{also}; or listen on 127.0.0.1 and use ssh -L"
        raise UsageProblemError(detail=f"whoever reaches {address} could read everything", hint=hint)
    return Access(token or "", header.lower(), networks, needs_own_host=bool(address) and token is None and not header)


def _network(text: str) -> Network:
    try:
        found = ip_network(text)
    except ValueError as e:
        raise UsageProblemError(detail=f"--proxy {text}: {e}", hint="for example 10.0.0.5 or 10.0.0.0/29") from e
    if not found.prefixlen:
        raise UsageProblemError(detail=f"--proxy {text} is every address", hint="name the address of the proxy")
    return found


def denial(access: Access, headers: Iterable[tuple[bytes, bytes]], peer: str | None) -> Denial | None:
    """Why a request is denied; None if it may read.

    `headers` as ASGI passes them, names in lower case; `peer` is the address of the client, None on a Unix socket.
    """
    sent = [(name.decode("latin-1"), value.decode("latin-1")) for name, value in headers]
    if access.needs_own_host:
        return None if _is_own_host(_only(sent, "host")) else Denial.OTHER_HOST
    if not access.token and not access.header:
        return None
    if access.token and _is_token(_only(sent, "authorization"), access.token):
        return None
    if access.header and _is_proxy(peer, access.proxies) and _only(sent, access.header).strip():
        # A browser on this machine is as near as its proxy: its page could name a user, but not a host of this machine.
        return Denial.OTHER_HOST if _is_local(peer) and not _is_own_host(_only(sent, "host")) else None
    return Denial.NO_TOKEN if access.token else Denial.NO_USER


def _only(headers: Iterable[tuple[str, str]], name: str) -> str:
    """The value of a header that occurs once: with two, it is unknown which one the proxy checked."""
    found = [value for key, value in headers if key == name]
    return found[0] if len(found) == 1 else ""


def _is_token(authorization: str, token: str) -> bool:
    scheme, _, given = authorization.partition(" ")
    if scheme.lower() == "basic":  # the only way in which a browser sends it
        try:
            given = base64.b64decode(given.strip(), validate=True).decode("latin-1").partition(":")[2]
        except ValueError:  # also for text that is not ASCII
            return False
    elif scheme.lower() != "bearer":
        return False
    return hmac.compare_digest(given.strip().encode(), token.encode())


def _is_proxy(peer: str | None, proxies: Sequence[Network]) -> bool:
    if peer is None:
        return not proxies
    address = _address_of(peer)
    return address is not None and (any(address in n for n in proxies) if proxies else address.is_loopback)


def _is_local(peer: str | None) -> bool:
    address = None if peer is None else _address_of(peer)
    return address is not None and address.is_loopback


def _address_of(peer: str) -> IPv4Address | IPv6Address | None:
    try:
        address = ip_address(peer)
    except ValueError:
        return None
    return address.ipv4_mapped or address if isinstance(address, IPv6Address) else address


def _is_own_host(host: str) -> bool:
    named = _HOST.fullmatch(host)
    if named is None:
        return False
    name = named[1] or named[2]
    try:
        return name.lower() == "localhost" or ip_address(name).is_loopback
    except ValueError:
        return False
