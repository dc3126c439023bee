"""A table's own expectations: conditions that are true for a bad row.

In: rules of a TOML file, or of the file that it names. Out: checked rules, each with the columns
that its condition reads. A condition is one expression over the columns of one row.
"""

from __future__ import annotations

import re
from typing import Annotated, Literal, Self

from pydantic import BaseModel, ConfigDict, Field, model_validator

from lakehouse.config.fields import Text

RuleName = Annotated[
    str,
    Field(
        pattern=r"^[a-z][a-z0-9_]{0,99}$",
        description="a name of lower-case letters, digits and '_' that starts with a letter",
    ),
]


class OwnRule(BaseModel):
    """One expectation of one table.

    Attributes:
        description: What holds when it passes.
        violated: A condition in Spark's SQL over the columns of silver, true for a bad row.
        at_most: How many rows of a batch may be bad.
    """

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)

    name: RuleName
    description: Text
    violated: Annotated[Text, Field(description='a condition such as "total < 0"')]
    at_most: Annotated[int, Field(ge=0, description="a whole number from 0 on")] = 0
    severity: Annotated[
        Literal["critical", "warning"], Field(description='"critical" or "warning"')
    ] = "warning"

    @model_validator(mode="after")
    def _check(self) -> Self:
        read_columns(self.violated)
        return self


def read_columns(condition: str) -> tuple[str, ...]:
    """The columns that a condition reads, sorted.

    Raises:
        ValueError: It is no condition over one row.
    """
    # Parsing takes a third of a second to import, and few sources have rules.
    from sqlglot import exp, parse_one  # noqa: PLC0415
    from sqlglot.errors import SqlglotError  # noqa: PLC0415

    expected = "expected one condition over the columns of a row"
    try:
        tree = parse_one(condition, dialect="spark", into=exp.Condition)
    except SqlglotError as broken:
        reason = re.sub(r"\x1b\[\d*m", "", str(broken)).splitlines()[0]
        raise ValueError(f"violated: {condition!r}: {expected}: {reason}") from broken
    refused = (exp.Query, exp.AggFunc, exp.Window, exp.Placeholder, exp.Command)
    if found := tree.find(*refused):
        raise ValueError(f"violated: {condition!r}: {expected}, not {found.sql('spark')!r}")
    return tuple(sorted({column.parts[0].name for column in tree.find_all(exp.Column)}))
