"""A broker with TLS, logins and ACLs, and a certificate authority of a test's own."""

from __future__ import annotations

import secrets
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from ipaddress import ip_address
from pathlib import Path

from confluent_kafka.admin import AdminClient
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

from infra.home import write_private
from infra.kafka_grants import Grant, allow
from infra.kafka_logins import SCRAM, admit, login_listener
from infra.ports import LOOPBACK
from tests.support.broker import Broker, running_broker

# What JAAS, JSON and shells spell in other ways.
ODD = "\"\\ ';$,="


@dataclass(frozen=True)
class Authority:
    """A certificate authority: who trusts its certificate trusts what it signs."""

    key: ec.EllipticCurvePrivateKey
    certificate: x509.Certificate

    @classmethod
    def new(cls) -> Authority:
        key = ec.generate_private_key(ec.SECP256R1())
        name = _name("a test's authority")
        template = _certificate(name, name, key.public_key()).add_extension(
            x509.BasicConstraints(ca=True, path_length=None), critical=True
        )
        return cls(key, template.sign(key, hashes.SHA256()))

    @property
    def pem(self) -> str:
        return self.certificate.public_bytes(serialization.Encoding.PEM).decode()

    def signed(self) -> str:
        """A key for servers at the loopback address, and its certificate."""
        key = ec.generate_private_key(ec.SECP256R1())
        at = x509.SubjectAlternativeName([x509.IPAddress(ip_address(LOOPBACK))])
        template = _certificate(_name("broker"), self.certificate.subject, key.public_key())
        certificate = template.add_extension(at, critical=False).sign(self.key, hashes.SHA256())
        private = key.private_bytes(
            serialization.Encoding.PEM,
            serialization.PrivateFormat.PKCS8,
            serialization.NoEncryption(),
        )
        return (private + certificate.public_bytes(serialization.Encoding.PEM)).decode() + self.pem


def _name(text: str) -> x509.Name:
    return x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, text)])


def _certificate(
    subject: x509.Name, issuer: x509.Name, key: ec.EllipticCurvePublicKey
) -> x509.CertificateBuilder:
    now = datetime.now(UTC)
    return (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(issuer)
        .public_key(key)
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - timedelta(hours=1))
        .not_valid_after(now + timedelta(days=1))
    )


@dataclass(frozen=True)
class Secured:
    """A broker whose listener `secure` asks for TLS and a login, and grants nothing by itself."""

    broker: Broker
    folder: Path
    admin: AdminClient
    passwords: dict[str, str]

    @property
    def authority(self) -> Path:
        """The file of the certificate to trust."""
        return self.folder / "authority.pem"

    def add_user(self, name: str) -> None:
        """A login that may do nothing yet."""
        self.passwords[name] = ODD + secrets.token_urlsafe(18)
        admit(self.admin, name, self.passwords[name])

    def grant(self, user: str, topic: str, *operations: str, prefixed: bool = False) -> None:
        """Let a login do operations (`READ`, …) on a topic."""
        allow(self.admin, user, Grant(topic, operations, prefixed))

    def properties(self, user: str, **changes: str) -> dict[str, str]:
        """How a login reaches it; in the names of changes `_` stands for a dot."""
        return {
            "bootstrap.servers": f"{LOOPBACK}:{self.broker.ports['secure']}",
            "security.protocol": "SASL_SSL",
            "ssl.ca.location": str(self.authority),
            "sasl.mechanism": SCRAM,
            "sasl.username": user,
            "sasl.password": self.passwords[user],
            **{name.replace("_", "."): text for name, text in changes.items()},
        }


@contextmanager
def secured_broker(folder: Path) -> Iterator[Secured]:
    """A broker that asks for TLS and logins, until the end."""
    authority = Authority.new()
    folder.mkdir(parents=True)
    write_private(folder / "broker.pem", authority.signed())
    (folder / "authority.pem").write_text(authority.pem, encoding="ascii")
    with running_broker(folder / "broker", secure=_listener(folder / "broker.pem")) as broker:
        yield Secured(
            broker, folder, AdminClient({"bootstrap.servers": broker.address, "log_level": 0}), {}
        )


def _listener(key: Path) -> Mapping[str, str]:
    ports = {name: f"{{{name}}}" for name in ("plain", "port", "controller")}
    return {
        **login_listener("SECURE", "SASL_SSL", **ports),
        "listener.name.secure.ssl.keystore.type": "PEM",
        "listener.name.secure.ssl.keystore.location": str(key),
    }
