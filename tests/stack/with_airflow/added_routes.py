"""What the project adds to Airflow that answers requests, from its plugins themselves.

    AIRFLOW_HOME=… python -m tests.stack.with_airflow.added_routes

Prints JSON: `routes`, the path of each below its prefix, and `stranger`, the token of someone who
has a login and no role.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable

from airflow.api_fastapi.app import create_auth_manager
from airflow.api_fastapi.auth.managers.simple.user import SimpleAuthManagerUser
from airflow.plugins_manager import AirflowPlugin, _get_plugins
from fastapi import FastAPI
from fastapi.routing import APIRoute

from infra import airflow_pages

# What else of a plugin answers requests: there is none.
_OTHERS = ("flask_blueprints", "appbuilder_views", "fastapi_root_middlewares", "react_apps")


def _application(given: object) -> FastAPI:
    """The application behind what a plugin names; the plugin loads it when it is first asked."""
    if isinstance(given, FastAPI):
        return given
    assert isinstance(given, Callable)
    assert (given.__module__.endswith("data_quality"), given.__name__) == (True, "pages"), given
    return airflow_pages.app


def _paths(plugin: AirflowPlugin) -> list[str]:
    assert not any(getattr(plugin, name, None) for name in _OTHERS), plugin
    return [
        entry["url_prefix"] + route.path
        for entry in plugin.fastapi_apps
        for route in _application(entry["app"]).routes
        if isinstance(route, APIRoute) or _refuse(route)
    ]


def _refuse(route: object) -> bool:
    raise AssertionError(f"{route}: expected a route whose rights can be tested")


if __name__ == "__main__":
    plugins, errors = _get_plugins()
    assert not errors, errors
    ours = [each for each in plugins if str(each.name).startswith("lakehouse")]
    assert len(ours) >= 2, plugins
    stranger = SimpleAuthManagerUser(username="stranger", role=None)
    told = {
        "routes": [path for plugin in ours for path in _paths(plugin)],
        "stranger": create_auth_manager().generate_jwt(stranger),
    }
    json.dump(told, sys.stdout)
