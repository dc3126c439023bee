"""An Airflow plugin: the page *Data quality* in the navigation, and a tab of that name on each run.

What it shows is in `infra.airflow_pages`. All of Airflow's processes load plugins, of which only
the API server is asked for pages: they are loaded when the first is.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, MutableMapping
from typing import Any
from urllib.parse import urlsplit

from airflow.plugins_manager import AirflowPlugin
from airflow.sdk.configuration import conf

from lakehouse.names import RUN_PAGE

Scope = MutableMapping[str, Any]
Channel = Callable[..., Awaitable[Any]]

PREFIX = "/lakehouse"
# Where Airflow is served below a path, its pages are, too.
_BASE = urlsplit(conf.get("api", "base_url", fallback="")).path.rstrip("/")


async def pages(scope: Scope, receive: Channel, send: Channel) -> None:
    """The pages, as the ASGI application that Airflow mounts."""
    from infra.airflow_pages import app  # noqa: PLC0415

    await app(scope, receive, send)


class LakehousePages(AirflowPlugin):
    """What Airflow loads."""

    name = "lakehouse_pages"
    fastapi_apps = [{"app": pages, "url_prefix": PREFIX, "name": "Lakehouse"}]  # noqa: RUF012
    external_views = [  # noqa: RUF012 - as Airflow has it
        {
            "name": "Data quality",
            "href": f"{_BASE}{PREFIX}/",
            "destination": "nav",
            "url_route": "data_quality",
            "nav_top_level": True,
        },
        {
            "name": "Data quality",
            "href": f"{_BASE}{PREFIX}/runs/{{DAG_ID}}/{{RUN_ID}}",
            "destination": "dag_run",
            "url_route": RUN_PAGE,
        },
    ]
