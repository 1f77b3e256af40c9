"""Client of Berth, a floating license server: one file, for Python 3.9 and later.

    import berth

    client = berth.Client("https://berth.plant7.lan:8443", "CAD", ca="berth-ca.pem")
    with client.acquire("ada#ws-17", on_loss=stop_working) as slot:
        work(slot.license)

A slot renews itself in a background thread until it is released. Release it with `release()`, or
use it as a context manager. At a normal exit of the interpreter, slots that are still held are
released, for at most 3 seconds. After a signal, a crash or os._exit(), the slot ends by its
time-out.

Several URLs are the hosts of one pair: a call that fails at one host goes to the other. While no
server answers, a slot stays held until its end, and the renewal is repeated. Only then is it lost:
`is_held` is False, and `on_loss(slot, error)` is called, in a thread of its own.

Every call can be made from any thread. After os.fork(), a child holds no slot: create a new Client
there. Only the standard library is needed, except for `verify`, which needs `cryptography`.
"""

# SPDX-License-Identifier: Apache-2.0
# The package `cryptography` is optional.
# mypy: disable-error-code="import-not-found"

from __future__ import annotations

import atexit
import base64
import binascii
import contextlib
import dataclasses
import datetime
import hashlib
import http.client
import io
import ipaddress
import json
import math
import os
import queue
import random
import re
import socket
import ssl
import subprocess
import sys
import tempfile
import threading
import time
import unicodedata
import urllib.parse
import weakref
from typing import Any, Callable, Dict, Iterator, List, Mapping, Optional, Sequence
from typing import Set, Tuple, Type, TypeVar, Union, cast

__all__ = ["AccessDeniedError", "BerthError", "Borrow", "Client", "Consumption", "Feature"]
__all__ += ["InvalidArgumentError", "Lease", "LeaseRefusedError", "NoFreeSlotError"]
__all__ += ["OtherApplianceError", "RefusedError", "Slot", "TlsFailedError", "UnavailableError"]

_MAX_INTEGER = 2**53 - 1
_MAX_COUNT = 10**12
_MAX_BODY = 1024 * 1024
# One second. A slot is renewed three times in its time-out: a shorter one would be a flood.
_MIN_TIMEOUT_MINUTES = 1 / 60
_MAX_TIMEOUT_MINUTES = 5_256_000
# The limits of a lease and a license, in bytes; the other clients have the same ones.
_MAX_DOCUMENT = 49_152
_MAX_CERTIFICATE = 1_024
_MAX_BUNDLE = 131_072
_MAX_MEMBERS = 256  # of one object
_YEAR_9999 = 253_402_300_799  # its last second
_LEEWAY = 60  # seconds that the clocks of this machine and of the server may differ
_LONGEST_WAIT = 30  # seconds of one waiting request
_RELEASE_SECONDS = 5.0
_STANDBY_SECONDS = 30.0
_LAST_SECONDS = 3.0  # to leave a queue, and to release everything at exit
_NO_SLOT_CODES = ("floating_not_available", "slots_capped")

Json = Dict[str, Any]
_H = TypeVar("_H", bound="_Handle")
_Key = Tuple[str, Optional[int], Optional[str]]


class BerthError(Exception):
    """Base class of all errors of this module.

    code: act on it. message: a sentence that can be shown. status: the HTTP status, None without
    a reply. request_id: identifies the request in the server's log. key: the idempotency key of a
    call that may have been counted; repeat the call with it.
    """

    def __init__(
        self,
        message: str,
        code: str = "",  # optional, so that the error can be pickled and copied
        status: Optional[int] = None,
        request_id: Optional[str] = None,
        key: Optional[str] = None,
    ) -> None:
        super().__init__(message)
        self.message = message
        self.code = code
        self.status = status
        self.request_id = request_id
        self.key = key


class NoFreeSlotError(BerthError):
    """All slots are in use. position: the place in the queue, or None."""

    position: Optional[int] = None


class AccessDeniedError(BerthError):
    """The server refuses this caller: status 401 or 403."""


class RefusedError(BerthError):
    """The server refuses the call for another reason; see code."""


class UnavailableError(BerthError):
    """No server gave a final answer in time. The call may have been done."""


class TlsFailedError(BerthError):
    """No server can be used by TLS: a fault of a certificate or address. Not repeated."""


class OtherApplianceError(BerthError):
    """The server that answers is not the one that answered first, nor its pair."""


class LeaseRefusedError(BerthError):
    """`verify` rejects a lease or its license; code says why."""


class InvalidArgumentError(BerthError):
    """An argument is wrong, the client is closed, or the process is a child of fork."""


@dataclasses.dataclass(frozen=True)
class Borrow:
    """A slot that is held until a date. Keep lease and license for `verify`.

    lease is None only if a key was repeated after the slot was returned.
    """

    user: str
    license_id: int
    borrowed_until: str
    lease: Optional[str]
    license: str


@dataclasses.dataclass(frozen=True)
class Consumption:
    """Outcome of `consume`. maximum is None if there is no maximum."""

    total: int
    maximum: Optional[int]
    key: str
    license_id: int


@dataclasses.dataclass(frozen=True)
class Lease:
    """A lease that passed `verify`. expires_at is RFC 3339 in UTC."""

    user: str
    license_id: int
    expires_at: str
    product: str
    serial: int


def _find_clock() -> Callable[[], float]:
    # A slot ends while the machine sleeps too, so the clock must count sleep: CLOCK_BOOTTIME of
    # Linux and CLOCK_MONOTONIC of macOS do; on Windows, time.monotonic() does.
    names = ["CLOCK_BOOTTIME"] + (["CLOCK_MONOTONIC"] if sys.platform == "darwin" else [])
    for name in names:
        number = getattr(time, name, None)
        read: Any = getattr(time, "clock_gettime", None)
        with contextlib.suppress(OSError):
            if number is not None and read(number) >= 0:
                return lambda: cast(float, read(number))
    return time.monotonic


_clock = _find_clock()


def _invalid(message: str, code: str = "invalid_argument") -> InvalidArgumentError:
    return InvalidArgumentError(message, code)


def _jitter(seconds: float, part: float) -> float:
    return seconds * random.uniform(1 - part, 1 + part)


# --- Values of replies -------------------------------------------------------------------------


def _reject_constant(name: str) -> None:
    raise ValueError(f"{name} is not JSON")


def _strict_members(pairs: List[Tuple[str, Any]]) -> Json:
    members = dict(pairs)
    if len(members) != len(pairs):
        raise ValueError("a member appears twice")
    if len(members) > _MAX_MEMBERS:
        raise ValueError("too many members")
    return members


def _parse_object(text: Union[bytes, str], is_strict: bool = False) -> Json:
    """The JSON object in text; ValueError for anything else."""
    try:
        decoded = text.decode("utf-8") if isinstance(text, bytes) else text
        hook = _strict_members if is_strict else None
        value = json.loads(decoded, parse_constant=_reject_constant, object_pairs_hook=hook)
    except RecursionError:
        raise ValueError("nested too deep") from None
    if not isinstance(value, dict):
        raise ValueError("not an object")
    return value


def _text(values: Json, name: str) -> str:
    value = values.get(name)
    if not isinstance(value, str):
        raise ValueError(f"{name} is not a text")
    return value


def _integer(values: Json, name: str, low: int = 0, high: int = _MAX_INTEGER) -> int:
    value = values.get(name)
    if isinstance(value, float) and value.is_integer():  # 10.0 and 1e1 are integers in JSON
        value = int(value)
    if type(value) is not int or not low <= value <= high:
        raise ValueError(f"{name} is not a valid integer")
    return value


def _boolean(values: Json, name: str) -> bool:
    value = values.get(name)
    if not isinstance(value, bool):
        raise ValueError(f"{name} is not a boolean")
    return value


def _timeout_seconds(values: Json) -> float:
    minutes: Any = values.get("floating_timeout")
    is_number = type(minutes) in (int, float)
    if not is_number or not _MIN_TIMEOUT_MINUTES <= minutes <= _MAX_TIMEOUT_MINUTES:
        raise ValueError("floating_timeout is not a valid number")
    return float(minutes) * 60


@dataclasses.dataclass
class _Grant:
    """What a reply of register, borrow or featureRegister says."""

    timeout: float
    license_id: int = 0
    registered_at: str = ""
    expires_at: str = ""
    is_borrowed: bool = False
    license_json: str = "{}"


def _parse_slot(values: Json) -> _Grant:
    license_json = _text(values, "license_json")
    _parse_object(license_json)
    return _Grant(
        timeout=_timeout_seconds(values),
        license_id=_integer(values, "license_id"),
        registered_at=_text(values, "registered_at"),
        expires_at=_text(values, "expires_at"),
        is_borrowed=_boolean(values, "is_borrowed"),
        license_json=license_json,
    )


def _parse_feature(values: Json) -> _Grant:
    _text(values, "code")
    return _Grant(timeout=_timeout_seconds(values))


# --- One HTTP exchange -------------------------------------------------------------------------


class _NotFinal(Exception):
    """An attempt without a final answer. Its text goes on after the URL of the server.

    code is None unless Berth sent one. hint: what helps, if it is not the usual.
    """

    def __init__(
        self,
        text: str,
        reply: Optional[_Reply] = None,
        code: Optional[str] = None,
        hint: str = "check that the license server runs and that this machine can reach it",
    ) -> None:
        super().__init__(text)
        self.reply = reply
        self.code = code
        self.hint = hint
        self.was_sent = True  # False: no part of the request was sent to a server


class _TlsFault(_NotFinal):
    """A fault of TLS: repeating the request does not help."""


class _OtherApplianceAnswer(_NotFinal):
    """A reply of another appliance than the one that answered first."""


@dataclasses.dataclass
class _Reply:
    url: str
    status: int
    headers: Mapping[str, str]
    body: bytes

    def header(self, name: str) -> str:
        value = self.headers.get(name.lower(), "")
        return "".join(one for one in value if " " <= one <= "~")[:200]

    def retry_after(self) -> Optional[float]:
        value = self.header("Retry-After")
        return min(float(value), 3600.0) if re.fullmatch("[0-9]{1,9}", value) else None

    def request_id(self) -> Optional[str]:
        return self.header("X-Request-Id")[:63] or None


