"""Names: which silver table, topic and identifier a source table gets.

In: the identity of a source table (database, schema, table) and the connector's name. Out: names
that are the same in every run and never the same for two tables.
The rules are the project's own; topic names follow Debezium's sanitising
(https://debezium.io/documentation/reference/stable/connectors/postgresql.html, "Topic names").
"""

from __future__ import annotations

import difflib
import hashlib
import json
import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import total_ordering

from lakehouse.connectors import CONNECTORS
from lakehouse.errors import ConfigError

BRONZE_NAMESPACE = "bronze"
QUALITY_NAMESPACE = "quality"

# The route of the tab that shows a run's report in Airflow's pages.
RUN_PAGE = "data_quality_of_run"

# Tables that the pipeline keeps beside a silver table end in one of these.
RESERVED_ENDINGS = re.compile(r"__(state|history|incoming_\d+|retired_\d+)$")

# Rows of a table that the source dropped before it made another one of its name.
RETIRED = re.compile(r"__retired_\d+$")

# A JDBC catalog keeps table names in VARCHAR(255); room is left for the endings above.
MAX_NAME_LENGTH = 200


@total_ordering
@dataclass(frozen=True, slots=True)
class TableIdentity:
    """A source table as its source block names it; a part that the connector lacks is None.

    Attributes:
        incarnation: How often the source dropped a table of this name before.
    """

    database: str | None
    schema_name: str | None
    table: str
    incarnation: int = 0

    @staticmethod
    def of(members: Sequence[str | int | None]) -> TableIdentity:
        """Read what `members` gave."""
        return TableIdentity(*members)  # type: ignore[arg-type]

    @staticmethod
    def of_parts(parts: Sequence[str], names: Sequence[str]) -> TableIdentity:
        """The table with these parts, of which `names` tells which is which.

        Args:
            parts: Such as `("public", "orders")`.
            names: As long: `database`, `schema_name` and `table`, or those of them that there are.
        """
        found = dict(zip(names, parts, strict=True))
        return TableIdentity(found.get("database"), found.get("schema_name"), found["table"])

    @property
    def members(self) -> tuple[str | int | None, ...]:
        """As control tables keep it: the names, and the incarnation unless it is the first."""
        names = (self.database, self.schema_name, self.table)
        return (*names, self.incarnation) if self.incarnation else names

    @property
    def full_name(self) -> str:
        """The names, joined by dots, for a person."""
        return ".".join(p for p in (self.database, self.schema_name, self.table) if p)

    def parts(self, connector: str) -> tuple[str, ...]:
        """The parts that make up names for this connector, in order."""
        values = (getattr(self, part) for part in CONNECTORS[connector].identity_parts)
        return tuple(value for value in values if value is not None)

    def __lt__(self, other: TableIdentity) -> bool:
        """By database, schema and table; a missing part comes first."""
        return self._sort_key() < other._sort_key()

    def _sort_key(self) -> tuple[str, str, str, int]:
        return (self.database or "", self.schema_name or "", self.table, self.incarnation)


def silver_namespace(source: str) -> str:
    """The Iceberg namespace of a source's silver tables."""
    return f"silver_{source}"


def bronze_table(source: str) -> str:
    """The identifier, namespace included, of a source's bronze table."""
    return f"{BRONZE_NAMESPACE}.{source}"


def silver_name(identity: TableIdentity, connector: str, *, twin: bool = False) -> str:
    """The name that one table gets when the TOML file does not name it.

    Args:
        identity: The source table.
        connector: The connector's name.
        twin: True when another table of the source would get the same name.
    """
    parts = identity.parts(connector)
    lowered = "__".join(parts).lower()
    name = re.sub(r"[^a-z0-9_]", "_", lowered)
    if twin or name != lowered or len(name) > MAX_NAME_LENGTH or _is_ambiguous(parts):
        return f"{name[:MAX_NAME_LENGTH]}_{_short_hash(parts)}"
    return name


