"""Credentials for the server of a store, and the certificates that it must show."""

from __future__ import annotations

import ssl
from base64 import b64encode
from dataclasses import dataclass, field

from rdfaspider.stores import StoreUnavailable


@dataclass(frozen=True, slots=True, repr=False)
class Access:
    """How to identify to a server. It has no repr, so that no log shows a password."""

    user: str = ""
    password: str = ""
    token: str = ""
    headers: dict[str, str] = field(default_factory=dict)
    certificates: str = ""  # a file of certificates to trust instead of the system's
    verify: bool = True
    timeout: float = 60.0


def tls(access: Access) -> ssl.SSLContext:
    """Return the TLS context: which certificates of a server to accept."""
    try:
        context = ssl.create_default_context(cafile=access.certificates or None)
    except OSError as error:  # an SSLError is one too
        raise StoreUnavailable(
            f"The certificates in {access.certificates} cannot be read: {error.strerror}."
        ) from error
    if not access.verify:
        context.check_hostname = False
        context.verify_mode = ssl.CERT_NONE
    return context


def credentials(access: Access) -> dict[str, str]:
    """Return the headers that identify the client, without waiting for a challenge."""
    if access.token:
        return {"Authorization": f"Bearer {access.token}"}
    if access.user:
        pair = f"{access.user}:{access.password}".encode()
        return {"Authorization": f"Basic {b64encode(pair).decode()}"}
    return {}