@dataclasses.dataclass
class _Request:
    method: str
    path: str
    parse: Callable[[_Reply], Any]
    body: Optional[Json] = None
    headers: Dict[str, str] = dataclasses.field(default_factory=dict)
    timeout: float = 15.0
    wait: Optional[Callable[[int], int]] = None  # by server: seconds to wait for a slot
    is_cancelled: Callable[[], bool] = lambda: False
    key: Optional[str] = None
    refusal: Optional[_Reply] = None  # the final answer, if it is not a success


@dataclasses.dataclass(frozen=True)
class _Server:
    url: str
    is_tls: bool
    host: str
    port: Optional[int]
    prefix: str

    def is_unencrypted(self) -> bool:
        """Whether what is sent to the server leaves this machine without encryption."""
        is_local = self.host == "localhost"
        with contextlib.suppress(ValueError):
            is_local = ipaddress.ip_address(self.host).is_loopback
        return not self.is_tls and not is_local


def _parse_server(url: object) -> _Server:
    hint = "give an address such as https://berth.example:8443"
    if not isinstance(url, str):
        raise _invalid(f"urls: an address must be a text; {hint}")
    try:
        parts = urllib.parse.urlsplit(url.strip())
        port = parts.port
        host = (parts.hostname or "").encode("idna").decode("ascii")
    except ValueError:
        raise _invalid(f"urls: an address is not valid; {hint}") from None
    if "@" in url:
        raise _invalid("urls: an address has credentials in it; use the option login=")
    prefix = parts.path.rstrip("/")
    is_known = parts.scheme in ("http", "https") and re.fullmatch(r"[0-9A-Za-z._:%-]+", host)
    if not is_known or port == 0 or re.search("[?#]", url) or not re.fullmatch("[!-~]*", prefix):
        raise _invalid(f"urls: the address {url} is not valid; {hint}")
    if "/api/v4" in prefix:
        raise _invalid(f"urls: {url}: give the address without /api/v4")
    return _Server(url.strip().rstrip("/"), parts.scheme == "https", host, port, prefix)


class _DeadlineSocket(io.RawIOBase):
    """The part of a socket that http.client uses, with one deadline for all reads and writes."""

    def __init__(self, sock: socket.socket, deadline: float) -> None:
        self._sock = sock
        self._deadline = deadline

    def _limited(self) -> socket.socket:
        self._sock.settimeout(_seconds_left(self._deadline))
        return self._sock

    def sendall(self, data: bytes) -> None:
        rest = memoryview(data)
        while rest:
            rest = rest[self._limited().send(rest) :]

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        return self._limited().recv_into(buffer)

    def makefile(self, mode: str, *_: Any, **__: Any) -> io.BufferedReader:
        return io.BufferedReader(self)

    def close(self) -> None:
        """Does nothing: http.client closes the socket before it reads the body of a reply."""


class _FinalResponse(http.client.HTTPResponse):
    """The reply that follows interim ones, such as 103 Early Hints of a proxy."""

    def begin(self) -> None:
        super().begin()
        while 101 < self.status < 200:
            self.headers = cast(Any, None)  # or begin() would read nothing more
            super().begin()


def _seconds_left(deadline: float) -> float:
    left = deadline - _clock()
    if left <= 0:
        raise socket.timeout("timed out")
    return left


def _resolve(host: str, port: int, deadline: float) -> List[Any]:
    # getaddrinfo has no time-out, so it runs in a thread that can be left behind.
    found: queue.SimpleQueue[Any] = queue.SimpleQueue()

    def look_up() -> None:
        try:
            found.put(socket.getaddrinfo(host, port, type=socket.SOCK_STREAM))
        except (OSError, UnicodeError) as error:
            found.put(error)

    if re.fullmatch(r"[0-9.]+|.*:.*", host):
        look_up()
    else:
        try:
            threading.Thread(target=look_up, name="berth-resolve", daemon=True).start()
        except RuntimeError:  # the interpreter is shutting down
            look_up()
    try:
        outcome = found.get(timeout=_seconds_left(deadline))
    except queue.Empty:
        raise socket.timeout("timed out") from None
    if isinstance(outcome, Exception):
        raise outcome
    return cast(List[Any], outcome)


def _connect(server: _Server, deadline: float) -> socket.socket:
    port = server.port or (443 if server.is_tls else 80)
    failure: Exception = OSError("the host name has no address")
    addresses = _resolve(server.host, port, deadline)
    for number, (family, kind, protocol, _, address) in enumerate(addresses):
        sock = socket.socket(family, kind, protocol)
        try:
            # Each address gets its share, so that a silent one leaves time for the next.
            sock.settimeout(_seconds_left(deadline) / (len(addresses) - number))
            sock.connect(address)
            sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            return sock
        except OSError as error:
            sock.close()
            failure = error
        except BaseException:
            sock.close()
            raise
    raise failure


# Faults of TLS by the codes and names of OpenSSL: what is said of the server, with the message in
# place of {}, and what helps.
_CERTIFICATE_FAULTS = {
    **dict.fromkeys(
        (2, 7, 18, 19, 20, 21, 27),
        (
            "has a certificate that is not trusted: {}",
            "give the CA of the site with the option ca=",
        ),
    ),
    9: (
        "has a certificate that is not valid yet",
        "check the clocks of this machine and of the server",
    ),
    10: (
        "has a certificate that has expired",
        "renew it on the server with berth tls init, and check the clock of this machine",
    ),
    **dict.fromkeys(
        (62, 64),
        (
            "has a certificate for other names: {}",
            "use a name of the server that is in its certificate",
        ),
    ),
}
_HANDSHAKE_FAULTS = {
    "WRONG_VERSION|TOO_LONG|RECORD_LAYER|HTTP_REQUEST": (
        "does not answer by TLS",
        "check that the address is the TLS address",
    ),
    "ALERT_(.*CERTIFICATE|UNKNOWN_CA|ACCESS_DENIED|HANDSHAKE_FAILURE)": (
        "refused the certificate of this client, or wants one: {}",
        "give a certificate that the server accepts with the option certificate=",
    ),
}


# By the codes of getaddrinfo, of which not every system has all.
_LOOKUP_FAULTS = {
    getattr(socket, "EAI_NONAME", None): "cannot be reached: no such host",
    getattr(socket, "EAI_NODATA", None): "cannot be reached: no such host",
    getattr(socket, "EAI_AGAIN", None): "cannot be looked up now",
}


def _explain(error: Exception) -> str:
    if isinstance(error, ssl.SSLCertVerificationError):
        return str(error.verify_message)
    text = (error.strerror if isinstance(error, OSError) else None) or str(error)
    # An error of ssl has names and numbers of the library around its text.
    return re.sub(r"^\[[^]]*\] *| *\(_ssl\.c:\d+\)$", "", text) or type(error).__name__


def _find_alert(sock: Optional[socket.socket], error: Exception) -> Exception:
    """Why a server closed a connection by TLS: writing fails before its alert is read."""
    if isinstance(sock, ssl.SSLSocket) and isinstance(error, (ssl.SSLEOFError, ConnectionError)):
        try:
            sock.settimeout(1.0)
            sock.recv(1)
        except ssl.SSLError as alert:
            return alert
        except (OSError, ValueError):
            pass
    return error


def _find_tls_fault(error: ssl.SSLError, was_sent: bool) -> Optional[_NotFinal]:
    """None: the connection was cut, or the fault is not one of the handshake."""
    fault: Optional[Tuple[str, str]] = None
    if isinstance(error, ssl.SSLCertVerificationError):
        fault = _CERTIFICATE_FAULTS.get(error.verify_code)
    for pattern, known in _HANDSHAKE_FAULTS.items():
        if re.search(pattern, str(error)):
            fault = known
    # With TLS 1.3 a client learns after its request that the server refused its certificate.
    if fault is None and (was_sent or isinstance(error, ssl.SSLEOFError)):
        return None
    text, hint = fault or ("cannot be used by TLS: {}", "check its TLS settings")
    return _TlsFault(text.format(_printable(_explain(error)).rstrip(".")), hint=hint)


def _network_failure(error: Exception, was_sent: bool) -> _NotFinal:
    failure: Optional[_NotFinal] = None
    if isinstance(error, socket.timeout):
        failure = _NotFinal("gave no complete reply in time")
    elif isinstance(error, socket.gaierror) and error.errno in _LOOKUP_FAULTS:
        hint = "check the name of the server, and whether this machine can look it up"
        failure = _NotFinal(_LOOKUP_FAULTS[error.errno], hint=hint)
    elif isinstance(error, ssl.SSLError):
        failure = _find_tls_fault(error, was_sent)
    if failure is None:
        failure = _NotFinal(f"cannot be reached: {_printable(_explain(error))}")
    failure.was_sent = was_sent and not isinstance(failure, _TlsFault)
    return failure


# --- Lease check -------------------------------------------------------------------------------

_SYMBOLS = "0123456789ABCDEFGHJKMNPQRSTVWXYZ"
# Public keys of small order, with the highest bit clear: one signature fits every text.
_SMALL_ORDER_KEYS = [
    "0000000000000000000000000000000000000000000000000000000000000000",
    "0100000000000000000000000000000000000000000000000000000000000000",
    "26e8958fc2b227b045c3f489f2ef98f0d5dfac05d3c63339b13802886d53fc05",
    "c7176a703d4dd84fba3c0b760d10670f2a2053fa2c39ccc64ec7fd7792ac037a",
    "ecffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f",
    "edffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f",
    "eeffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f",
]


class _LeaseFault(Exception):
    pass


def _decode_base64url(text: str) -> bytes:
    if not re.fullmatch("[A-Za-z0-9_-]+", text):
        raise ValueError("not base64url")
    data = base64.urlsafe_b64decode(text + "=" * (-len(text) % 4))
    if base64.urlsafe_b64encode(data).rstrip(b"=").decode("ascii") != text:
        raise ValueError("not canonical base64url")
    return data


def _decode_key(jwk: object) -> bytes:
    if not isinstance(jwk, dict) or jwk.get("kty") != "OKP" or jwk.get("crv") != "Ed25519":
        raise ValueError("not an Ed25519 key")
    data = _decode_base64url(_text(jwk, "x"))
    if len(data) != 32 or (data[:31] + bytes([data[31] & 127])).hex() in _SMALL_ORDER_KEYS:
        raise ValueError("not an Ed25519 key")
    return data


def _key_id(key: bytes) -> str:
    """The first 80 bits of the hash of a key, which name its owner."""
    number = int.from_bytes(hashlib.sha256(key).digest()[:10], "big")
    return "".join(_SYMBOLS[number >> shift & 31] for shift in range(75, -1, -5))


