"""The one console command, `lakehouse`. Each module of this package adds its commands.

Those whose names begin with an underscore are what the others share.

An error that the project raises on purpose is one message and its exit code; `--debug` shows
where it comes from.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Mapping
from importlib import import_module
from pkgutil import iter_modules
from types import MappingProxyType
from typing import Annotated, Any

import typer
from typer.core import TyperGroup

from infra.setup.errors import SetupError
from lakehouse.errors import LakehouseError
from lakehouse.logs import configure

_MODULES = tuple(m.name for m in iter_modules(__path__) if not m.name.startswith("_"))
# The others are called as their modules.
_MODULE_OF: Mapping[str, str] = MappingProxyType(
    {"archive": "land", **dict.fromkeys(("up", "down", "status"), "stack")}
    | dict.fromkeys(("check", "apply", "validate", "publish", "run"), "steps")
)


class _Commands(TyperGroup):
    """Imports the module of the command that is asked for: all of them take two seconds.

    As in https://click.palletsprojects.com/en/stable/complex/#lazily-loading-subcommands.
    """

    def list_commands(self, ctx: Any) -> list[str]:  # noqa: ANN401 - typer keeps it to itself
        """The names of all commands."""
        self._add(_MODULES)
        return super().list_commands(ctx)

    def get_command(self, ctx: Any, cmd_name: str) -> Any:  # noqa: ANN401 - as above
        """A command; None where none is called so."""
        module = _MODULE_OF.get(cmd_name, cmd_name)
        # Those of a name that nothing has are told, to choose from.
        self._add([module] if module in _MODULES else _MODULES)
        return super().get_command(ctx, cmd_name)

    def _add(self, modules: Iterable[str]) -> None:
        found = typer.Typer()
        for module in modules:
            import_module(f"{__name__}.{module}").register(found)
        self.commands.update(typer.main.get_group(found).commands)


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
    cls=_Commands,
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
