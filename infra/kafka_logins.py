"""Logins of a broker beside its open listener, and how the stack's parts use them.

The lakehouse and Kafka Connect have one each with the rights of `docs/grants.md` and no more, so
that each command, Dag and connector is tried with these alone. The stack's administration makes
them, without a login, at a port of this machine.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from confluent_kafka.admin import AdminClient
from confluent_kafka.admin._scram import (
    ScramCredentialInfo,
    ScramMechanism,
    UserScramCredentialUpsertion,
)

from infra.home import StackHome
from infra.ports import LOOPBACK

SCRAM = "SCRAM-SHA-512"
LAKEHOUSE, CONNECT = "lakehouse", "connect"
LISTENER = "LOGINS"
_LOGIN_MODULE = "org.apache.kafka.common.security.scram.ScramLoginModule"
_ITERATIONS, _DEADLINE_S = 4096, 30


def login_listener(
    name: str, protocol: str, *, plain: int | str, port: int | str, controller: int | str
) -> dict[str, str]:
    """A broker's properties for a listener that asks for a login and grants nothing by itself.

    Args:
        name: The listener's, in capitals.
        protocol: SASL_PLAINTEXT or SASL_SSL.
        plain: The port of the listener without logins; who comes there may do everything.
        port: The listener's own.
        controller: That of the controller.
    """
    open_to_clients = f"PLAINTEXT://{LOOPBACK}:{plain},{name}://{LOOPBACK}:{port}"
    protocols = {"PLAINTEXT": "PLAINTEXT", "CONTROLLER": "PLAINTEXT", name: protocol}
    prefix = f"listener.name.{name.lower()}"
    return {
        "listeners": f"{open_to_clients},CONTROLLER://{LOOPBACK}:{controller}",
        "advertised.listeners": open_to_clients,
        "listener.security.protocol.map": ",".join(f"{n}:{p}" for n, p in protocols.items()),
        f"{prefix}.sasl.enabled.mechanisms": SCRAM,
        f"{prefix}.{SCRAM.lower()}.sasl.jaas.config": f"{_LOGIN_MODULE} required;",
        "authorizer.class.name": "org.apache.kafka.metadata.authorizer.StandardAuthorizer",
        "super.users": "User:ANONYMOUS",
    }


def lakehouse_properties(home: StackHome, ports: Mapping[str, int]) -> dict[str, str]:
    """How the lakehouse reaches the stack's broker, as librdkafka's properties."""
    return {
        "bootstrap.servers": f"{LOOPBACK}:{ports['kafka:logins']}",
        "security.protocol": "SASL_PLAINTEXT",
        "sasl.mechanism": SCRAM,
        "sasl.username": LAKEHOUSE,
        "sasl.password": home.passwords()["kafka"],
    }


def connect_properties(secrets: Path, ports: Mapping[str, int]) -> dict[str, str]:
    """How Kafka Connect and its connectors reach it, as properties of Java's clients.

    Args:
        secrets: The file that the worker reads the password from.
        ports: Those of the stack.
    """
    login = f'username="{CONNECT}" password="${{file:{secrets}:{CONNECT}}}"'
    return {
        "bootstrap.servers": f"{LOOPBACK}:{ports['kafka:logins']}",
        "security.protocol": "SASL_PLAINTEXT",
        "sasl.mechanism": SCRAM,
        "sasl.jaas.config": f"{_LOGIN_MODULE} required {login};",
    }


def admit(admin: AdminClient, user: str, password: str) -> None:
    """Make a login, or give it another password."""
    info = ScramCredentialInfo(ScramMechanism.SCRAM_SHA_512, _ITERATIONS)
    change = UserScramCredentialUpsertion(user, info, password.encode())
    for answer in admin.alter_user_scram_credentials([change]).values():
        answer.result(_DEADLINE_S)