def _has_signature(key: bytes, data: bytes, signature: bytes) -> bool:
    import cryptography.exceptions
    from cryptography.hazmat.primitives.asymmetric import ed25519

    try:
        ed25519.Ed25519PublicKey.from_public_bytes(key).verify(signature, data)
    except (cryptography.exceptions.InvalidSignature, ValueError):
        return False
    return True


@dataclasses.dataclass
class _Document:
    """A signed document (JWT) whose form is right; the signature is not checked yet."""

    header: Json
    header_text: bytes
    payload: Json
    signed: bytes
    signature: bytes

    @classmethod
    def parse(cls, text: str, kind: str) -> _Document:
        if len(text) > _MAX_DOCUMENT:
            raise ValueError("too long")
        parts = text.split(".")
        if len(parts) != 3:
            raise ValueError("not three parts")
        header_text = _decode_base64url(parts[0])
        header = _parse_object(header_text, is_strict=True)
        if header.get("alg") != "EdDSA" or header.get("typ") != kind or "crit" in header:
            raise ValueError("another kind of document")
        payload = _parse_object(_decode_base64url(parts[1]), is_strict=True)
        signed = f"{parts[0]}.{parts[1]}".encode("ascii")
        return cls(header, header_text, payload, signed, _decode_base64url(parts[2]))

    def is_signed_by(self, key: bytes) -> bool:
        return _has_signature(key, self.signed, self.signature)

    def require_header(self, *names: str) -> None:
        """Only these members, in this order, without white space: it cannot be read differently."""
        members = {name: _text(self.header, name) for name in names}
        if self.header_text != json.dumps(members, separators=(",", ":")).encode("ascii"):
            raise ValueError("the header has another form")


@dataclasses.dataclass
class _AcceptedKeys:
    roots: List[bytes]
    retired: List[bytes]


@dataclasses.dataclass
class _CertifiedDocument:
    """A license or policy with the certificate of the vendor's issuing key that signed it."""

    document: _Document
    certificate: _Document
    vendor: str
    key: bytes

    @classmethod
    def parse(cls, text: str, kind: str) -> _CertifiedDocument:
        document = _Document.parse(text, kind)
        document.require_header("alg", "typ", "kid", "cert")
        certificate_text = _text(document.header, "cert")
        if len(certificate_text) > _MAX_CERTIFICATE:
            raise ValueError("the certificate is too long")
        certificate = _Document.parse(certificate_text, "berth-key+jwt")
        _text(_only(certificate.header, "alg", "typ", "kid"), "kid")
        content = certificate.payload
        _only(content, "iss", "iat", "until", "cnf", "trust")
        key = _decode_key(_only(content["cnf"], "jwk")["jwk"])
        issued, until = (_integer(content, name, 0, _YEAR_9999) for name in ("iat", "until"))
        _integer(content, "trust", 1, 1_000_000)
        # Installed licenses outlive their key: `until` is not compared with the time.
        if issued >= until:
            raise ValueError("the certificate ends before it begins")
        return cls(document, certificate, _text(content, "iss"), key)

    def find_root(self, keys: _AcceptedKeys) -> bytes:
        """The vendor's root: it signed the certificate, and the issuing key the document."""
        named = [root for root in keys.roots if _key_id(root) == self.vendor]
        is_genuine = (
            len(named) > 0
            and self.certificate.header["kid"] == self.vendor
            and self.document.header["kid"] == _key_id(self.key)
            and self.document.payload.get("iss") == self.vendor
            # A root signs certificates alone.
            and self.key not in keys.roots
            and self.certificate.is_signed_by(named[0])
            and self.document.is_signed_by(self.key)
        )
        if not is_genuine:
            raise _LeaseFault("license_forged")
        if self.key in keys.retired:
            raise _LeaseFault("retired_key")
        return named[0]


def _only(value: object, *names: str) -> Json:
    """An object with these members and no others."""
    if not isinstance(value, dict) or set(value) != set(names):
        raise ValueError("an object has other members")
    return value


def _parse_time(value: object) -> Optional[float]:
    if value is None:
        return None
    form = r"(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d)(\.\d{1,9})?Z"
    found = re.fullmatch(form, value, re.ASCII) if isinstance(value, str) else None
    if found is None:
        raise ValueError("not a time")
    moment = datetime.datetime.fromisoformat(found[1]).replace(tzinfo=datetime.timezone.utc)
    return moment.timestamp() + float(found[2] or 0)


@dataclasses.dataclass
class _Terms:
    product: str
    is_enabled: bool
    start: float
    end: float
    longest: float

    @classmethod
    def parse(cls, payload: Json, days: int = 0) -> _Terms:
        terms = payload.get("terms")
        if not isinstance(terms, dict):
            raise ValueError("terms are missing")
        hours = dict.fromkeys(("grace_hours", "borrow_hours"), 0)
        for name in hours:
            if terms.get(name) is not None:
                hours[name] = _integer(terms, name, 0, 10**9)
        end = _parse_time(terms.get("valid_until"))
        if days > 0:
            end = days * 86400.0
        minutes = _integer(terms, "timeout_minutes", 0, 10**9)
        return cls(
            product=_text(terms, "product"),
            is_enabled=_boolean(terms, "enabled"),
            start=_parse_time(terms.get("start")) or 0.0,
            end=math.inf if end is None else end + 3600 * hours["grace_hours"],
            longest=max(60 * minutes, 3600 * hours["borrow_hours"]),
        )


@dataclasses.dataclass
class _Granted:
    """What the vendor granted; a lease may not grant more."""

    appliance: str
    key: bytes
    license_id: int
    serial: int
    digest: str
    terms: _Terms


def _read_license(text: str, keys: _AcceptedKeys) -> _Granted:
    certified = _CertifiedDocument.parse(text, "berth-license+jwt")
    payload = certified.document.payload
    confirmation = payload.get("cnf")
    if not isinstance(confirmation, dict):
        raise ValueError("cnf is missing")
    granted = _Granted(
        appliance=_text(payload, "appliance"),
        key=_decode_key(confirmation.get("jwk")),
        license_id=_integer(payload, "license_id"),
        serial=_integer(payload, "serial"),
        digest=hashlib.sha256(text.encode("ascii")).hexdigest(),
        terms=_Terms.parse(payload),
    )
    certified.find_root(keys)
    return granted


def _canonical_symbols(code: str) -> str:
    plain = re.sub("[^0-9A-Z]", "", code.upper())
    return plain.translate(str.maketrans("ILO", "110"))


def _decode_symbols(symbols: str, count: int) -> bytes:
    number = 0
    for symbol in symbols:
        number = number * 32 + _SYMBOLS.index(symbol)
    return (number >> (5 * len(symbols) - 8 * count)).to_bytes(count, "big")


def _hex5(values: Json, name: str) -> bytes:
    text = _text(values, name)
    if not re.fullmatch("[0-9A-Fa-f]{10}", text):
        raise ValueError(f"{name} is not 5 bytes in hex")
    return bytes.fromhex(text)


def _read_bundle(text: str, keys: _AcceptedKeys) -> _Granted:
    if len(text.encode("utf-8")) > _MAX_BUNDLE:
        raise ValueError("too long")
    bundle = _parse_object(text, is_strict=True)
    appliance_id = _text(bundle, "appliance_id")
    symbols = _canonical_symbols(_text(bundle, "confirmation_code"))
    if len(appliance_id) != 16 or len(symbols) != 115:
        raise ValueError("a code has the wrong length")
    _integer(bundle, "version", 2, 2)
    # Every row of 19 symbols has a check symbol, which helped when it was typed.
    code = _decode_symbols(re.sub("(.{19}).", r"\1", symbols)[:109], 68)
    appliance = _decode_symbols(appliance_id, 10)
    policy_text = _text(bundle, "policy")
    policy = _CertifiedDocument.parse(policy_text, "berth-policy+jwt")
    license_key = unicodedata.normalize("NFC", _text(bundle, "license_key")).encode("utf-8")
    key = _decode_key(bundle.get("appliance_jwk"))
    terms = _Terms.parse(policy.document.payload, days=int.from_bytes(code[64:66], "big"))
    items = [
        b"berth-confirm-v2",
        bytes([_integer(bundle, "kind", 0, 255)]),
        appliance,
        _hex5(bundle, "hardware_prefix"),
        _hex5(bundle, "nonce"),
        license_key,
        hashlib.sha256(policy_text.encode("ascii")).digest(),
        _canonical_symbols(_text(bundle, "initialization_code")).encode("ascii"),
        code[64:],
    ]
    signed = b"".join(len(item).to_bytes(4, "big") + item for item in items)
    is_confirmed = _has_signature(policy.key, signed, code[:64])
    if hashlib.sha256(key).digest()[:10] != appliance or not is_confirmed:
        raise _LeaseFault("license_forged")
    root = policy.find_root(keys)
    return _Granted(
        appliance=appliance_id,
        key=key,
        license_id=int(hashlib.sha256(root + license_key).hexdigest()[:13], 16),
        serial=int.from_bytes(code[66:], "big"),
        digest=hashlib.sha256(code).hexdigest(),
        terms=terms,
    )


def _check_lease(text: str, granted: _Granted, product: str, nonce: str) -> Lease:
    """The lease in text, if it grants no more than the vendor did."""
    document = _Document.parse(text, "berth-lease+jwt")
    payload = document.payload
    kid = _text(document.header, "kid")
    issuer, audience = _text(payload, "iss"), _text(payload, "aud")
    user, digest = _text(payload, "sub"), _text(payload, "lic")
    issued, expires = (_integer(payload, name, 0, _YEAR_9999) for name in ("iat", "exp"))
    begins = _integer(payload, "nbf", 0, _YEAR_9999) if "nbf" in payload else issued
    license_id, serial = _integer(payload, "license_id"), _integer(payload, "serial")
    device = None if payload.get("nonce") is None else _text(payload, "nonce")
    now = time.time()
    terms = granted.terms
    is_genuine = document.is_signed_by(granted.key)
    is_same_license = (license_id, serial, digest) == (
        granted.license_id,
        granted.serial,
        granted.digest,
    )
    rules = {
        "lease_forged": is_genuine and issuer == kid == granted.appliance,
        "other_product": audience == terms.product == product,
        "license_disabled": terms.is_enabled,
        "license_not_started": terms.start <= now + _LEEWAY,
        "license_ended": now < terms.end + _LEEWAY,
        "lease_expired": now < expires + _LEEWAY,
        "lease_outlasts_license": expires <= terms.end,
        "lease_too_long": expires - issued <= terms.longest + _LEEWAY,
        "lease_not_started": max(issued, begins) <= now + _LEEWAY,
        "other_license": is_same_license,
        "other_device": device == nonce,
    }
    for code, is_kept in rules.items():
        if not is_kept:
            raise _LeaseFault(code)
    moment = datetime.datetime.fromtimestamp(expires, datetime.timezone.utc)
    return Lease(user, license_id, moment.strftime("%Y-%m-%dT%H:%M:%SZ"), product, serial)