def silver_names(
    identities: Iterable[TableIdentity],
    connector: str,
    *,
    configured: Mapping[TableIdentity, str] | None = None,
    published: Mapping[TableIdentity, str] | None = None,
) -> dict[TableIdentity, str]:
    """The silver name of every table of a source.

    A published name stays, then the TOML file decides. Of the rest, tables that would share a
    name all get the hash, and a newcomer gets it when the name is taken. Tables are the same when
    the parts that make up names are: a TOML file does not say a PostgreSQL table's database.

    Args:
        identities: All tables of the source that are known.
        connector: The connector's name.
        configured: Names from the TOML file.
        published: Names that are in use already.
    """
    tables = sorted(set(identities))
    fixed = {
        table.parts(connector): name
        for names in (configured or {}, published or {})
        for table, name in names.items()
    }
    taken = set(fixed.values())
    derived = {
        table.parts(connector): silver_name(table, connector)
        for table in tables
        if table.parts(connector) not in fixed
    }
    uses = Counter(derived.values())
    twins = {parts for parts, name in derived.items() if uses[name] > 1 or name in taken}
    return {
        table: fixed.get(table.parts(connector))
        or silver_name(table, connector, twin=table.parts(connector) in twins)
        for table in tables
    }


def topic_of(identity: TableIdentity, prefix: str, connector: str) -> str:
    """The topic that the connector sends a table's change events to."""
    return sanitised_topic(".".join((prefix, *identity.parts(connector))))


def sanitised_topic(name: str) -> str:
    """The name with each character that Kafka does not allow in topics replaced by `_`.

    Debezium looks at UTF-16 units, so a character outside the basic plane becomes two `_`.
    """
    return re.sub(r"[^A-Za-z0-9._-]", lambda found: "_" * (1 + (ord(found.group()) > 0xFFFF)), name)


def quote_ident(name: str) -> str:
    """The name as one quoted identifier of Spark SQL."""
    return "`" + name.replace("`", "``") + "`"


def quote_table(identifier: str) -> str:
    """A dotted table identifier, such as `bronze.inventory`, quoted part by part."""
    return ".".join(quote_ident(part) for part in identifier.split("."))


def parse_table(text: str, connector: str) -> TableIdentity:
    """Read a table as TOML files write it: `public.orders`, or `"We ird.S"."T.b"`.

    Raises:
        ConfigError: If the text does not have the parts that the connector's tables have.
    """
    names = CONNECTORS[connector].identity_parts
    parts = split_identifier(text)
    if parts is None or len(parts) != len(names):
        shape = ".".join(f"<{name.removesuffix('_name')}>" for name in names)
        raise ConfigError(
            f"table {text!r}: expected {shape} for {connector}, "
            'a part that holds a dot in double quotes ("a.b".c)'
        )
    return TableIdentity.of_parts(parts, names)


def format_table(identity: TableIdentity, connector: str) -> str:
    """The table as TOML files write it; the opposite of `parse_table`."""
    return ".".join(
        part if re.fullmatch(r'[^".]+', part) else '"' + part.replace('"', '""') + '"'
        for part in identity.parts(connector)
    )


def split_identifier(text: str) -> tuple[str, ...] | None:
    """The parts of a dotted identifier, quoted ones without their quotes; None if it is broken."""
    part = r'"(?:[^"]|"")+"|[^".]+'
    if not re.fullmatch(rf"(?:{part})(?:\.(?:{part}))*", text, re.DOTALL):
        return None
    return tuple(
        found[1:-1].replace('""', '"') if found.startswith('"') else found
        for found in re.findall(part, text, re.DOTALL)
    )


def near_name(name: str, names: Iterable[str], cutoff: float = 0.6) -> str:
    """The one of some names that a mistyped one may mean, in any case; empty for none.

    Args:
        name: As a person wrote it.
        names: Those that there are.
        cutoff: How like they must be, 0 to 1 (Python's `difflib.get_close_matches`).
    """
    known = {each.lower(): each for each in names}
    near = difflib.get_close_matches(name.lower(), known, 1, cutoff)
    return known[near[0]] if near else ""


def _is_ambiguous(parts: tuple[str, ...]) -> bool:
    """Whether the joined name could be read as another table's, or as one of the pipeline's own."""
    lowered = [part.lower() for part in parts]
    return (
        any("__" in part or part.endswith(("_state", "_history")) for part in lowered)
        or any(part.endswith("_") for part in lowered[:-1])
        or RESERVED_ENDINGS.search("__".join(lowered)) is not None
    )


def _short_hash(parts: tuple[str, ...]) -> str:
    return hashlib.sha256(json.dumps(parts).encode()).hexdigest()[:8]
