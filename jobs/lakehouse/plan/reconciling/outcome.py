"""What a comparison came to: one outcome for each table, for a person and `quality.results`."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime

from lakehouse.plan.reconciling.keys import Difference, Fault
from lakehouse.plan.reconciling.tables import ComparedTable
from lakehouse.plan.records import FULL, ResultRow

SUITE = "reconcile"
EXPECTATION = "equals_the_source"
_DESCRIPTION = "Silver has the rows of the source, value by value, at one place of the source's log"
_EXPECTED = "the same rows"
# So many keys of a table go into its row of quality.results; all of them are counted.
MOST_SAMPLES = 100


@dataclass(frozen=True, slots=True)
class TableOutcome:
    """How one table compares.

    Attributes:
        table: What of it was compared.
        source_rows: Rows of the source when it was read first.
        silver_rows: Live rows of silver in the cut from before that.
        found: The keys that differ.
        open: Keys that differed and could not be settled.
        changing: Keys that changed in every round: each time silver got another row of them, from
            the source, while they were looked at. They are told, and no reason to warn.
        beyond: Rows of buckets that differ and were too many to look at one by one.
    """

    table: ComparedTable
    source_rows: int = 0
    silver_rows: int = 0
    found: tuple[Difference, ...] = ()
    open: int = 0
    changing: int = 0
    beyond: int = 0

    @property
    def title(self) -> str:
        """The table as TOML files write it."""
        return self.table.title

    @property
    def silver(self) -> str:
        """Namespace and name of its silver table."""
        return self.table.silver

    @property
    def state(self) -> str:
        """In one word or two, the worst of what is true."""
        if self.table.refused:
            return "not compared"
        if self.found:
            return "differs"
        return "not settled" if self.open or self.beyond else "equal"

    @property
    def exit_code(self) -> int:
        """0 equal, 1 not compared or not settled, 2 it differs."""
        return {"equal": 0, "differs": 2}.get(self.state, 1)

    def count(self, fault: Fault) -> int:
        """How many keys differ in this way."""
        return sum(each.fault is fault for each in self.found)

    def sentence(self) -> str:
        """The outcome for a person."""
        if self.table.refused:
            return f"{self.title}: not compared: {self.table.refused}"
        parts = [f"{self.count(fault)} {fault.value}" for fault in Fault if self.count(fault)]
        if self.open:
            parts.append(
                f"{self.open} keys not settled: no published cut reached the place where the "
                "source was read last"
            )
        if self.changing:
            parts.append(f"{self.changing} keys changed whenever they were looked at")
        if self.beyond:
            parts.append(f"{self.beyond} rows of differing buckets not looked at one by one")
        rows = f"{self.title}: {self.source_rows} rows, in silver {self.silver_rows}"
        return f"{rows}: {self.state}{': ' if parts else ''}{'; '.join(parts)}"


@dataclass(frozen=True, slots=True)
class Outcome:
    """How a source compares.

    Attributes:
        first: The published cut whose rows were all looked at.
        cut: The one in which keys that differed there were judged last.
        end: The end of the source's log when it was read last.
    """

    source: str
    first: str
    cut: str
    end: str
    tables: tuple[TableOutcome, ...]

    @property
    def exit_code(self) -> int:
        """The worst table's; 1 where there is none."""
        return max((table.exit_code for table in self.tables), default=1)

    def sentence(self) -> str:
        """The outcome in one sentence."""
        states = [table.state for table in self.tables]
        counts = ", ".join(f"{states.count(s)} {s}" for s in dict.fromkeys(sorted(states)))
        keys = sum(len(table.found) for table in self.tables)
        tail = f"; {keys} keys differ" if keys else ""
        again = f", keys that differed there at cut {self.cut}," if self.cut != self.first else ""
        at = f"at cut {self.first}{again} and {self.end}"
        return f"{len(states)} tables {at}: {counts or 'nothing'}{tail}"

    def counts(self) -> dict[str, int]:
        """The numbers of the run's row."""
        return {
            "tables": len(self.tables),
            "tables_failed": sum(table.exit_code == 2 for table in self.tables),
            "rows": sum(table.source_rows for table in self.tables),
            "keys_not_settled": sum(table.open for table in self.tables),
            "keys_changing": sum(table.changing for table in self.tables),
            **{f"keys_{f.value}": sum(t.count(f) for t in self.tables) for f in Fault},
        }


def result_rows(
    outcome: Outcome, run_id: str, run_started: datetime, now: datetime
) -> tuple[ResultRow, ...]:
    """One row of `quality.results` for each table.

    Args:
        outcome: What was found.
        run_id: The run.
        run_started: When this try of it began.
        now: When it was judged.
    """
    return tuple(
        ResultRow(
            source=outcome.source,
            run_id=run_id,
            run_started=run_started,
            suite=SUITE,
            table=table.silver,
            cut=outcome.cut if table.found or table.open else outcome.first,
            expectation=EXPECTATION,
            description=_DESCRIPTION,
            severity="critical" if table.exit_code == 2 else "warning",
            success=table.exit_code == 0,
            observed=json.dumps(_observed(table, outcome.end), sort_keys=True),
            expected=_EXPECTED,
            validated_at=now,
            samples=_samples(table.found),
            scope=FULL,
        )
        for table in outcome.tables
    )


def _observed(table: TableOutcome, end: str) -> dict[str, int | str]:
    values: dict[str, int | str] = {
        "row_count": table.silver_rows,
        "source_rows": table.source_rows,
        "source_position": end,
        "not_settled": table.open + table.beyond,
        "changing": table.changing,
        **{fault.value: table.count(fault) for fault in Fault},
    }
    if table.table.left_out:
        values["columns_not_compared"] = ", ".join(name for name, _ in table.table.left_out)
    return {**values, "problem": table.table.refused} if table.table.refused else values


def _samples(found: Iterable[Difference]) -> str:
    shown = [{"key": each.sentence(), "messages": []} for each in found]
    return json.dumps(shown[:MOST_SAMPLES]) if shown else ""
