"""Loss classes: what silver's column keeps of the source's values, and how that is known.

In: a connector's rules and what is recorded of a column. Out: `exact`, `widened` (the values in a
type that could hold more) or `lossy`, with the reason. Nothing is guessed from values.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from enum import StrEnum

from lakehouse.connectors import Connector
from lakehouse.plan.batches.masks import MASKED
from lakehouse.plan.schemas.declared_types import DECLARED
from lakehouse.plan.schemas.row_schema import PROVEN

# What a loss that a person asked for is known from.
MASK = "the mask in the TOML file"


class LossClass(StrEnum):
    """What silver keeps of a column's values, the best first."""

    EXACT = "exact"
    WIDENED = "widened"
    LOSSY = "lossy"


@dataclass(frozen=True, slots=True)
class ColumnFacts:
    """What is known of a column of silver.

    Attributes:
        type: Silver's type, as Spark names it.
        wire: The type that the messages declare, such as `int16`; empty where it is not recorded.
        semantic: The name of that type, such as `io.debezium.time.Date`.
        doc: The column's doc: a unit, a declared type, a mask.
        source_type: The type in the source's own words; empty where nothing says it.
    """

    name: str
    type: str
    wire: str = ""
    semantic: str = ""
    doc: str = ""
    source_type: str = ""


@dataclass(frozen=True, slots=True)
class Loss:
    """The loss class of one column.

    Attributes:
        reason: Why it is not exact; empty when it is.
        fact: What the class is known from.
    """

    name: str
    loss: LossClass
    reason: str
    fact: str


_TIME_OF_DAY = "a whole number, of the unit in the column's doc"
_SEMANTIC: Mapping[str, tuple[LossClass, str]] = {
    "io.debezium.time.Time": (LossClass.WIDENED, _TIME_OF_DAY),
    "io.debezium.time.MicroTime": (LossClass.WIDENED, _TIME_OF_DAY),
    "io.debezium.time.NanoTime": (LossClass.WIDENED, _TIME_OF_DAY),
    "io.debezium.time.NanoTimestamp": (
        LossClass.LOSSY,
        "times before 1677 and after 2262 arrive as NULL",
    ),
    "io.debezium.time.MicroDuration": (LossClass.LOSSY, "a month counts as 30.4375 days"),
    "org.apache.kafka.connect.data.Time": (
        LossClass.LOSSY,
        "digits behind the millisecond are cut (time.precision.mode = connect)",
    ),
    "org.apache.kafka.connect.data.Timestamp": (
        LossClass.LOSSY,
        "digits behind the millisecond are cut (time.precision.mode = connect)",
    ),
    "io.debezium.data.VariableScaleDecimal": (
        LossClass.WIDENED,
        "text, for each number has a scale of its own",
    ),
}
_FLOATS = frozenset({"float", "double", "float32", "float64"})
_FLOATS_INSIDE = re.compile(r"(array|map|struct)<.*\b(float|double)\b")
_DECIMAL = re.compile(r"(decimal|numeric|number|dec|money)\b", re.IGNORECASE)
_FLOAT_OF_DIGITS = re.compile(r"float\(\d+,\d+\)", re.IGNORECASE)
_UNSIGNED = re.compile(r"bigint\b.*\bunsigned", re.IGNORECASE)
_BYTES = re.compile(r"((var)?binary|(tiny|medium|long)?blob)\b", re.IGNORECASE)


def loss_of(column: ColumnFacts, connector: Connector) -> Loss:
    """The loss class of a column.

    Args:
        column: What is known of it.
        connector: What its messages are known to lose.
    """
    if column.doc.startswith(MASKED):
        return Loss(column.name, LossClass.LOSSY, column.doc, MASK)
    found = [*_of_type(column), *_of_connector(column, connector)]
    worst = max((loss for loss, _ in found), key=list(LossClass).index, default=LossClass.EXACT)
    reasons = dict.fromkeys(reason for loss, reason in found if loss is worst)
    return Loss(column.name, worst, "; ".join(reasons), _fact(column))


def worst_of(losses: Iterator[Loss] | list[Loss]) -> Loss:
    """The worst class that a column had over its versions, the newest of equals."""
    ranked = list(losses)
    return max(reversed(ranked), key=lambda loss: list(LossClass).index(loss.loss))


def _fact(column: ColumnFacts) -> str:
    if column.doc.startswith(DECLARED):
        return "the type in the TOML file, or else of the source's statements"
    if column.source_type:
        return "the type in the source's schema"
    return "the JSON of the messages" if column.wire == PROVEN else "the schema in the messages"


def _of_type(column: ColumnFacts) -> Iterator[tuple[LossClass, str]]:
    """What the types alone tell."""
    if column.semantic in _SEMANTIC:
        yield _SEMANTIC[column.semantic]
    if column.semantic.endswith(".Decimal") and column.type == "string":
        yield LossClass.WIDENED, "text, for it has more than 38 digits"
    if column.wire in ("int8", "int16"):
        yield LossClass.WIDENED, f"{column.type}, for silver has no smaller number"
    is_decimal = column.type.startswith("decimal")
    if is_decimal and column.wire == "int64":
        yield LossClass.WIDENED, "a decimal, for it is larger than a signed number of 64 bits"
    yield from _of_floats(column)
    sent_as_float = column.wire in _FLOATS
    if sent_as_float and (is_decimal or _DECIMAL.match(column.source_type)):
        yield LossClass.LOSSY, "a decimal is sent as a double: digits behind the 15th are lost"
    if column.type == "bigint" and _UNSIGNED.match(column.source_type):
        yield LossClass.LOSSY, "a number above 2^63 - 1 arrives negative: declare its type"
    if column.type == "string" and column.wire == "string" and _BYTES.match(column.source_type):
        yield LossClass.WIDENED, "the Base64 text of its bytes: declare its type"


def _of_floats(column: ColumnFacts) -> Iterator[tuple[LossClass, str]]:
    if _FLOATS_INSIDE.match(column.type):
        yield LossClass.LOSSY, "the sign of -0.0 is lost inside arrays, maps and structs"
    if column.type == "double" and column.wire == PROVEN:
        yield LossClass.LOSSY, "without a schema every number with a fraction is a double"
    if column.type == "double" and _FLOAT_OF_DIGITS.match(column.source_type):
        yield LossClass.LOSSY, "it arrives with the digits of its four bytes, not the declared ones"


def _of_connector(column: ColumnFacts, connector: Connector) -> Iterator[tuple[LossClass, str]]:
    """What the connector's messages are known to lose."""
    kind = column.semantic or column.wire
    if kind in connector.losses:
        yield LossClass.LOSSY, connector.losses[kind]
    is_known = column.source_type or column.doc.startswith(DECLARED)
    if kind in connector.hidden_types and not is_known:
        yield LossClass.LOSSY, connector.hidden_types[kind]