_LEASE_MESSAGES = {
    "license_malformed": "the license is not a license of Berth, or is damaged; borrow again",
    "license_forged": "the license is not signed by the vendor of this application",
    "retired_key": "the license is signed with a retired key; ask the operator to renew it",
    "lease_malformed": "the lease is not a lease of Berth, or is damaged; borrow again",
    "lease_forged": "the lease is not signed by the server that the license is for",
    "other_product": "the lease or the license is for another product",
    "license_disabled": "the license is disabled; ask the vendor",
    "license_not_started": "the license is not valid yet; check the clock of this machine",
    "license_ended": "the license has ended; ask the operator to renew it",
    "lease_expired": "the lease has expired; connect to the license server and borrow again",
    "lease_outlasts_license": "the lease ends after its license; borrow again",
    "lease_too_long": "the lease is longer than the license allows; borrow again",
    "lease_not_started": "the lease begins in the future; check the clock of this machine",
    "other_license": "the lease belongs to another license; borrow again",
    "other_device": "the lease is for another device; borrow on this device",
}


def _machine_id() -> str:
    if sys.platform == "win32":
        import winreg

        with contextlib.suppress(OSError):
            path, access = r"SOFTWARE\Microsoft\Cryptography", winreg.KEY_WOW64_64KEY
            mode = winreg.KEY_READ | access
            with winreg.OpenKey(winreg.HKEY_LOCAL_MACHINE, path, 0, mode) as key:
                return str(winreg.QueryValueEx(key, "MachineGuid")[0]).strip()
        return ""
    if sys.platform == "darwin":
        command = ["/usr/sbin/ioreg", "-rd1", "-c", "IOPlatformExpertDevice"]
        with contextlib.suppress(OSError, subprocess.SubprocessError):
            output = subprocess.run(command, capture_output=True, timeout=10).stdout
            found = re.search(rb'"IOPlatformUUID" = "([^"]+)"', output)
            return found[1].decode("ascii", "replace").strip() if found else ""
        return ""
    for name in ("/etc/machine-id", "/var/lib/dbus/machine-id"):
        with contextlib.suppress(OSError, ValueError):
            with open(name, encoding="ascii") as file:
                text = file.read().strip()
            if text:
                return text
    return ""


# --- Slots and features ------------------------------------------------------------------------


class _Hold:
    """A slot of a user, or of a feature, that this process takes, holds or has held.

    The background thread knows holds only. A Slot or Feature is a handle of a hold, which knows
    it by a weak reference: a hold whose handles are gone is released.
    """

    def __init__(self, user: str, license_id: Optional[int], parent: Optional[_Hold], code: str):
        self.user = user
        self.parent = parent
        self.code = code
        self.asked_license = license_id
        name = unicodedata.normalize("NFC", user)
        self.key: _Key = (name, license_id, code if parent else None)
        self.body: Json = {}
        self.state = "new"  # then "held", then "lost", or "releasing" and "ended"
        self.handles: List[weakref.ref[_Handle]] = []
        self.grant = _Grant(timeout=60.0)
        self.end = 0.0
        self.next = math.inf
        self.failures = 0
        self.renewed_at = -math.inf
        self.released_at = -math.inf  # when the user may have been released at the server
        self.is_refused = False  # because the user of the feature has no slot
        self.was_tried_in_time = False  # whether a renewal began before the end
        self.is_confirmed = True
        self.may_be_borrowed = False  # by a call of borrow whose reply was lost

    def is_held(self) -> bool:
        # If the machine slept past the end, or this process was stopped, the slot is lost only if
        # the renewal fails that comes first.
        is_kept = _clock() < self.end or not self.was_tried_in_time
        return self.state == "held" and is_kept and (self.parent is None or self.parent.is_held())

    def is_current(self) -> bool:
        """Whether it is held without doubt, and need not be renewed before it is used."""
        return _clock() < self.end and self.is_held()

    def may_be_released(self) -> bool:
        return self.renewed_at <= self.released_at

    def live_handles(self) -> List[_Handle]:
        found = [reference() for reference in self.handles]
        return [handle for handle in found if handle is not None]

    def renew(self, sent: float, grant: _Grant) -> None:
        self.grant = grant
        self.renewed_at = sent
        self.end = sent + grant.timeout
        self.next = sent + _jitter(grant.timeout / 3, 0.1)
        self.failures = 0
        self.is_refused = False
        self.was_tried_in_time = False
        self.may_be_borrowed = False
        self.state = "held"

    def extend(self, borrowed_until: str) -> None:
        """A borrowed slot stays taken until the end of the borrow."""
        with contextlib.suppress(ValueError):
            end = _parse_time(borrowed_until) or 0.0
            if end > (_parse_time(self.grant.expires_at) or 0.0):
                self.grant = dataclasses.replace(self.grant, expires_at=borrowed_until)

    def postpone(self) -> None:
        """Chooses when to repeat a renewal that failed; the last time is at the end."""
        delay = min(2.0**self.failures, 15.0)
        self.failures = min(self.failures + 1, 10)
        delay = min(_jitter(delay, 0.25), self.grant.timeout / 6)
        self.next = min(_clock() + delay, self.end)


class _Token:
    """Stands for a call in progress or a claim, while a frame of the caller refers to it.

    It is known by weak references only. So an interrupt at any point, even in a `finally`, leaves
    nothing claimed: the token ends with the frame.
    """

    def __init__(self) -> None:
        self.thread = threading.get_ident()


class _Handle:
    """Common part of Slot and Feature."""

    def __init__(self, client: Client, hold: _Hold) -> None:
        self._client = client
        self._hold = hold
        self._on_loss: Optional[Callable[..., Any]] = None
        self._is_released = False
        pid, wake = client._pid, client._wake

        def finalize(_: object) -> None:
            # Runs at any point of any thread, perhaps inside a lock: put() is reentrant.
            if os.getpid() == pid:
                wake.put(None)

        others = [one for one in hold.handles if one() is not None]
        hold.handles = [*others, weakref.ref(self, finalize)]

    @property
    def is_held(self) -> bool:
        """Whether the slot is held now, by the clock of this machine.

        After a sleep past its end: True until the first renewal, and False if that fails.
        """
        return not self._is_released and self._client._is_own_process() and self._hold.is_held()

    def release(self) -> bool:
        """Releases the slot. False: not confirmed by the server; the slot ends by its time-out.

        Raises no BerthError. A slot that is borrowed stays borrowed: Client.release returns it.
        """
        return self._client._release_handle(self)

    def __exit__(self, *_: object) -> None:
        self.release()


class Feature(_Handle):
    """A slot of a floating feature; made by Slot.acquire_feature. Also a context manager."""

    def __init__(self, client: Client, hold: _Hold, slot: Slot) -> None:
        super().__init__(client, hold)
        self._slot = slot  # keeps the slot, which the feature depends on

    @property
    def code(self) -> str:
        """The feature's code."""
        return self._hold.code

    def __enter__(self) -> Feature:
        return self


class Slot(_Handle):
    """A slot of a user; made by Client.acquire. Also a context manager."""

    @property
    def user(self) -> str:
        """The name that holds the slot."""
        return self._hold.user

    @property
    def license_id(self) -> int:
        """The license that the slot belongs to."""
        return self._hold.grant.license_id

    @property
    def registered_at(self) -> str:
        """Since when the user has held the slot, by the server's clock (RFC 3339)."""
        return self._hold.grant.registered_at

    @property
    def expires_at(self) -> str:
        """When the slot ends if it is not renewed, by the server's clock (RFC 3339)."""
        return self._hold.grant.expires_at

    @property
    def is_borrowed(self) -> bool:
        """Whether the slot is borrowed."""
        return self._client._is_borrowed(self._hold)

    @property
    def license(self) -> Dict[str, Any]:
        """The license object of the last reply: product_features, metadata and others."""
        return _parse_object(self._hold.grant.license_json)

    def acquire_feature(
        self, code: str, on_loss: Optional[Callable[[Feature, BerthError], Any]] = None
    ) -> Feature:
        """Takes a slot of a floating feature. It ends with this slot at the latest.

        Raises NoFreeSlotError if all slots of the feature are in use.
        """
        return self._client._acquire_feature(self, code, on_loss)

    def __enter__(self) -> Slot:
        return self


_clients: weakref.WeakSet[Client] = weakref.WeakSet()


