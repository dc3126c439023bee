"""The one console command, `lakehouse`. Each module of this package adds its commands.

Those whose names begin with an underscore are what the others share.

An error that the project raises on purpose is one message and its exit code; `--debug` shows
where it comes from.
"""

from __future__ import annotations

import sys
from importlib import import_module
from pkgutil import iter_modules
from typing import Annotated

import typer

from infra.setup.errors import SetupError
from lakehouse.errors import LakehouseError
from lakehouse.logs import configure


class _Application(typer.Typer):
    """Shows an expected error without a traceback."""

    def __call__(self, *args: object, **kwargs: object) -> object:
        try:
            return super().__call__(*args, **kwargs)
        except (LakehouseError, SetupError) as error:
            if "--debug" in sys.argv:
                raise
            typer.echo(f"error: {error}", err=True)
            sys.exit(error.exit_code)


app = _Application(
    name="lakehouse",
    help="Change events from databases as correct, proven tables in a lakehouse.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    add_completion=False,
)


@app.callback()
def _main(
    *,
    debug: Annotated[  # noqa: ARG001 - `_Application` reads it
        bool, typer.Option("--debug", help="Show tracebacks of errors.")
    ] = False,
) -> None:
    """Before every command."""
    configure()


for _module in iter_modules(__path__):
    if not _module.name.startswith("_"):
        import_module(f"{__name__}.{_module.name}").register(app)
