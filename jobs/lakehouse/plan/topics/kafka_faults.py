"""What a failure of a Kafka client means for a person: what failed, and what to do next.

In: the text of librdkafka, or of the Java client inside of Spark's. Out: one sentence. Neither
client puts a password into what it says (`tests/kafka/test_secured.py`).
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from enum import Enum

_PLACE = "LAKEHOUSE_KAFKA or the Airflow connection"
_LONGEST = 300
# Spark's own exception is no class of Kafka's where it waited in vain.
_EXCEPTION = re.compile(
    r"org\.apache\.(?:kafka|spark\.sql\.kafka010)\.[\w.$]*Exception: [^\n]*"
    r"|java\.util\.concurrent\.TimeoutException: Cannot fetch [^\n]*"
)


class _Cause(Enum):
    """Signs of what failed, and what follows; the first whose sign is found counts."""

    RIGHT = (
        r"(?i:authorization failed|AUTHORIZATION_FAILED|Not authorized to access)",
        "{login} may not do this to {what}",
        "the rights of docs/grants.md; grant them to it, as an administrator of the cluster",
    )
    LOGIN = (
        r"(?i:SASL authentication error|SASL mechanism|SaslAuthenticationException)",
        "{login} was refused",
        f"one that it knows; correct sasl.username, sasl.password or sasl.mechanism in {_PLACE}",
    )
    CERTIFICATE = (
        r"(?i:certificate|SSL handshake|SslAuthenticationException|SSLHandshakeException)",
        "no trust in its certificate, or it speaks no TLS",
        (
            "a certificate for this host by an authority whose file ssl.ca.location names; correct "
            f"it, or security.protocol, in {_PLACE}"
        ),
    )
    SILENCE = (
        "",
        "no answer",
        (
            "a broker there; start it (`lakehouse up` starts the local one), or correct the "
            "connection (bootstrap.servers, security.protocol)"
        ),
    )

    def __init__(self, sign: str, failed: str, expected: str) -> None:
        self.sign, self.failed, self.expected = sign, failed, expected


def kafka_fault(properties: Mapping[str, str], reasons: Iterable[str], what: str) -> str:
    """What failed, and what to do.

    Args:
        properties: librdkafka's, of which address and user are shown.
        reasons: What the client said; the first that tells more than silence counts, else the
            first.
        what: What was asked for, such as `topic 'shop.orders'`.
    """
    told = list(reasons)
    found = [(_cause(each), each) for each in told]
    cause, reason = next(
        (pair for pair in found if pair[0] is not _Cause.SILENCE),
        found[0] if found else (_Cause.SILENCE, "nothing said"),
    )
    user = properties.get("sasl.username")
    failed = cause.failed.format(login=f"the login {user!r}" if user else "a client", what=what)
    return (
        f"Kafka at {properties['bootstrap.servers']!r}: {failed} ({reason[:_LONGEST]}): expected "
        f"{cause.expected}"
    )


def kafka_exceptions(stack_trace: str) -> list[str]:
    """What Kafka's own exceptions in the stack trace of a Spark job say, the innermost first.

    Empty where the job failed for another reason: frames of the Kafka client alone are no sign.
    """
    found = [_without_package(match[0]) for match in _EXCEPTION.finditer(stack_trace)]
    return list(reversed(dict.fromkeys(found)))


def _without_package(exception: str) -> str:
    name, _, text = exception.partition(": ")
    return f"{name.rpartition('.')[2]}: {text}"


def _cause(reason: str) -> _Cause:
    return next(cause for cause in _Cause if re.search(cause.sign, reason))