class Client:
    """Calls the license server for one product. Makes no call until a method is called.

    urls: one URL, or those of both hosts of a pair: a list, or a text with commas.
    product: the product code.
    ca: PEM file (or its text) of the only CA to trust; default: the system's.
    certificate: PEM file (or its text) with client certificate and key.
    login: (name, password). allow_plain_password: whether the password may be sent to another
    machine without TLS, where others can read it. timeout: seconds of one HTTP exchange.
    retry_for: seconds for which a call is repeated while no server answers; default: 30 with
    several URLs, 10 with one. nonce: identifies this device in leases; default: made from the
    machine id. root_keys: the public root key of the vendor for `verify`, or several keys: `x` of a
    JWK, or the JWK. retired: issuing keys of the vendor that `verify` refuses, in the same forms.
    """

    def __init__(
        self,
        urls: Union[str, Sequence[str]],
        product: str,
        *,
        ca: Union[str, os.PathLike[str], None] = None,
        certificate: Union[str, os.PathLike[str], None] = None,
        login: Optional[Tuple[str, str]] = None,
        allow_plain_password: bool = False,
        timeout: float = 15.0,
        retry_for: Optional[float] = None,
        nonce: Optional[str] = None,
        root_keys: Union[str, Mapping[str, Any], Sequence[Union[str, Mapping[str, Any]]]] = (),
        retired: Union[str, Mapping[str, Any], Sequence[Union[str, Mapping[str, Any]]]] = (),
    ) -> None:
        listed = urls.split(",") if isinstance(urls, str) else list(urls or ())
        self._servers = list(dict.fromkeys(_parse_server(url) for url in listed))
        if not self._servers:
            raise _invalid("urls: give an address such as https://berth.example:8443")
        self._product = _require_text("product", product)
        self._timeout = _require_seconds("timeout", timeout)
        if self._timeout <= 0:
            raise _invalid("timeout must be more than 0 seconds")
        default = 30.0 if len(self._servers) > 1 else 10.0
        self._retry_for = default if retry_for is None else _require_seconds("retry_for", retry_for)
        if nonce is not None and not _matches("[A-Za-z0-9._~-]{16,128}", nonce):
            raise _invalid("nonce must have 16 to 128 letters, digits or . _ ~ - characters")
        self._nonce = nonce
        self._keys = _AcceptedKeys(
            roots=_require_keys("root_keys", root_keys),
            retired=_require_keys("retired", retired),
        )
        self._basic = None if login is None else _basic_credentials(login)
        if not isinstance(allow_plain_password, bool):
            raise _invalid("allow_plain_password must be True or False")
        plain = [one.url for one in self._servers if one.is_unencrypted()]
        if self._basic is not None and plain and not allow_plain_password:
            help = "use its https:// address, or the option allow_plain_password="
            message = f"login: the password would be sent without encryption to {plain[0]}; {help}"
            raise _invalid(message)
        self._tls = _tls_context(ca, certificate, any(one.is_tls for one in self._servers))
        self._hostname = socket.gethostname()
        self._pid = os.getpid()
        # One lock for all state below. It is never held during a call or a callback. `with` uses
        # the lock itself: an interrupt inside Condition.__enter__ would leave it locked.
        self._lock = threading.RLock()
        self._changed = threading.Condition(self._lock)
        self._current = 0
        self._answered: Set[int] = set()
        self._appliance: Optional[str] = None
        self._tokens: Dict[int, str] = {}
        self._claims: Dict[_Key, weakref.ref[_Token]] = {}
        self._holds: Dict[_Key, _Hold] = {}
        self._borrows: Dict[Tuple[str, int], float] = {}  # and when each was seen
        self._calls: List[weakref.ref[_Token]] = []
        self._waiting_sockets: Set[socket.socket] = set()
        self._is_closed = False
        self._thread: Optional[threading.Thread] = None
        self._wake: queue.SimpleQueue[None] = queue.SimpleQueue()
        _clients.add(self)

    # --- Public calls

    def acquire(
        self,
        user: str,
        *,
        wait: float = 0,
        license_id: Optional[int] = None,
        user_info: str = "",
        on_loss: Optional[Callable[[Slot, BerthError], Any]] = None,
        on_wait: Optional[Callable[[int, int], Any]] = None,
    ) -> Slot:
        """Takes a slot for user, and renews it until it is released.

        wait: seconds to wait in the queue if no slot is free; on_wait(position, length) is called
        with each place. license_id: one license of the product. user_info: text for the operator.
        on_loss(slot, error) is called once, in a thread of its own, if the slot is lost.
        The same user (and license_id) twice shares one slot; the last release frees it.
        Raises NoFreeSlotError, AccessDeniedError, RefusedError, UnavailableError, TlsFailedError,
        OtherApplianceError, InvalidArgumentError.
        """
        _require_text("user", user)
        wait = _require_seconds("wait", wait)
        _require_license_id(license_id)
        if not isinstance(user_info, str):
            raise _invalid("user_info must be a text")
        with self._call_in_progress():
            start = _clock()
            slot: Optional[Slot] = None
            while slot is None:
                hold = _Hold(user, license_id, None, "")
                hold.body = self._body(
                    user=user,
                    os_hostname=self._hostname,
                    user_info=user_info,
                    license_id=license_id,
                )
                slot = self._take(
                    hold,
                    lambda hold: Slot(self, hold),
                    lambda hold: self._register(hold, wait, start, on_wait),
                    start + max(wait, self._retry_for),
                    on_loss,
                )
            return slot

    def release(self, user: str) -> None:
        """Returns the borrow of user, and releases the user's slots. Raises like any call.

        A user without a slot is no error. Local slots of the user end without on_loss.
        """
        name = unicodedata.normalize("NFC", _require_text("user", user))
        with self._call_in_progress(), self._claimed_user(name) as claimed:
            request = self._post("unregister", self._body(user=user), lambda reply: None)
            try:
                self._call(request, self._retry_for)
            except BerthError as error:
                if error.code != "user_not_registered":
                    raise
            with self._lock:
                self._borrows = {one: seen for one, seen in self._borrows.items() if one[0] != name}
                for hold in claimed:
                    if hold.state == "held":
                        self._end(hold, "ended")
                self._renew_soon(name, None)

    def borrow(
        self,
        user: str,
        until: Union[datetime.datetime, str],
        *,
        license_id: Optional[int] = None,
        key: Optional[str] = None,
    ) -> Borrow:
        """Takes or keeps a slot for user until a date, for use without the server.

        until: a datetime with time zone or RFC 3339 text. key: the
        idempotency key of an earlier call that raised UnavailableError. Keep `lease` and `license`
        of the outcome, and check them with `verify` at each start.
        """
        name = unicodedata.normalize("NFC", _require_text("user", user))
        _require_license_id(license_id)
        key = _require_idempotency_key(key)
        if isinstance(until, datetime.datetime):
            if until.utcoffset() is None:
                raise _invalid("until must have a time zone")
            until = until.isoformat()
        if not isinstance(until, str) or until == "":
            raise _invalid("until: give the end of the borrow, as a datetime or a text")
        body = self._body(
            user=user, os_hostname=self._hostname, license_id=license_id, borrowed_until=until
        )

        def parse(reply: _Reply) -> Tuple[_Grant, str, Optional[str]]:
            values = _parse_object(reply.body)
            lease = None if values.get("lease") is None else _text(values, "lease")
            return _parse_slot(values), _text(values, "borrowed_until"), lease

        with self._call_in_progress(), self._claimed_user(name) as claimed:
            request = self._post("borrow", body, parse)
            request.headers.update({"X-Nonce": self.nonce, "Idempotency-Key": key})
            request.key = key
            try:
                (grant, borrowed_until, lease), _ = self._call(request, self._retry_for)
            except (TlsFailedError, UnavailableError):
                for hold in claimed:
                    hold.may_be_borrowed = True
                raise
            if lease is not None:
                with self._lock:
                    self._borrows[name, grant.license_id] = _clock()
                    for hold in claimed:
                        if hold.parent is None and hold.grant.license_id == grant.license_id:
                            hold.extend(borrowed_until)
            query = {"product": self._product, "license_id": grant.license_id}
            path = f"/api/v4/license?{urllib.parse.urlencode(query)}"
            request = _Request("GET", path, _parse_license, timeout=self._timeout, key=key)
            request.headers["Accept"] = "application/jwt"
            text, _ = self._call(request, self._retry_for)
            return Borrow(user, grant.license_id, borrowed_until, lease, text)

    def consume(
        self,
        n: int = 1,
        *,
        feature: Optional[str] = None,
        user: Optional[str] = None,
        key: Optional[str] = None,
        license_id: Optional[int] = None,
        max_overages: Optional[int] = None,
        allow_overages: Optional[bool] = None,
    ) -> Consumption:
        """Counts n of the license, or of a feature: all of it or nothing. 0 reads the total.

        The call is repeated safely: it has an idempotency key. If it raises UnavailableError, call
        again with `key` of the error: nothing is counted twice.
        """
        for name, number in (("n", n), ("max_overages", max_overages)):
            is_absent = number is None and name != "n"
            if not is_absent and (type(number) is not int or abs(number) > _MAX_COUNT):
                raise _invalid(f"{name} must be an integer from -10^12 to 10^12")
        for name, text in (("feature", feature), ("user", user)):
            if text is not None:
                _require_text(name, text)
        if allow_overages is not None and not isinstance(allow_overages, bool):
            raise _invalid("allow_overages must be True or False")
        _require_license_id(license_id)
        made_key = _require_idempotency_key(key)
        body = self._body(
            consumptions=n,
            feature=feature,
            user=user,
            license_id=license_id,
            max_overages=max_overages,
            allow_overages=allow_overages,
        )

        def parse(reply: _Reply) -> Consumption:
            values = _parse_object(reply.body)
            maximum: Optional[int] = None
            if values.get("max_consumptions") is not None:
                maximum = _integer(values, "max_consumptions")
            total = _integer(values, "total_consumptions", -_MAX_INTEGER)
            return Consumption(total, maximum, made_key, _integer(values, "license_id"))

        with self._call_in_progress():
            path = "add_consumption" if feature is None else "add_feature_consumption"
            request = self._post(path, body, parse)
            request.headers["Idempotency-Key"] = request.key = made_key
            consumption: Consumption = self._call(request, self._retry_for)[0]
            return consumption

    def verify(self, lease: str, license: str) -> Lease:
        """Checks a lease and its license against root_keys and this device. Makes no call.

        Raises LeaseRefusedError; its code says why. Needs the package `cryptography`.
        """
        if not self._keys.roots:
            raise _invalid("the root key of the vendor is missing; give the option root_keys=")
        try:
            import cryptography  # noqa: F401
        except ImportError:
            message = "a lease cannot be checked: run `pip install cryptography`"
            raise LeaseRefusedError(message, "verify_unavailable") from None
        nonce = self.nonce
        code = "license_malformed"
        try:
            if not isinstance(license, str):
                raise ValueError("not a text")
            read = _read_bundle if license.startswith("{") else _read_license
            granted = read(license, self._keys)
            code = "lease_malformed"
            if not isinstance(lease, str):
                raise ValueError("not a text")
            return _check_lease(lease, granted, self._product, nonce)
        except _LeaseFault as fault:
            code = str(fault)
        except (ValueError, OverflowError, binascii.Error):
            pass
        raise LeaseRefusedError(_LEASE_MESSAGES[code], code)

    @property
    def nonce(self) -> str:
        """Identifies this device in leases: as given, or a digest of the machine id."""
        if self._nonce is None:
            machine = _machine_id()
            if not machine:
                raise _invalid("this machine has no machine id; give the option nonce=")
            self._nonce = hashlib.sha256(f"berth-device-v1:{machine}".encode()).hexdigest()
        return self._nonce

    def close(self) -> None:
        """Waits for calls in progress, releases all slots (not borrows), and ends the thread.

        An acquire that waits for a slot ends with the code `client_closed`. Idempotent.
        """
        if not self._is_own_process():
            return
        with self._lock:
            self._is_closed = True
            self._changed.notify_all()
            for sock in self._waiting_sockets:
                with contextlib.suppress(OSError):
                    socket.socket.shutdown(sock, socket.SHUT_RDWR)
            # Calls of this thread are not awaited: a callback of acquire, or the handler of a
            # signal, may close the client.
            calls = [(reference, reference()) for reference in self._calls]
            own = threading.get_ident()
            self._calls = [one for one, token in calls if token and token.thread != own]
            del calls
            while any(one() is not None for one in self._calls):
                self._changed.wait(1.0)
        self._release_all(_clock() + _STANDBY_SECONDS)
        thread = self._thread
        self._wake.put(None)
        if thread is not None and thread is not threading.current_thread():
            thread.join(self._timeout)

    def __enter__(self) -> Client:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    # --- Slots and features

    def _register(
        self, hold: _Hold, wait: float, start: float, on_wait: Optional[Callable[[int, int], Any]]
    ) -> None:
        """Takes the slot of hold; waits in the queue for at most `wait` seconds since start."""
        end = start + wait
        is_first = True
        has_place = False

        def seconds(index: int) -> int:
            # A server that is not known yet must not keep this call waiting.
            if is_first or index not in self._answered:
                return 0
            return max(0, math.ceil(min(end - _clock(), _LONGEST_WAIT)))

        try:
            while True:
                request = self._hold_request(hold)
                if wait > 0:
                    request.wait = seconds
                    request.is_cancelled = lambda: self._is_closed
                sent = _clock()
                try:
                    self._renew(hold, request, max(0.0, start + max(wait, self._retry_for) - sent))
                    return
                except NoFreeSlotError:
                    reply = request.refusal
                    if wait <= 0 or reply is None:
                        raise
                    has_place = True
                    place = _read_place(reply)
                    if place is not None and on_wait is not None:
                        on_wait(*place)
                    left = end - _clock()
                    if left <= 0 and not self._is_closed:
                        raise
                has_waited = _clock() - sent >= 1 or is_first
                is_first = False
                if "wait" not in reply.header("Preference-Applied") or not has_waited:
                    pause = reply.retry_after()
                    self._pause(min(5.0 if pause is None else max(pause, 0.5), left), request)
        except UnavailableError:
            raise  # no server would take the message; the place lapses
        except BaseException:
            if has_place:
                self._give_back(hold, 0.0, _clock() + _LAST_SECONDS)
            raise

    def _acquire_feature(
        self, slot: Slot, code: str, on_loss: Optional[Callable[[Feature, BerthError], Any]]
    ) -> Feature:
        _require_text("code", code)
        with self._call_in_progress():
            feature: Optional[Feature] = None
            while feature is None:
                if not slot.is_held:
                    raise _not_held()
                parent = slot._hold
                hold = _Hold(parent.user, parent.asked_license, parent, code)
                hold.body = self._body(
                    feature=code,
                    user=parent.user,
                    os_hostname=self._hostname,
                    license_id=parent.grant.license_id,
                )
                feature = self._take(
                    hold,
                    lambda hold: Feature(self, hold, slot),
                    lambda hold: self._renew(hold, self._hold_request(hold), self._retry_for),
                    _clock() + self._retry_for,
                    on_loss,
                )
            return feature

    def _take(
        self,
        hold: _Hold,
        make_handle: Callable[[_Hold], _H],
        register: Callable[[_Hold], None],
        limit: float,
        on_loss: Optional[Callable[[_H, BerthError], Any]],
    ) -> Optional[_H]:
        """A handle of hold, or of the hold that already exists for the same user or feature.

        None: that one ended before it could be shared.
        """
        with self._lock:
            if hold.parent is not None and not hold.parent.is_held():
                raise _not_held()
            hold = self._holds.setdefault(hold.key, hold)
            handle = make_handle(hold)
            if hold.is_current():
                handle._on_loss = on_loss
                return handle
        try:
            self._ensure_thread()
            with self._claimed([hold.key], limit):
                if hold.state == "new":
                    register(hold)
                elif hold.state == "held" and not hold.is_current():
                    self._beat(hold, is_last=True)  # its end has passed: it is renewed or lost
                if hold.state == "held":
                    handle._on_loss = on_loss
                    return handle
        except BaseException:
            # Without a handle, the thread releases what was granted meanwhile.
            self._detach(handle)
            raise
        self._detach(handle)
        return None

    def _hold_request(self, hold: _Hold) -> _Request:
        parse = _parse_slot if hold.parent is None else _parse_feature
        path = "register" if hold.parent is None else "featureRegister"
        return self._post(path, hold.body, lambda reply: parse(_parse_object(reply.body)))

    def _renew(
        self, hold: _Hold, request: _Request, budget: float, limit: float = math.inf
    ) -> None:
        grant, sent = self._call(request, budget, limit)
        with self._lock:
            if hold.state not in ("new", "held"):
                return
            hold.renew(sent, grant)
            borrow = (hold.key[0], grant.license_id)
            if hold.may_be_released():
                hold.next = sent
            elif hold.parent is None and grant.is_borrowed:
                self._borrows[borrow] = sent
            elif hold.parent is None and sent > self._borrows.get(borrow, math.inf):
                del self._borrows[borrow]  # it was returned elsewhere
        self._wake.put(None)

    def _renew_soon(self, name: str, license_id: Optional[int]) -> None:
        """The user may have been released at the server: renews what this client still holds."""
        with self._lock:
            for hold in [one for one in self._holds.values() if one.key[0] == name]:
                if license_id is None or hold.grant.license_id in (0, license_id):
                    hold.released_at = _clock()
                    if hold.state == "held":
                        hold.next = hold.released_at
        self._wake.put(None)

    def _is_borrowed(self, hold: _Hold) -> bool:
        return (hold.key[0], hold.grant.license_id) in self._borrows

    def _detach(self, handle: _Handle) -> None:
        """Removes the handle from its hold."""
        with self._lock:
            handle._is_released = True
            hold = handle._hold
            hold.handles = [one for one in hold.handles if one() not in (None, handle)]
            if not hold.handles and hold.state == "new" and self._holds.get(hold.key) is hold:
                del self._holds[hold.key]
            self._wake.put(None)

    def _end(self, hold: _Hold, state: str) -> List[_Hold]:
        """Ends a hold and its features, with the lock held. Returns the features."""
        features = [one for one in self._holds.values() if one.parent is hold]
        for one in [hold, *features]:
            one.state = state if one is hold else "ended"
            if self._holds.get(one.key) is one:
                del self._holds[one.key]
        return features

    def _release_handle(self, handle: _Handle) -> bool:
        if not self._is_own_process():
            return False
        hold = handle._hold

        def is_open() -> bool:
            return hold.state in ("held", "releasing")

        with self._call_in_progress(is_release=True):
            # Of a hold that has ended, nothing is left to release. The same user may be waiting
            # for another slot now, and has the claim.
            with self._claimed([hold.key], is_needed=is_open):
                if not handle._is_released:
                    self._detach(handle)
                    self._release_hold(hold, _RELEASE_SECONDS, is_forced=False)
            return hold.is_confirmed

    def _release_hold(
        self, hold: _Hold, budget: float, limit: float = math.inf, is_forced: bool = True
    ) -> None:
        """Ends a hold that is claimed, and gives its slot back.

        Unless is_forced, a hold that still has handles is kept.
        """
        name, license_id = hold.key[0], hold.grant.license_id
        with self._lock:
            if hold.state != "held" or (hold.live_handles() and not is_forced):
                return
            features = self._end(hold, "releasing")
            slots = [one for one in self._holds.values() if one.parent is None]
            # The user with and without license_id are two holds, but may be one slot.
            is_shared = hold.parent is None and any(
                (one.state, one.key[0], one.grant.license_id) == ("held", name, license_id)
                for one in slots
            )
            is_borrowed = hold.parent is None and self._is_borrowed(hold)
            hold.is_confirmed = is_shared or is_borrowed
        try:
            if is_borrowed or hold.may_be_borrowed:
                for feature in features:
                    self._give_back(feature, 0.0, limit)
            elif not is_shared:
                hold.is_confirmed = self._give_back(hold, budget, limit)
                if hold.parent is None:
                    self._renew_soon(name, license_id)
        finally:
            hold.state = "ended"

    def _give_back(self, hold: _Hold, budget: float, limit: float = math.inf) -> bool:
        names = ("feature", "user", "license_id")
        body = self._body(**{name: hold.body.get(name) for name in names})
        if hold.grant.license_id:
            body["license_id"] = hold.grant.license_id
        path = "unregister" if hold.parent is None else "featureRelease"
        request = self._post(path, body, lambda reply: None)
        request.timeout = min(self._timeout, _RELEASE_SECONDS)
        try:
            self._call(request, budget, limit, standby_budget=_STANDBY_SECONDS if budget else 0.0)
        except BerthError as error:
            return error.code == "user_not_registered"
        return True

    def _release_all(self, limit: float) -> None:
        """Releases all holds until `limit`; the others end by their time-out."""
        while True:
            with self._lock:
                held = [one for one in self._holds.values() if one.state == "held"]
                hold = next((one for one in held if one.parent is None), None)
            if hold is None:
                return
            try:
                with self._claimed([hold.key], limit):
                    self._release_hold(hold, _RELEASE_SECONDS, limit)
            except UnavailableError:  # its renewal is still in progress
                with self._lock:
                    hold.is_confirmed = False
                    self._end(hold, "ended")

    def _release_at_exit(self, limit: float) -> None:
        if self._is_own_process():
            self._is_closed = True
            self._release_all(limit)

    # --- Background thread

    def _ensure_thread(self) -> None:
        with self._lock:
            if self._thread is None:
                run = threading.Thread(target=self._run, name="berth-heartbeat", daemon=True)
                self._thread = run
                try:
                    run.start()
                except BaseException:
                    self._thread = None
                    raise

    def _run(self) -> None:
        """Renews holds, and releases those without handles; ends after a while without holds."""
        idle_until = _clock() + 10.0
        while True:
            # Timers of the system stop while it sleeps, so the clock is read often.
            wake_at = _clock() + 10.0
            with self._lock:
                holds = list(self._holds.values())
                is_idle = not holds and _clock() >= idle_until
                if is_idle or (self._is_closed and all(one.state == "new" for one in holds)):
                    self._thread = None
                    return
            if holds:
                idle_until = wake_at
            for hold in holds:
                self._attend(hold)
                wake_at = min(wake_at, hold.next if hold.state == "held" else math.inf)
            with contextlib.suppress(queue.Empty):
                self._wake.get(timeout=max(0.0, wake_at - _clock()))

    def _attend(self, hold: _Hold) -> None:
        is_abandoned = not hold.live_handles()
        if self._is_closed:
            return  # close() releases all
        if not is_abandoned and (hold.state != "held" or _clock() < hold.next):
            return
        # The server refuses a feature of a user without a slot, so the slot is renewed first.
        if not is_abandoned and hold.parent is not None and hold.parent.may_be_released():
            hold.next = _clock() + 0.2
            return
        token = _Token()
        if not self._claim([hold.key], token):
            hold.next = max(hold.next, _clock() + 0.2)
            return
        try:
            if is_abandoned:
                with self._lock:
                    if hold.state != "held" and not hold.live_handles():
                        self._end(hold, "ended")
                self._release_hold(hold, 0.0, is_forced=False)
            elif hold.state == "held":
                self._beat(hold)
        except Exception as error:  # a bug must not end the renewal of the other slots
            hold.postpone()
            if _clock() >= hold.end:
                self._lose(hold, BerthError(f"internal error: {error!r}", "internal_error"))
        finally:
            self._unclaim(token)

    def _beat(self, hold: _Hold, is_last: bool = False) -> None:
        request = self._hold_request(hold)
        is_in_time = _clock() < hold.end
        if is_in_time or hold.was_tried_in_time:
            # One slow server must not use up the time in which the other slots are renewed.
            request.timeout = min(self._timeout, max(1.0, hold.grant.timeout / 6))
        hold.was_tried_in_time = hold.was_tried_in_time or is_in_time
        try:
            self._renew(hold, request, 0.0)
        except BerthError as error:
            is_unknown = error.status == 400 and error.code == "user_not_registered"
            if is_unknown and hold.parent is not None and not hold.is_refused and not is_last:
                # The user was released, perhaps during a sleep. The slot may still be free.
                hold.is_refused = True
                self._renew_soon(hold.key[0], hold.parent.grant.license_id)
            elif error.status == 400 or _clock() >= hold.end:
                self._lose(hold, error)
            else:
                hold.postpone()

    def _lose(self, hold: _Hold, error: BerthError) -> None:
        with self._lock:
            if hold.state != "held":
                return
            handles = [one for one in hold.live_handles() if one._on_loss is not None]
            self._end(hold, "lost")
        name = f"the feature {hold.code}" if hold.parent else "the slot"
        error.message = f"{name} of {hold.user} is lost: {error.message}"
        error.args = (error.message,)
        for handle in handles:
            # In a thread of its own: it may call this client, and may take long.
            callback = threading.Thread(
                target=handle._on_loss, args=(handle, error), name="berth-on-loss", daemon=True
            )
            with contextlib.suppress(RuntimeError):  # the interpreter is shutting down
                callback.start()

    # --- Order of calls

    def _is_own_process(self) -> bool:
        return os.getpid() == self._pid

    @contextlib.contextmanager
    def _call_in_progress(self, is_release: bool = False) -> Iterator[None]:
        # In a child of fork no lock may be touched: its owner may not exist there.
        if not self._is_own_process():
            raise _invalid("this process is a child of fork; create a new Client in it", "forked")
        token = _Token()
        with self._lock:
            if self._is_closed and not is_release:
                raise _closed()
            self._calls.append(weakref.ref(token))
        try:
            yield
        finally:
            with self._lock:
                self._calls = [one for one in self._calls if one() not in (None, token)]
                self._changed.notify_all()

    @contextlib.contextmanager
    def _claimed(
        self,
        keys: Sequence[_Key],
        limit: float = math.inf,
        is_needed: Callable[[], bool] = lambda: True,
    ) -> Iterator[None]:
        """Serialises the calls for a hold, so that a release cannot overtake a renewal."""
        token = _Token()
        try:
            with self._lock:
                while is_needed() and not self._claim(keys, token):
                    left = min(limit - _clock(), 1.0)
                    if left <= 0:
                        message = "another call for this user is still in progress; try again"
                        raise UnavailableError(message, "unreachable")
                    self._changed.wait(left)
            yield
        finally:
            self._unclaim(token)

    def _claim(self, keys: Sequence[_Key], token: _Token) -> bool:
        with self._lock:
            free: List[_Key] = []
            for key in keys:
                owner = self._claims[key]() if key in self._claims else None
                if owner is None:
                    free.append(key)
                elif owner.thread != token.thread:
                    return False
                # Else a callback or the handler of a signal interrupts the owner.
            self._claims.update({key: weakref.ref(token) for key in free})
            return True

    def _unclaim(self, token: _Token) -> None:
        with self._lock:
            for key in [one for one, claim in self._claims.items() if claim() in (None, token)]:
                del self._claims[key]
            self._changed.notify_all()

    @contextlib.contextmanager
    def _claimed_user(self, name: str) -> Iterator[List[_Hold]]:
        with self._lock:
            holds = [one for one in self._holds.values() if one.key[0] == name]
            holds = [one for one in holds if one.state == "held"]
            keys = [one.key for one in holds]
            own_key = (name, None, None)
            if own_key not in self._holds:
                keys.append(own_key)  # an acquire that begins meanwhile waits
        limit = _clock() + self._retry_for + self._timeout
        with self._claimed(keys, limit):
            yield holds

    def _pause(self, seconds: float, request: _Request) -> None:
        """Waits. Raises if the request is cancelled."""
        if seconds > 0:
            with self._lock:
                self._changed.wait_for(request.is_cancelled, seconds)
        if request.is_cancelled():
            raise _closed()

    # --- HTTP

    def _body(self, **fields: object) -> Json:
        given = {name: value for name, value in fields.items() if value is not None}
        return {"product": self._product, **given}

    def _post(self, operation: str, body: Json, parse: Callable[[_Reply], Any]) -> _Request:
        return _Request("POST", f"/api/v4/{operation}", parse, body, timeout=self._timeout)

    def _call(
        self, request: _Request, budget: float, limit: float = math.inf, standby_budget: float = 0.0
    ) -> Tuple[Any, float]:
        """Tries the servers in turn until one gives a final answer, for `budget` seconds.

        Returns the parsed reply and the time when its request was sent. `limit` ends exchanges.
        """
        start = _clock()
        pause = 0.25
        last_reply: Optional[_NotFinal] = None
        was_sent = False
        broken: Dict[int, _TlsFault] = {}
        while True:
            failures: List[Tuple[str, _NotFinal]] = []
            first = self._current
            for step in range(len(self._servers)):
                index = (first + step) % len(self._servers)
                if index in broken:
                    failures.append((self._servers[index].url, broken[index]))
                    continue
                self._pause(0.0, request)
                sent = _clock()
                try:
                    return self._attempt(index, request, limit), sent
                except _NotFinal as failure:
                    failures.append((self._servers[index].url, failure))
                    was_sent = was_sent or failure.was_sent
                    if isinstance(failure, _TlsFault):
                        broken[index] = failure
            self._pause(0.0, request)
            replies = [one for _, one in failures if one.code is not None]
            last_reply = next(iter(reversed(replies)), last_reply)
            is_standby = {one.code for one in replies} == {"standby"}
            allowed = max(budget, standby_budget) if is_standby else budget
            left = min(start + allowed, limit) - _clock()
            hints = [one.reply.retry_after() or 0.0 for one in replies if one.reply is not None]
            delay = max([_jitter(pause, 0.25), *hints])
            is_last = delay >= left
            is_over = is_last and (left < 0.5 or max([0.0, *hints]) >= left)
            if is_over or len(broken) == len(self._servers):
                elapsed = _clock() - start
                raise _unavailable(failures, last_reply, elapsed, request.key, was_sent)
            if is_last:
                # The last round is just before the end, unless the server wants a longer pause.
                delay = left - 0.25
            self._pause(delay, request)
            pause = min(pause * 2, 5.0)

    def _attempt(self, index: int, request: _Request, limit: float) -> Any:
        """Makes one exchange, with a login before it if needed. Raises _NotFinal or BerthError."""
        if self._basic is None:
            return self._ask(index, request, limit)
        token = self._token(index, None, request.timeout, limit)
        try:
            return self._ask(index, request, limit, f"Bearer {token}")
        except AccessDeniedError as error:
            if error.status != 401:
                raise
        token = self._token(index, token, request.timeout, limit)
        return self._ask(index, request, limit, f"Bearer {token}")

    def _token(self, index: int, refused: Optional[str], timeout: float, limit: float) -> str:
        """The token for a server, by a login unless there is one other than `refused`."""
        limit = min(limit, _clock() + timeout)
        request = _Request("GET", "/auth", _parse_token, timeout=timeout)
        try:
            with self._claimed([("", index, "login")], limit):
                token = self._tokens.get(index)
                if token is None or token == refused:
                    token = self._ask(index, request, limit, self._basic)
                    self._tokens[index] = token
                return token
        except UnavailableError:  # the login of another thread is still in progress
            failure = _NotFinal("gave no complete reply in time")
        except _NotFinal as error:
            failure = error
        failure.was_sent = False  # the call that needs the login
        raise failure from None

    def _ask(
        self, index: int, request: _Request, limit: float, credentials: Optional[str] = None
    ) -> Any:
        reply = self._exchange(index, request, credentials, limit)
        values = self._check(index, reply)
        if values is not None:
            request.refusal = reply
            raise _refusal(reply, values, self._basic is not None)
        try:
            parsed = request.parse(reply)
        except ValueError as error:
            raise _NotFinal(f"gave a reply that is not valid: {error}", reply) from None
        self._pin(index, reply)
        return parsed

    def _check(self, index: int, reply: _Reply) -> Optional[Json]:
        """None for a success; the body of a refusal. Raises _NotFinal for anything else."""
        appliance = reply.header("Berth-Appliance")
        if not appliance:
            hint = "check the address: another program answers there"
            raise _NotFinal(f"gave a reply ({reply.status}) that is not of Berth", hint=hint)
        if self._appliance not in (None, appliance):
            raise _OtherApplianceAnswer(f"is the appliance {appliance}, not {self._appliance}")
        if 200 <= reply.status < 300:
            return None
        try:
            values = _parse_object(reply.body)
            code = values["code"] = _printable(_text(values, "code"))[:39]
            if not code:
                raise ValueError("not a code")
        except ValueError:
            raise _NotFinal(f"replied {reply.status}", reply) from None
        if not 400 <= reply.status < 500 or reply.status in (408, 429):
            text = f"replied {reply.status}: {_describe(values)}"
            raise _NotFinal(text, reply, code, hint="")
        self._pin(index, reply)
        return values

    def _pin(self, index: int, reply: _Reply) -> None:
        appliance = reply.header("Berth-Appliance")
        with self._lock:
            if self._appliance is None:
                self._appliance = appliance
            elif self._appliance != appliance:
                raise _OtherApplianceAnswer(f"is the appliance {appliance}, not {self._appliance}")
            self._current = index
            self._answered.add(index)

    def _exchange(
        self, index: int, request: _Request, credentials: Optional[str], limit: float
    ) -> _Reply:
        server = self._servers[index]
        headers = {"User-Agent": "berth-python", "Connection": "close", **request.headers}
        wait = 0
        if request.wait is not None:
            wait = request.wait(index)
            headers["Prefer"] = f"wait={wait}"
        if credentials is not None:
            headers["Authorization"] = credentials
        data = None
        if request.body is not None:
            data = json.dumps(request.body).encode("ascii")
            headers["Content-Type"] = "application/json"
        deadline = min(_clock() + request.timeout + wait, limit)
        connection = http.client.HTTPConnection(server.host, server.port)
        connection.response_class = _FinalResponse
        sock: Optional[socket.socket] = None
        was_sent = False
        try:
            sock = _connect(server, deadline)
            if server.is_tls:
                sock.settimeout(_seconds_left(deadline))
                sock = self._tls.wrap_socket(sock, server_hostname=server.host)
            if request.wait is not None:
                with self._lock:
                    self._waiting_sockets.add(sock)
                if request.is_cancelled():
                    raise _closed()
            # Replaces connect() of http.client, whose time-out is for each step alone.
            connection.sock = cast(Any, _DeadlineSocket(sock, deadline))
            connection.default_port = 443 if server.is_tls else 80
            was_sent = True
            connection.request(request.method, server.prefix + request.path, data, headers)
            response = connection.getresponse()
            body = response.read(_MAX_BODY + 1)
            if len(body) > _MAX_BODY:
                raise _NotFinal("gave a reply of more than 1 MiB")
            if response.length:
                raise _NotFinal("cut the connection during its reply")
            received = {name.lower(): value for name, value in response.getheaders()}
            return _Reply(server.url, response.status, received, body)
        except (OSError, http.client.HTTPException, ValueError) as error:
            raise _network_failure(_find_alert(sock, error), was_sent) from None
        finally:
            if sock is not None:
                with self._lock:
                    self._waiting_sockets.discard(sock)
                sock.close()
            connection.close()


