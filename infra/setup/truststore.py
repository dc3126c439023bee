"""The certificate authorities that Python trusts, as a trust store for Java.

The Java from PyPI brings its own list, which lacks what the machine adds (`SSL_CERT_FILE`, a
company's authority); with the machine's list every download trusts the same.

Format: https://docs.oracle.com/en/java/javase/21/docs/specs/security/standard-names.html (JKS);
layout as in the JDK's `sun.security.provider.JavaKeyStore`.
"""

import hashlib
import ssl
import struct
from collections.abc import Iterable
from pathlib import Path

PASSWORD = "changeit"  # noqa: S105 - Java's well-known default: it guards nothing

_MAGIC = 0xFEEDFEED
_VERSION = 2
_TRUSTED_CERTIFICATE = 2
# Where Linux distributions keep the list, for an OpenSSL that only knows a folder of hashes.
_KNOWN_BUNDLES = ("/etc/ssl/certs/ca-certificates.crt", "/etc/pki/tls/certs/ca-bundle.crt")


def machine_bundle(candidates: Iterable[str] = _KNOWN_BUNDLES) -> Path | None:
    """The first of the files that is there: the authorities that this machine trusts."""
    return next((Path(bundle) for bundle in candidates if Path(bundle).is_file()), None)


def trusted_certificates() -> list[bytes]:
    """The certificates, in DER form, that this machine trusts; empty if it has no list."""
    context = ssl.create_default_context()
    bundle = machine_bundle()
    if bundle is not None and not context.get_ca_certs():
        context.load_verify_locations(bundle)
    return context.get_ca_certs(binary_form=True)


def encode_truststore(certificates: list[bytes]) -> bytes:
    """A Java key store that trusts these certificates (DER form), locked with `PASSWORD`."""
    entries = [
        struct.pack(">I", _TRUSTED_CERTIFICATE)
        + _text(f"authority-{number}")
        + struct.pack(">Q", 0)
        + _text("X.509")
        + struct.pack(">I", len(certificate))
        + certificate
        for number, certificate in enumerate(certificates)
    ]
    store = struct.pack(">III", _MAGIC, _VERSION, len(entries)) + b"".join(entries)
    salted = PASSWORD.encode("utf-16-be") + b"Mighty Aphrodite" + store
    return store + hashlib.sha1(salted, usedforsecurity=False).digest()


def _text(value: str) -> bytes:
    return struct.pack(">H", len(value)) + value.encode("ascii")
