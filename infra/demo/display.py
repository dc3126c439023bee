"""The demonstration's tables on the terminal."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from infra.airflow_api import DagRun, password
from infra.demo.compare import TableComparison
from infra.demo.outcome import LEFT, RIGHT, Outcome
from infra.state import AirflowAddress
from lakehouse.config import Settings

_SIGNS = {LEFT[0]: "  ", RIGHT[0]: "= "}


def show_comparisons(
    console: Console, comparisons: Mapping[str, Sequence[TableComparison]]
) -> None:
    """Rows in source and silver, and whether they are equal."""
    table = _table("Database and silver, compared value by value")
    table.add_column("silver table")
    table.add_column("rows in source", justify="right")
    table.add_column("in silver", justify="right")
    table.add_column("")
    for rows in comparisons.values():
        for row in rows:
            silver_rows = "-" if row.silver_rows is None else f"{row.silver_rows:,}"
            verdict = "[green]equal" if row.is_equal else f"[bold red]{row.differences} differ"
            table.add_row(row.silver, f"{row.source_rows:,}", silver_rows, verdict)
        table.add_section()
    console.print(table)
    for source, rows in comparisons.items():
        for row in rows:
            for example in row.examples:
                console.print(f"[red]{source} {row.table}: {escape(example)}", soft_wrap=True)


def show_outcomes(console: Console, outcomes: Sequence[Outcome]) -> None:
    """The conservation law and the expectations of the runs."""
    law = _table("Every message has one place")
    law.add_column("messages")
    for outcome in outcomes:
        law.add_column(outcome.source, justify="right")
    for term in LEFT + RIGHT:
        numbers = (f"{outcome.law.get(term, 0):,}" for outcome in outcomes)
        law.add_row(_SIGNS.get(term, "+ ") + term.replace("_", " "), *numbers)
    verdicts = ("[green]holds" if one.is_conserved else "[bold red]broken" for one in outcomes)
    law.add_row("the law", *verdicts)
    console.print(law)
    for outcome in outcomes:
        cut = outcome.cut.cut_id if outcome.cut else "none"
        colour = "yellow" if outcome.failed else "green"
        console.print(
            f"{outcome.source}: published cut {cut}; expectations: {outcome.passed} passed, "
            f"[{colour}]{len(outcome.failed)} failed[/]; report: {outcome.report or 'none'}",
            soft_wrap=True,
        )
        for sentence in outcome.failed:
            console.print(f"[yellow]  {escape(sentence)}", soft_wrap=True)


def show_failure(console: Console, run: DagRun, outcome: Outcome) -> None:
    """Why a run did not succeed."""
    tasks = ", ".join(run.failed_tasks) or "no task"
    console.print(
        f"[bold red]{run.dag_id}: {run.state}; failed: {tasks}; see {run.url}", soft_wrap=True
    )
    for step, row in outcome.steps.items():
        console.print(f"  {step} {row.status}: {escape(row.message)}", soft_wrap=True)


def show_airflow(
    console: Console, address: AirflowAddress | None, runs: Mapping[str, DagRun]
) -> None:
    """Where the newest run of each source is, in an Airflow that stays up."""
    for name, run in runs.items():
        console.print(f"{name}: {run.state} run {run.url}", soft_wrap=True)
    if address is not None:
        login = f"user {address.user!r}, password {password(address)!r}"
        console.print(f"Airflow: {address.url}, {login}", soft_wrap=True)


def show_command(console: Console, settings: Settings, source: str) -> None:
    """How commands look at what it left, whether its servers run or not."""
    folders = f"LAKEHOUSE_HOME={settings.home} LAKEHOUSE_SOURCES={settings.sources}"
    command = f".venv/bin/lakehouse report --source {source}"
    console.print(f"Commands: {folders} {command}", soft_wrap=True)


def _table(title: str) -> Table:
    return Table(title=title, title_justify="left", title_style="bold", box=SIMPLE_HEAD)
