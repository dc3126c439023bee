"""What the data-quality page of a source shows, as values; its template adds nothing but HTML.

Texts are as they came, and may hold anything: the template cuts and escapes them.
"""

from __future__ import annotations

from dataclasses import dataclass

from lakehouse.quality.pages.plots import Cell, Chart, Line
from lakehouse.quality.reports.report import Place, QuarantinedMessage


@dataclass(frozen=True, slots=True)
class Card:
    """One figure at the top of the page; `tone` is empty, `passed`, `warning` or `failed`."""

    label: str
    value: str
    note: str
    tone: str = ""


@dataclass(frozen=True, slots=True)
class TableLine:
    """A silver table.

    Attributes:
        state: `live`, `needs snapshot`, `held` or `retired`.
        reason: Why it is not live.
        rows: Live rows in the newest run that staged it; None where none of those shown did.
        changes: Rows that the newest run changed or deleted.
        trend: Its rows, run by run.
        verdicts: What each run found of it.
    """

    silver: str
    identity: str
    state: str
    reason: str
    cut_id: str
    held_keys: int
    rows: int | None
    changes: int
    trend: Line
    verdicts: tuple[Cell, ...]


@dataclass(frozen=True, slots=True)
class HeldTable:
    """A table that the newest cut leaves behind, and how it goes on.

    Attributes:
        at: Where the message stands at which it is held; None where no schema change holds it.
        changes: How its columns would change.
        commands: What a person may do, each with what it leads to.
    """

    silver: str
    identity: str
    reason: str
    cut_id: str
    at: Place | None
    ddl: str
    waiting: int
    changes: tuple[ColumnChange, ...]
    commands: tuple[tuple[str, str], ...]


@dataclass(frozen=True, slots=True)
class QuarantineReason:
    """Messages that wait for one reason; `messages` has the newest."""

    reason: str
    count: int
    messages: tuple[QuarantinedMessage, ...]


@dataclass(frozen=True, slots=True)
class RunLine:
    """One run.

    Attributes:
        name: What its report is listed as.
        key: The folder of its report.
        stopped: The step that it did not get past; empty for a whole run.
        failures: Expectations that did not pass.
    """

    name: str
    key: str
    verdict: str
    message: str
    stopped: str
    ended: str
    seconds: float
    landed: int
    applied: int
    passed: int
    failures: int


@dataclass(frozen=True, slots=True)
class RuleLine:
    """One expectation over the runs; `failures` counts the runs in which it failed somewhere."""

    suite: str
    rule: str
    description: str
    failures: int
    cells: tuple[Cell, ...]


@dataclass(frozen=True, slots=True)
class ColumnChange:
    """One column that differs: `sign` is `+`, `-` or `~`."""

    sign: str
    column: str
    before: str
    after: str


@dataclass(frozen=True, slots=True)
class VersionLine:
    """One recorded version of a table's schema.

    Attributes:
        told_by: `data events` or `statement`.
        more: How many changed columns are not listed.
        columns: How many columns it has.
    """

    recorded: str
    told_by: str
    place: Place
    kinds: tuple[str, ...]
    verdict: str
    decision: str
    reason: str
    ddl: str
    changes: tuple[ColumnChange, ...]
    more: int
    columns: int


@dataclass(frozen=True, slots=True)
class History:
    """The schema versions of one source table, newest first; `older` are not listed."""

    identity: str
    silver: str
    versions: tuple[VersionLine, ...]
    older: int


@dataclass(frozen=True, slots=True)
class SourcePage:
    """The page.

    Attributes:
        quarantined: How many messages wait; at least so many where `is_counted_in_full` is not.
        always_passed: Suite and name of expectations that no run shown saw fail.
    """

    source: str
    verdict: str
    message: str
    as_of: str
    cards: tuple[Card, ...]
    held: tuple[HeldTable, ...]
    quarantine: tuple[QuarantineReason, ...]
    quarantined: int
    is_counted_in_full: bool
    runs: tuple[RunLine, ...]
    expectations: Chart
    applied: Chart
    duration: Chart
    rules: tuple[RuleLine, ...]
    always_passed: tuple[str, ...]
    tables: tuple[TableLine, ...]
    histories: tuple[History, ...]