def _closed() -> InvalidArgumentError:
    return _invalid("the client is closed; create a new Client", "client_closed")


def _not_held() -> InvalidArgumentError:
    return _invalid("the slot is not held; acquire it again, then its features")


# Characters that could change a terminal which shows them, or the order of a text.
_UNPRINTED_CATEGORIES = ("Cc", "Cf", "Cs", "Zl", "Zp")


def _printable(value: object) -> str:
    text = value if isinstance(value, str) else ""
    marked = ["\0" if unicodedata.category(one) in _UNPRINTED_CATEGORIES else one for one in text]
    return re.sub("\0+", " ", "".join(marked)).strip()[:500]


def _read_place(reply: _Reply) -> Optional[Tuple[int, int]]:
    with contextlib.suppress(ValueError):
        place = _parse_object(reply.body).get("queue")
        if isinstance(place, dict):
            return _integer(place, "position"), _integer(place, "length")
    return None


def _describe(values: Json) -> str:
    """What a server says in an error reply, and its code."""
    text, code = _printable(values.get("message")).rstrip("."), cast(str, values["code"])
    return f"{text} ({code})" if text else code


def _refusal(reply: _Reply, values: Json, has_login: bool) -> BerthError:
    code = cast(str, values["code"])
    message = f"{reply.url} refused: {_describe(values)}"
    facts = (code, reply.status, reply.request_id())
    if reply.status in (401, 403):
        hint = "ask the operator of the server for access"
        if code == "unauthorized":
            hint = "check the option login=" if has_login else "give the option login="
        elif code == "tls_required":
            hint = "use the https:// address of the server"
        return AccessDeniedError(f"{message}; {hint}", *facts)
    if code not in _NO_SLOT_CODES:
        return RefusedError(message, *facts)
    error = NoFreeSlotError(message, *facts)
    place = _read_place(reply)
    error.position = None if place is None else place[0]
    return error


