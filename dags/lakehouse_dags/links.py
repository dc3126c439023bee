"""The link from a task to the report of its run, inside Airflow's pages."""

from __future__ import annotations

from typing import TYPE_CHECKING
from urllib.parse import quote

from airflow.sdk import BaseOperatorLink
from airflow.sdk.configuration import conf

from lakehouse.names import RUN_PAGE

if TYPE_CHECKING:
    from airflow.sdk import BaseOperator
    from airflow.sdk.types import TaskInstanceKey


class ReportLink(BaseOperatorLink):
    """Leads to the tab of the run that shows its report."""

    name = "Data quality"

    def get_link(self, operator: BaseOperator, *, ti_key: TaskInstanceKey) -> str:  # noqa: ARG002
        """The address of the tab.

        Args:
            operator: The task's operator.
            ti_key: The task of a run.
        """
        dag, run = (quote(name, safe="") for name in (ti_key.dag_id, ti_key.run_id))
        base = conf.get("api", "base_url", fallback="").rstrip("/")
        return f"{base}/dags/{dag}/runs/{run}/plugin/{RUN_PAGE}"
