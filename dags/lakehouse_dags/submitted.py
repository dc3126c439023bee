"""A task that submits a Spark application and ends as the application has recorded.

The row that a step leaves in `quality.runs` decides how its task ends; an exit code decides only
where there is no row. Secrets come from Airflow connections when a task runs, and reach the
application through its environment, never through arguments or rendered templates.
"""

from __future__ import annotations

import json
import os
from datetime import UTC, datetime
from itertools import takewhile
from typing import TYPE_CHECKING, Any

from airflow.providers.apache.spark.operators.spark_submit import SparkSubmitOperator
from airflow.sdk import Context
from airflow.sdk.exceptions import AirflowException, AirflowFailException

from lakehouse.config import Settings, SourceConfig
from lakehouse.plan.records import STEPS, Step
from lakehouse.plan.submission import Run, application, arguments
from lakehouse.plan.tuning import PARSING, with_both_compilers
from lakehouse_dags.dag_run import BACKFILLED, RUN_ID, STARTED, UNTIL, literal, narrowed
from lakehouse_dags.lineage import flow_of, lineage
from lakehouse_dags.links import ReportLink
from lakehouse_dags.metrics import emit
from lakehouse_dags.recorded import Recorded, RunTry, find_steps, messages_before, to_xcom
from lakehouse_dags.variables import database_variables, environment, kafka_variables

if TYPE_CHECKING:
    from airflow.providers.openlineage.extractors import OperatorLineage

# Counts of a step that succeeded and left something for a person to mend.
_NEEDS_A_PERSON = ("tables_refused", "tables_failed", "alarms")
# The XCom by which the task that submitted hands over what was recorded.
STEPS_KEY = "steps"


class SubmittedStep(SparkSubmitOperator):
    """Runs one step as a Spark application of its own (`schedule.isolation = "task"`)."""

    # Stands before the id of the Dag run, where Dags of a source could have runs of one id.
    run_prefix = ""
    # The task that submits the application of a whole run.
    first_task = "land"
    operator_extra_links = (ReportLink(),)

    def __init__(self, *, source: SourceConfig, step: Step, **options: Any) -> None:  # noqa: ANN401
        script, run = self.submission(step)
        options = {"task_id": step, "application": str(application(script)), **options}
        super().__init__(
            application_args=[literal(text) for text in arguments(source, run)],
            name=f"{source.name} {options['task_id']}",
            **options,
        )
        self.source_name = source.name
        # Where it lands, and where it tells what waits in Kafka; all steps in one do both.
        needs_kafka = script in (None, "land", "publish")
        self.kafka_connection = source.kafka.connection if needs_kafka else None
        # Who publishes may ask the connector to read tables again.
        self.asks = source.schema_changes.resnapshot and script in (None, "publish")
        self.step: Step = step
        self.shown: Recorded | None = None

    def submission(self, step: Step) -> tuple[Step | None, Run]:
        """The script (None: all steps) and the arguments that this task submits."""
        return step, Run(run_id=RUN_ID, started=STARTED, until=UNTIL, since=BACKFILLED)

    def secrets(self) -> dict[str, str]:
        """What the application gets in its environment, from Airflow connections."""
        login = database_variables(self.source_name) if self.asks else {}
        return kafka_variables(self.kafka_connection) | login

    def messages(self) -> int | None:
        """About how many messages the application will parse; None where nothing tells."""
        if self.step not in PARSING:
            return 0
        try:
            return messages_before(self.source_name, Settings.from_environment())
        except Exception as failure:  # noqa: BLE001 - no run fails for want of a guess
            # No traceback: it might show the catalog's login.
            self.log.warning(
                "how many messages the last runs landed is not known: %s", type(failure).__name__
            )
            return None

    def execute(self, context: Context) -> dict[str, object]:  # type: ignore[override]
        """Submit the application, then end as the step's row says; its numbers go to XCom."""
        begun, tried = datetime.now(UTC), run_try(self.source_name, context, self.run_prefix)
        failure: AirflowException | None = None
        self.application_args = [*(self.application_args or []), *narrowed(context)]
        compilers = with_both_compilers(os.environ, self.messages())
        with environment(self.secrets() | compilers):
            try:
                super().execute(context)
            except AirflowException as failed:
                failure = failed
        steps = find_steps(tried, Settings.from_environment(), since=begun)
        context["ti"].xcom_push(key=STEPS_KEY, value=to_xcom(tried, steps))
        if self.step not in steps:
            raise failure or AirflowException(
                f"{self.step} of source {self.source_name!r}: the application ended without a "
                "row in quality.runs: expected one for this run; see the log above"
            )
        return self.end_as(self._deciding(steps), context)

    def _deciding(self, steps: dict[str, Recorded]) -> Recorded:
        """The row by which the task ends: an earlier step's, where a backfill failed at it."""
        before = takewhile(lambda step: step != self.step, STEPS)
        earlier = (steps[each] for each in before if each in steps)
        return next((row for row in earlier if row.status != "succeeded"), steps[self.step])

    def end_as(self, row: Recorded, context: Context) -> dict[str, object]:
        """Show a row's numbers; fail if its step failed, for good if another run took over."""
        self.shown = row
        emit(self.source_name, row)
        counts: dict[str, object] = json.loads(row.counts)
        detail: dict[str, object] = json.loads(row.detail)
        for name, value in sorted(counts.items()):
            self.log.info("  %s: %s", name, value)
        self.log.info("%s %s: %s", row.step, row.status, row.message)
        shown = {"status": row.status, "message": row.message, "batch_id": row.batch_id}
        if "cut_id" in detail:
            shown["cut"] = str(detail["cut_id"])
        if "backfill" in detail:
            # The plugin `run_notes` makes it the note of the run.
            shown["note"] = row.message
        if row.status == "superseded":
            raise AirflowFailException(row.message)
        if row.status != "succeeded":
            raise AirflowException(row.message)
        if any(counts.get(each) for each in _NEEDS_A_PERSON):
            # The other tables are fit to be read; a retry would find the same rows and suites.
            raise AirflowFailException(row.message)
        for outlet in self.outlets:
            context["outlet_events"][outlet].extra = {**shown, "counts": row.counts}
        return {**shown, "counts": counts}

    def get_openlineage_facets_on_complete(self, _: object) -> OperatorLineage[Any, Any] | None:
        """What the step read and wrote; called by the OpenLineage provider, if it is installed."""
        if self.shown is None:
            return None
        variables = kafka_variables(self.kafka_connection)
        servers = json.loads(variables.get("LAKEHOUSE_KAFKA", "{}")).get("bootstrap.servers", "")
        kafka = servers.partition(",")[0] or str(self.kafka_connection)
        warehouse = Settings.from_environment().warehouse
        return lineage(flow_of(self.source_name, self.shown), kafka, warehouse)


def run_try(source: str, context: Context, prefix: str = "") -> RunTry:
    """The try of the run that a task belongs to."""
    started = context["dag_run"].start_date
    if not isinstance(started, datetime):
        raise AirflowFailException(f"Dag run {context['run_id']!r}: expected a start time")
    return RunTry(source, f"{prefix}{context['run_id']}", started)