def _unavailable(
    failures: List[Tuple[str, _NotFinal]],
    last_reply: Optional[_NotFinal],
    elapsed: float,
    key: Optional[str],
    was_sent: bool,
) -> BerthError:
    """The error of a call without a final answer, from the last failure of each server.

    was_sent: in any of the attempts.
    """
    # First what a server said, then why others said nothing.
    failures = sorted(failures, key=lambda one: one[1].code is None)
    reasons = [f"{url} {failure}" for url, failure in failures]
    if last_reply is None and any(isinstance(one, _OtherApplianceAnswer) for _, one in failures):
        reasons[0] = f"the addresses lead to more than one license server: {reasons[0]}"
        hint = "give only the addresses of one server, or of both hosts of one pair"
        return OtherApplianceError("; ".join([*reasons, hint]), "other_appliance", key=key)
    hints = [one for one in dict.fromkeys(failure.hint for _, failure in failures) if one]
    if key is not None and was_sent:
        hints.append(f"the call may have been counted: repeat it with the key {key}")
    elif key is not None:
        hints.append("nothing was sent, so nothing was counted")
    if all(isinstance(failure, _TlsFault) for _, failure in failures):
        return TlsFailedError("; ".join([*reasons, *hints]), "tls_failed", key=key)
    seconds = f"{elapsed:.0f} s" if elapsed >= 1 else ""
    if failures[0][1].code is None:
        reasons[0] = f"no server answered{seconds and f' in {seconds}'}: {reasons[0]}"
    elif seconds:
        reasons.append(f"repeated for {seconds}")
    error = UnavailableError("; ".join([*reasons, *hints]), "unreachable", key=key)
    if last_reply is not None and last_reply.code and last_reply.reply is not None:
        error.code, error.status = last_reply.code, last_reply.reply.status
        error.request_id = last_reply.reply.request_id()
    return error


