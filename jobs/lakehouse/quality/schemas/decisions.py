"""What a person decides about a held table: the change is followed, or it stays held.

In: rows of `quality.schema_versions`, a table, the decision. Out: more rows, which count from the
next run on. The table goes on from where it stopped: what waits is in bronze. A person may also say
which column was renamed, where the source sends no statement: silver's keeps its field and values.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime

from lakehouse.config.sections import SchemaChangesConfig
from lakehouse.errors import ConfigError
from lakehouse.names import parse_table
from lakehouse.plan.records import EVOLVE, HOLD, KEEP, SchemaVersionRow
from lakehouse.plan.schemas.renames import in_turn
from lakehouse.plan.schemas.schema import RENAMING, fits
from lakehouse.quality.schemas.changes import Changes, compare, first_of
from lakehouse.quality.schemas.held import Held, held_names, held_tables
from lakehouse.quality.schemas.statements import Statement, Told
from lakehouse.quality.schemas.versions import shape_of

Pair = tuple[str, str]


@dataclass(frozen=True, slots=True)
class Decision:
    """What a person decides.

    Attributes:
        table: As in the TOML file, such as `public.orders`.
        person: Who decides.
        now: When.
        is_approved: Whether silver follows; else the table stays held, whatever the mode.
        renames: Columns that were renamed, old and new name.
    """

    table: str
    person: str
    now: datetime
    is_approved: bool = True
    renames: tuple[Pair, ...] = ()


def decide(
    rows: Sequence[SchemaVersionRow],
    connector: str,
    config: SchemaChangesConfig,
    decision: Decision,
) -> tuple[SchemaVersionRow, ...]:
    """The rows that say what a person decided about the change at which a table is held.

    Args:
        rows: Recorded versions, oldest first.
        connector: Of the source.
        config: Its mode.
        decision: About one table.

    Raises:
        ConfigError: The table is not held, or silver cannot follow the change at all.
    """
    held = _find(rows, connector, decision)
    if not decision.is_approved:
        return tuple(
            _decided(row, HOLD, f"rejected by {decision.person}: {row.reason}", decision)
            for row in held.waiting
        )
    said = f"{decision.person} approved it"
    followed = [_decided(row, EVOLVE, said, decision) for row in held.statements]
    if held.version is not None:
        followed.append(_followed(held, held.version, config, decision))
    elif decision.renames:
        raise ConfigError(
            f"table {decision.table!r}: expected a row with the new columns before a rename is "
            "told: none has come yet; wait for one"
        )
    return tuple(followed)


def _find(rows: Sequence[SchemaVersionRow], connector: str, decision: Decision) -> Held:
    wanted = parse_table(decision.table, connector).parts(connector)
    tables = sorted(held_tables(rows, connector).items(), key=lambda item: item[0])
    found = [held for (parts, _), held in tables if parts == wanted]
    if found:
        return found[-1]
    known = ", ".join(held_names(rows, connector)) or "none is held by a schema change"
    known += "; `lakehouse tables` says what else a table waits for"
    hint = "; one that went on has both columns: require_approval lists what it should wait for"
    raise ConfigError(
        f"table {decision.table!r}: expected one that is held: {known}"
        f"{hint if decision.renames else ''}"
    )


def _followed(
    held: Held, stopped: SchemaVersionRow, config: SchemaChangesConfig, decision: Decision
) -> SchemaVersionRow:
    """The version at which the table stopped, approved as far as silver can follow it."""
    version = replace(stopped, position=_position(held))
    since = held.told.between(held.before.position if held.before else None, version.position)
    if decision.renames:
        since = _as_told(held, version, config, decision)
        version = replace(version, columns=_mapped(version.columns, decision.renames))
    changes = _changes(held.before, version, since)
    if changes.unfit:
        raise ConfigError(
            f"table {decision.table!r}: {changes.listed(changes.unfit)}: expected a change after "
            "which new values can stand beside the stored ones: undo it in the source, or rebuild "
            "the table"
        )
    kept = changes.listed(changes.blocking)
    said = f"{decision.person} approved it" + (f"; silver keeps its types: {kept}" if kept else "")
    row = _decided(version, KEEP if kept else EVOLVE, said, decision)
    return replace(row, change_kinds=changes.kinds)


def _position(held: Held) -> str:
    """That of the version; where none of its events has one, a place that the table has passed."""
    known = [row.position for row in (held.version, held.before) if row and row.position]
    return known[0] if known else "0"


def _changes(before: SchemaVersionRow | None, version: SchemaVersionRow, since: Told) -> Changes:
    if before is None:
        return first_of(is_first=not version.source_table.incarnation, told=since)
    return compare(shape_of(before), shape_of(version), since)


def _as_told(
    held: Held, version: SchemaVersionRow, config: SchemaChangesConfig, decision: Decision
) -> Told:
    """What happened before the version, as the person tells it."""
    if config.mode not in RENAMING or held.before is None:
        raise ConfigError(
            f"table {decision.table!r}: expected a table that is there and schema_changes.mode to "
            f"be one of {', '.join(sorted(RENAMING))} for a rename: it is {config.mode!r}"
        )
    for was, name in decision.renames:
        _check_rename(held.before, version, was, name)
    statement = Statement(version.position, ("rename_column",), EVOLVE, decision.person)
    return Told((statement,), in_turn(version.position, decision.renames))


def _check_rename(before: SchemaVersionRow, after: SchemaVersionRow, was: str, name: str) -> None:
    old = {column.name: column for column in shape_of(before)[0]}
    new = {column.name: column for column in shape_of(after)[0]}
    gone, came = sorted(old.keys() - new.keys()), sorted(new.keys() - old.keys())
    if was not in gone or name not in came:
        raise ConfigError(
            f"rename {was}={name}: expected a column that went ({', '.join(gone) or 'none did'}) "
            f"and one that came ({', '.join(came) or 'none did'})"
        )
    stored, sent = old[was], new[name]
    if stored.doc != sent.doc or not fits(stored.type.spark, sent.type.spark):
        raise ConfigError(
            f"rename {was}={name}: expected a type that holds what is stored: it is "
            f"{stored.type.spark} {stored.doc}, and comes as {sent.type.spark} {sent.doc}"
        )


def _mapped(columns: str, renames: Iterable[Pair]) -> str:
    was = {name: old for old, name in renames}
    return json.dumps([{**c, "was": was.get(c["name"], "")} for c in json.loads(columns)])


def _decided(
    row: SchemaVersionRow, verdict: str, reason: str, decision: Decision
) -> SchemaVersionRow:
    return replace(
        row,
        run_id="",
        verdict=verdict,
        decision=decision.person,
        reason=reason,
        recorded_at=decision.now,
    )
