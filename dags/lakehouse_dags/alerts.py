"""Who is told when a run of a source fails, or has not published in time.

Any Airflow notifier serves (https://airflow.apache.org/docs/apache-airflow/stable/howto/notifications.html).
It is imported only when there is something to tell, so that reading a Dag file stays quick; that it
can be found is checked when the file is read. Its templates have one sentence, `{{ alert }}`,
beside what Airflow knows: of a late run that is much less than of a failed task.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from importlib import import_module
from importlib.util import find_spec
from typing import Any

from airflow.sdk import BaseNotifier, Context
from airflow.sdk.definitions.callback import SyncCallback
from airflow.sdk.definitions.deadline import DeadlineAlert, DeadlineReference
from airflow.sdk.exceptions import AirflowFailException

from lakehouse.config import SourceConfig, format_duration


@dataclass(frozen=True, slots=True)
class Alert:
    """Tells of a failed task."""

    notifier: str
    arguments: Mapping[str, object]

    def __call__(self, context: Context) -> None:
        """Airflow calls it with the task's context, once the last retry failed."""
        task, error = context["ti"], context.get("exception") or "it ended without an error"
        said = f"{task.dag_id}: {task.task_id} failed in run {task.run_id}: {error}"
        _tell(self.notifier, self.arguments, {**context, "alert": said})


def tell_late(
    notifier: str, arguments: Mapping[str, object], freshness: str, context: Mapping[str, Any]
) -> None:
    """Tell of a run that is not through in time.

    Args:
        notifier: The class of an Airflow notifier.
        arguments: What it is made with.
        freshness: How long the run had, such as "30m".
        context: What Airflow says of the deadline: the Dag run as its REST interface shows it.
    """
    run = context["dag_run"]
    said = (
        f"{run['dag_id']}: run {run['dag_run_id']} has not published {freshness} after it was "
        f"queued: it is {run['state']}"
    )
    _tell(notifier, arguments, {**context, "alert": said})


def _tell(notifier: str, arguments: Mapping[str, object], context: Mapping[str, Any]) -> None:
    found = _notifier(notifier)
    if found is None:
        raise AirflowFailException(
            f"alerts.notifier: {notifier!r}: expected a class made from Airflow's BaseNotifier, "
            "such as 'airflow.providers.smtp.notifications.smtp.SmtpNotifier'; nobody was told: "
            f"{context['alert']}"
        )
    found(**arguments)(context)


def _notifier(notifier: str) -> type[Any] | None:
    """The class; None for all else that can be imported, such as what starts programs."""
    module, _, name = notifier.rpartition(".")
    found = getattr(import_module(module), name, None)
    return found if isinstance(found, type) and issubclass(found, BaseNotifier) else None


def failure_alert(source: SourceConfig) -> Alert | None:
    """What a source's tasks call when they failed; None where nobody wants to know."""
    if source.alerts.notifier is None:
        return None
    return Alert(source.alerts.notifier, source.alerts.arguments)


def freshness_deadline(source: SourceConfig) -> DeadlineAlert | None:
    """When a run has to be through; None where it may take its time.

    It counts from when the run was queued: a backfill of last year is not late.
    """
    alerts = source.alerts
    if alerts.freshness is None:
        return None
    told = {
        "notifier": alerts.notifier,
        "arguments": dict(alerts.arguments),
        "freshness": format_duration(alerts.freshness),
    }
    return DeadlineAlert(
        reference=DeadlineReference.DAGRUN_QUEUED_AT,
        interval=alerts.freshness,
        callback=SyncCallback(tell_late, kwargs=told),
        name=f"{source.name} is fresh",
    )


def missing_notifier(source: SourceConfig) -> str | None:
    """What is wrong with a source whose notifier is not installed here."""
    notifier = source.alerts.notifier
    if notifier is None or _is_installed(notifier.rpartition(".")[0]):
        return None
    return (
        f"source {source.name!r}: alerts.notifier: {notifier!r}: expected a class of a package "
        "that is installed where Airflow runs; install its provider"
    )


def _is_installed(module: str) -> bool:
    try:
        return find_spec(module) is not None
    except ModuleNotFoundError:
        return False
