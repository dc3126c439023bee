"""The demonstration's tables on the terminal."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from rich.console import Console
from rich.markup import escape
from rich.table import Table

from infra.demo.airflow_api import DagRun
from infra.demo.compare import TableComparison
from infra.demo.outcome import LEFT, RIGHT, Outcome

_TERMS = {
    "landed": "landed",
    "pending_before": "+ pending before",
    "applied": "= applied",
    "superseded": "+ superseded",
    "quarantined": "+ quarantined",
    "control": "+ control",
    "pending_after": "+ pending after",
}


def show_comparisons(
    console: Console, comparisons: Mapping[str, Sequence[TableComparison]]
) -> None:
    """Rows in source and silver, and whether they are equal."""
    table = Table(title="Database against silver, value by value", title_justify="left")
    for name in ("source", "table", "silver"):
        table.add_column(name)
    table.add_column("rows in source", justify="right")
    table.add_column("rows in silver", justify="right")
    table.add_column("")
    for source, rows in comparisons.items():
        for row in rows:
            silver_rows = "-" if row.silver_rows is None else f"{row.silver_rows:,}"
            verdict = "[green]equal" if row.is_equal else f"[bold red]{row.differences} differ"
            table.add_row(
                source, row.table, row.silver, f"{row.source_rows:,}", silver_rows, verdict
            )
    console.print(table)
    for source, rows in comparisons.items():
        for row in rows:
            for example in row.examples:
                console.print(f"[red]{source} {row.table}: {escape(example)}")


def show_outcomes(console: Console, outcomes: Sequence[Outcome]) -> None:
    """The conservation law and the expectations of the runs."""
    law = Table(title="Every landed message has one place", title_justify="left")
    law.add_column("source")
    for term in LEFT + RIGHT:
        law.add_column(_TERMS[term], justify="right")
    law.add_column("")
    for outcome in outcomes:
        numbers = [f"{outcome.law.get(term, 0):,}" for term in LEFT + RIGHT]
        verdict = "[green]holds" if outcome.is_conserved else "[bold red]broken"
        law.add_row(outcome.source, *numbers, verdict)
    console.print(law)
    judged = Table(title="Expectations", title_justify="left")
    for name in ("source", "passed", "failed", "published cut", "report"):
        judged.add_column(name, overflow="fold")
    for outcome in outcomes:
        cut = outcome.cut.cut_id if outcome.cut else "-"
        failed = str(len(outcome.failed))
        judged.add_row(outcome.source, str(outcome.passed), failed, cut, outcome.report)
    console.print(judged)
    for outcome in outcomes:
        for sentence in outcome.failed:
            console.print(f"[yellow]{outcome.source}: {escape(sentence)}")


def show_failure(console: Console, run: DagRun, outcome: Outcome) -> None:
    """Why a run did not succeed."""
    tasks = ", ".join(run.failed_tasks) or "no task"
    console.print(f"[bold red]{run.dag_id}: {run.state}; failed: {tasks}; see {run.url}")
    for step, row in outcome.steps.items():
        console.print(f"  {step} {row.status}: {escape(row.message)}")
