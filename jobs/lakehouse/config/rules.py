"""A table's own expectations: conditions for bad rows, columns that repeat, numbers of rows.

In: rules of a TOML file, or of the file that it names. Out: checked rules, each with the columns
that it reads. A condition is one expression over the columns of one row; what needs all rows is
judged by a full validation alone.
"""

from __future__ import annotations

import re
from typing import Annotated, Literal, Self

from pydantic import BaseModel, ConfigDict, Field, model_validator

from lakehouse.config.fields import Flag, Names, Text
from lakehouse.config.patterns import slow_pattern
from lakehouse.config.row_functions import refusal

RuleName = Annotated[
    str,
    Field(
        pattern=r"^[a-z][a-z0-9_]{0,99}$",
        description="a name of lower-case letters, digits and '_' that starts with a letter",
    ),
]


class OwnRule(BaseModel):
    """One expectation of one table: `violated`, `unique` or `rows` says which rows count.

    Attributes:
        description: What holds when it passes.
        violated: A condition in Spark's SQL over the columns of silver, true for a bad row.
        unique: Columns; a row counts whose values in them another row has already.
        rows: Whether every row counts.
        at_most: How many rows of a batch, or of the whole table, may count; None for no limit if
            `at_least` is there, else for 0.
        at_least: How many rows of the whole table must count.
        at_most_percent: How many percent of the whole table's rows may count, instead of `at_most`.
    """

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)

    name: RuleName
    description: Text
    violated: Annotated[Text | None, Field(description='a condition such as "total < 0"')] = None
    # TOML and YAML have lists.
    unique: Annotated[
        Names, Field(strict=False, description='a list of columns such as ["number"]')
    ] = ()
    rows: Flag = False
    at_most: Annotated[int | None, Field(ge=0, description="a whole number from 0 on")] = None
    at_least: Annotated[int, Field(ge=0, description="a whole number from 0 on")] = 0
    at_most_percent: Annotated[
        float | None, Field(ge=0, le=100, description="a number from 0 to 100")
    ] = None
    severity: Annotated[
        Literal["critical", "warning"], Field(description='"critical" or "warning"')
    ] = "warning"

    @model_validator(mode="after")
    def _check(self) -> Self:
        if (self.violated is not None) + bool(self.unique) + self.rows != 1:
            raise ValueError(f"{self.name}: expected one of violated, unique and rows = true")
        if self.at_most_percent is not None and (self.rows or self.at_most or self.at_least):
            raise ValueError(f"{self.name}: at_most_percent: expected no other limit beside it")
        if self.rows and self.at_most is None and not self.at_least:
            raise ValueError(f"{self.name}: rows: expected at_least or at_most beside it")
        if self.at_most is not None and self.at_most < self.at_least:
            raise ValueError(f"{self.name}: at_most: {self.at_most}: expected at_least or more")
        read_columns(self.condition)
        return self

    @property
    def condition(self) -> str:
        """True for a row that counts by itself."""
        return self.violated or ("true" if self.rows else "false")

    @property
    def told(self) -> str:
        """What it counts, as a person wrote it."""
        return f"unique {', '.join(self.unique)}" if self.unique else self.condition

    @property
    def most(self) -> int | None:
        """How many rows may count; None for any number. Of percents, those that are too many."""
        return self.at_most if self.at_most is not None or self.at_least else 0

    @property
    def needs_all_rows(self) -> bool:
        """Whether a batch says nothing about it."""
        has_share = self.at_most_percent is not None
        return self.rows or bool(self.unique) or self.at_least > 0 or has_share

    @property
    def expected(self) -> str:
        """The limits in a few words."""
        if self.at_most_percent is not None:
            return f"≤ {self.at_most_percent:g} % of the rows"
        if self.most is None:
            return f"≥ {self.at_least} rows"
        if self.at_least:
            return f"from {self.at_least} to {self.most} rows"
        return f"≤ {self.most} rows"


def read_columns(condition: str) -> tuple[str, ...]:
    """The columns that a condition reads, sorted.

    Raises:
        ValueError: It is no condition over one row, or calls what no condition may.
    """
    # Parsing takes a third of a second to import, and few sources have rules.
    from sqlglot import exp, parse_one  # noqa: PLC0415
    from sqlglot.errors import SqlglotError  # noqa: PLC0415

    expected = "expected one condition over the columns of a row"
    try:
        tree = parse_one(condition, dialect="spark", into=exp.Condition)
    except SqlglotError as broken:
        said = re.sub(r"\x1b\[\d*m", "", str(broken)).splitlines()[0]
        reason = re.sub(r" into <class '[^']*'>", "", said)
        raise ValueError(f"violated: {condition!r}: {expected}: {reason}") from broken
    refused = (exp.Query, exp.AggFunc, exp.Window, exp.Placeholder, exp.Command)
    if found := tree.find(*refused):
        raise ValueError(f"violated: {condition!r}: {expected}, not {found.sql('spark')!r}")
    if why := refusal(condition) or slow_pattern(tree):
        raise ValueError(f"violated: {condition!r}: {why}")
    return tuple(sorted({column.parts[0].name for column in tree.find_all(exp.Column)}))
