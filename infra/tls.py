"""How a client makes sure of a database's server: one description, in the words of both clients."""

from __future__ import annotations

import ssl
from dataclasses import dataclass

from infra.setup.truststore import machine_bundle

DISABLE, VERIFY_CA, VERIFY_FULL = "disable", "verify-ca", "verify-full"


@dataclass(frozen=True, slots=True)
class Tls:
    """What is asked of a server.

    Attributes:
        mode: `disable`, `verify-ca` (its authority) or `verify-full` (its host name too).
        authority: The file of the certificates to trust.
        certificate: The file of the client's own one, where the server asks for it; with its `key`.
    """

    mode: str
    authority: str = ""
    certificate: str = ""
    key: str = ""

    def libpq(self) -> dict[str, str]:
        """The options of PostgreSQL's client; what is left out has libpq's own default."""
        options = {
            "sslmode": self.mode,
            "sslrootcert": self.authority,
            "sslcert": self.certificate,
            "sslkey": self.key,
        }
        return {name: text for name, text in options.items() if text}

    def pymysql(self) -> dict[str, str | bool | None]:
        """The options of MySQL's and MariaDB's client."""
        if self.mode == DISABLE:
            return {"ssl_disabled": True}
        return {
            # Without a file it verifies no host name, whatever it is told.
            "ssl_ca": self.authority,
            "ssl_verify_cert": True,
            "ssl_verify_identity": self.mode == VERIFY_FULL,
            "ssl_cert": self.certificate or None,
            "ssl_key": self.key or None,
        }


def machine_authorities() -> str:
    """The file of the authorities that this machine trusts; empty where it has none."""
    return ssl.get_default_verify_paths().cafile or str(machine_bundle() or "")
