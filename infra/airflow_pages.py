"""Pages of data quality inside Airflow: behind its login, and for those who may read the Dag.

In: requests below `/lakehouse` of Airflow's API server. Out: the reports that runs have written to
`LAKEHOUSE_HOME`, which that server has to see. The plugin `data_quality` brings them in.
"""

from __future__ import annotations

import mimetypes
from collections.abc import Awaitable, Callable
from datetime import datetime

from airflow.api_fastapi.app import get_auth_manager
from airflow.api_fastapi.auth.managers.models.resource_details import DagAccessEntity, DagDetails
from airflow.api_fastapi.common.db.common import SessionDep
from airflow.api_fastapi.core_api.security import GetUserDep, requires_access_dag
from airflow.models.dagrun import DagRun
from fastapi import Depends, FastAPI, HTTPException, Request, Response
from fastapi.responses import FileResponse, HTMLResponse, RedirectResponse
from sqlalchemy import select

from lakehouse.config import Settings
from lakehouse.plan.submission import FULL_RUN, REBUILD_RUN, RECONCILE_RUN
from lakehouse.quality.reports.kept import (
    note_page,
    report_of_try,
    sources_page,
    sources_with_reports,
)
from lakehouse.quality.reports.report_files import reports_folder

# Kind of a Dag → what stands before the id of its run in quality.runs.
_WITH_REPORTS = {
    "ingest": "",
    "validate": FULL_RUN,
    "reconcile": RECONCILE_RUN,
    "rebuild": REBUILD_RUN,
}
# What a run's tab says until there is a report.
_UNDER_WAY = ("queued", "running", "restarting")
# Pages hold all that they show; nothing in them may run, or be sent anywhere.
_HEADERS = {
    "Content-Security-Policy": "default-src 'none'; style-src 'unsafe-inline'; img-src data:; "
    "base-uri 'none'; form-action 'none'; frame-ancestors 'self'",
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cache-Control": "no-store",
}

app = FastAPI(title="Lakehouse", docs_url=None, redoc_url=None, openapi_url=None)


@app.middleware("http")
async def closed(request: Request, go_on: Callable[[Request], Awaitable[Response]]) -> Response:
    """Add the headers that keep what stands in a report from acting."""
    answer = await go_on(request)
    answer.headers.update(_HEADERS)
    return answer


@app.get("/")
def sources(user: GetUserDep) -> HTMLResponse:
    """The sources whose reports the user may read."""
    home = Settings.from_environment().home
    known = sources_with_reports(home)
    return HTMLResponse(sources_page(home, [name for name in known if _may_read(name, user)]))


@app.get("/sources/{source}/{path:path}")
def file(source: str, path: str, user: GetUserDep) -> FileResponse:
    """A file of a source's reports."""
    if not _may_read(source, user):
        raise HTTPException(403, f"Source {source!r}: expected the right to read its Dag")
    home = Settings.from_environment().home
    root = reports_folder(home, source).resolve()
    found = (root / path).resolve()
    is_below = root.parent == (home / "reports").resolve() and found.is_relative_to(root)
    kind = mimetypes.guess_type(found.name)[0]
    if not is_below or kind is None or not found.is_file():
        raise HTTPException(404, f"Source {source!r}: it has no page {path!r}")
    return FileResponse(found, media_type=kind)


@app.get(
    "/runs/{dag_id}/{run_id:path}",
    dependencies=[Depends(requires_access_dag("GET", DagAccessEntity.RUN))],
)
def run(dag_id: str, run_id: str, request: Request, session: SessionDep) -> Response:
    """The report of the run's current try, or why there is none."""
    home = Settings.from_environment().home
    named = select(DagRun).where(DagRun.dag_id == dag_id, DagRun.run_id == run_id)
    found = session.scalars(named).one_or_none()
    if found is None:
        raise HTTPException(404, f"Dag {dag_id!r}: it has no run {run_id!r}")
    kind, _, source = dag_id.partition("_")
    pages = f"{request.scope.get('root_path', '')}/sources/{source}"
    if kind in _WITH_REPORTS:
        kept = report_of_try(home, source, _WITH_REPORTS[kind] + run_id, _started(found))
        if kept is not None:
            return RedirectResponse(f"{pages}/{kept.folder}/index.html")
    is_known = (reports_folder(home, source) / "index.html").is_file()
    way_out = f"{pages}/index.html" if is_known else ""
    is_under_way = kind in _WITH_REPORTS and found.state in _UNDER_WAY
    sentence = _why_none(kind, str(found.state), is_under_way=is_under_way)
    return HTMLResponse(note_page(run_id, sentence, way_out, again=is_under_way))


def _may_read(source: str, user: GetUserDep) -> bool:
    allowed: bool = get_auth_manager().is_authorized_dag(
        method="GET",
        access_entity=DagAccessEntity.RUN,
        details=DagDetails(id=f"ingest_{source}"),
        user=user,
    )
    return allowed


def _started(run_of_dag: DagRun) -> datetime | None:
    started: datetime | None = run_of_dag.start_date
    return started


def _why_none(kind: str, state: str, *, is_under_way: bool) -> str:
    if kind not in _WITH_REPORTS:
        return (
            "Runs of this Dag write no report: expected one of ingest_, validate_, reconcile_ or "
            "rebuild_<source>."
        )
    if is_under_way:
        return (
            f"The run is {state}: its report is written where it ends, at its last step or at the "
            "one that fails."
        )
    return (
        f"No report of this try of the run is kept (the run: {state}). A run that found its work "
        "done, or that was killed, writes none; the newest 500 reports of a source are kept."
    )