def _parse_token(reply: _Reply) -> str:
    token = _text(_parse_object(reply.body), "token")
    if not _matches("[!-~]{1,4096}", token):
        raise ValueError("token")
    return token


def _parse_license(reply: _Reply) -> str:
    text = reply.body.decode("utf-8").strip()
    if text.startswith("{"):
        _parse_object(text)
    elif not re.fullmatch(r"[A-Za-z0-9_-]+\.[A-Za-z0-9_-]+\.[A-Za-z0-9_-]+", text):
        raise ValueError("not a license")
    return text


# --- Arguments ---------------------------------------------------------------------------------


def _matches(form: str, value: object) -> bool:
    return isinstance(value, str) and re.fullmatch(form, value) is not None


def _require_text(name: str, value: object) -> str:
    if not isinstance(value, str) or not value or not _is_unicode(value):
        raise _invalid(f"{name} must be a text that is not empty")
    return value


def _is_unicode(text: str) -> bool:
    """False if there are bytes in it that could not be decoded, as in some file names."""
    return re.search("[\ud800-\udfff]", text) is None


def _require_seconds(name: str, value: object) -> float:
    is_number = isinstance(value, (int, float)) and not isinstance(value, bool)
    if not is_number or not 0 <= cast(float, value) <= 1e9:
        raise _invalid(f"{name} must be a number of seconds")
    return float(cast(float, value))


def _require_license_id(value: object) -> None:
    if value is not None and (type(value) is not int or not 0 <= value <= _MAX_INTEGER):
        raise _invalid("license_id must be an integer from 0 to 2^53 - 1")


def _require_idempotency_key(key: Optional[str]) -> str:
    if key is None:
        return os.urandom(16).hex()
    if not _matches("[!-~]{1,64}", key):
        raise _invalid("key must have 1 to 64 visible ASCII characters")
    return key


def _require_keys(name: str, keys: Any) -> List[bytes]:
    listed = [keys] if isinstance(keys, (str, Mapping)) else list(keys or ())
    return [_require_key(name, key) for key in listed]


def _require_key(name: str, key: object) -> bytes:
    try:
        x = {"kty": "OKP", "crv": "Ed25519", "x": key} if isinstance(key, str) else key
        return _decode_key(dict(x) if isinstance(x, Mapping) else x)
    except ValueError:
        message = f"{name}: a key must be `x` of an Ed25519 JWK: 43 characters of base64url"
        raise _invalid(message) from None


def _basic_credentials(login: object) -> str:
    is_pair = isinstance(login, (tuple, list)) and len(login) == 2
    if not is_pair or not all(
        isinstance(one, str) and one and _is_unicode(one) for one in cast(Any, login)
    ):
        raise _invalid("login must be a name and a password")
    name, password = cast(Tuple[str, str], login)
    if ":" in name:
        raise _invalid("login: the name must not contain a colon")
    return "Basic " + base64.b64encode(f"{name}:{password}".encode("utf-8")).decode("ascii")


def _tls_context(ca: object, certificate: object, is_needed: bool) -> ssl.SSLContext:
    # Not create_default_context(): it would write keys to the file of SSLKEYLOGFILE.
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)  # verifies the chain and the host
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    for name, value in (("ca", ca), ("certificate", certificate)):
        if value is None:
            continue
        if not isinstance(value, (str, os.PathLike)):
            raise _invalid(f"{name} must be the path of a PEM file, or its text")
        text = os.fspath(value)
        is_pem = "-----BEGIN" in text
        label = f"{name}: the text" if is_pem else f"{name}: the file {text}"
        path = text
        try:
            if is_pem:
                descriptor, path = tempfile.mkstemp()
                with os.fdopen(descriptor, "w", encoding="utf-8") as file:
                    file.write(text)
            if name == "ca":
                context.load_verify_locations(path)
                if not context.cert_store_stats()["x509"]:
                    raise ValueError("no certificate found")
            else:
                # An empty password: OpenSSL must not ask for one on the terminal.
                context.load_cert_chain(path, password="")
        except (OSError, ValueError) as error:
            raise _invalid(f"{label} cannot be read: {_explain(error)}") from None
        finally:
            if is_pem and path != text:
                os.unlink(path)
    if ca is None and is_needed:
        context.load_default_certs()
    return context


@atexit.register
def _release_at_exit() -> None:
    limit = _clock() + _LAST_SECONDS
    for client in list(_clients):
        client._release_at_exit(limit)
