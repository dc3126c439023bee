"""What a TOML file says of one table, one model each. Each description completes "expected …"."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Literal, Self

from pydantic import Field, model_validator

from lakehouse.config.fields import ChangeKind, ColumnType, Flag, Names, SchemaMode, Text
from lakehouse.config.rules import OwnRule
from lakehouse.config.sections import KINDS, SchemaChangesConfig, Section
from lakehouse.names import RESERVED_ENDINGS

SilverName = Annotated[
    str,
    Field(
        pattern=r"^[a-z0-9_]{1,200}$",
        description="a table name of lower-case letters, digits and '_' that does not end in "
        "__state, __history or __retired_<n>",
    ),
]


class ColumnConfig(Section):
    """What differs for one column of a table."""

    mask: Annotated[
        Literal["drop", "hash", "redact"] | None, Field(description="one of drop, hash, redact")
    ] = None
    type: ColumnType | None = None


class TableSchemaChangesConfig(Section):
    """What happens to one table where that differs from the source's other tables."""

    mode: Annotated[
        SchemaMode | None,
        Field(description="one of evolve, try_evolve, lenient, ignore, fail"),
    ] = None
    require_approval: Annotated[
        tuple[ChangeKind, ...] | None,
        Field(description=KINDS),
    ] = None

    def over(self, shared: SchemaChangesConfig) -> SchemaChangesConfig:
        """What holds for the table, where the source's other tables have `shared`."""
        return shared.model_copy(update=self.model_dump(exclude_none=True))


class TableConfig(Section):
    """What differs for one table."""

    table: SilverName | None = None
    delete: Annotated[Literal["hard", "soft"], Field(description='"hard" or "soft"')] = "hard"
    history: Flag = False
    key: Annotated[
        Annotated[Names, Field(min_length=1)] | None,
        Field(
            description='a list of columns such as ["id"]; no such line where the events have it'
        ),
    ] = None
    drop_column: Annotated[
        Literal["keep", "drop"] | None, Field(description='"keep" or "drop"')
    ] = None
    schema_changes: Annotated[
        TableSchemaChangesConfig,
        Field(description='a table such as { mode = "fail" }'),
    ] = TableSchemaChangesConfig()
    columns: Annotated[
        Mapping[str, ColumnConfig],
        Field(description='a table of column = { mask = "drop" } or { type = "…" }'),
    ] = {}
    contract: Annotated[
        Text | None, Field(description="a file beside this one, such as orders.odcs.yaml")
    ] = None
    expectations: Annotated[
        Text | None, Field(description="a file beside this one, such as orders.rules.toml")
    ] = None
    rules: Annotated[
        tuple[OwnRule, ...],
        Field(description="a list of rules with name, description and violated"),
    ] = ()
    not_judged: Annotated[tuple[Text, ...], Field(description="nothing: the loader sets it")] = ()

    @model_validator(mode="after")
    def _check(self) -> Self:
        names = [rule.name for rule in self.rules]
        if twice := sorted({name for name in names if names.count(name) > 1}):
            raise ValueError(f"rules: {twice[0]!r}: expected each name once in all files")
        if self.table is not None and RESERVED_ENDINGS.search(self.table):
            raise ValueError(
                f"table: {self.table!r}: expected a name that does not end in __state, "
                "__history or __retired_<n>, which the pipeline's own tables have"
            )
        for name in self.key or ():
            mask = self.columns[name].mask if name in self.columns else None
            if mask not in (None, "hash"):
                raise ValueError(
                    f"columns.{name}.mask: {mask!r}: expected 'hash', because {name!r} is part "
                    "of the key and rows are found by it"
                )
        return self
