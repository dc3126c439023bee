"""The form of a signal Dag → the arguments of the console command, which does the same."""

from __future__ import annotations

import uuid
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from lakehouse.errors import ConfigError

_COMMANDS = {"execute": "snapshot", "stop": "stop", "pause": "pause", "resume": "resume"}
ACTIONS = tuple(_COMMANDS)
# Whichever channel there is.
ANY = "any"
# One chunk after the other for so long, then the task's slot is free for another one.
FOLLOWED_S = 100
# The command's exit code where what it follows goes on.
GOES_ON = 9


@dataclass(frozen=True, slots=True)
class Form:
    """What a person sent.

    Attributes:
        action: One of ACTIONS.
        tables: As in the TOML file.
        conditions: Each as `column operator value`.
        raw: A condition as SQL of the source; empty for none.
        type: `incremental` or `blocking`.
        surrogate_key: Empty for the key.
        channel: `table`, `kafka` or ANY.
    """

    action: str
    tables: Sequence[str] = ()
    conditions: Sequence[str] = ()
    raw: str = ""
    type: str = "incremental"
    surrogate_key: str = ""
    channel: str = ANY

    @staticmethod
    def of(params: Mapping[str, object]) -> Form:
        """Read the values of an Airflow form; what is not there is empty."""
        texts = {
            name: str(params.get(name) or "")
            for name in ("action", "raw", "type", "surrogate_key", "channel")
        }
        return Form(
            tables=_lines(params.get("tables")),
            conditions=_lines(params.get("conditions")),
            **texts,
        )


def sending(source: str, form: Form, run: str, person: str) -> list[str]:
    """The arguments that send the signal, once for each try of a run.

    Args:
        source: Its name.
        form: What was sent.
        run: Names the try of the Dag run; the signal's id is made from it.
        person: Who sent it.

    Raises:
        ConfigError: Fields are filled in that the action does not take.
    """
    _refuse_idle_fields(form)
    name = uuid.uuid5(uuid.NAMESPACE_URL, f"lakehouse:{source}:{run}")
    given = [("--id", str(name)), ("--by", person)]
    given += [("--channel", form.channel)] if form.channel != ANY else []
    given += [("--table", text) for text in form.tables]
    if form.action == "execute":
        given += [("--type", form.type), ("--surrogate-key", form.surrogate_key)]
        given += [("--where", text) for text in form.conditions]
        given += [("--where-sql", form.raw)]
    # With = no value is taken for an option.
    options = [f"{option}={value}" for option, value in given if value]
    return ["signal", f"--source={source}", _COMMANDS[form.action], *options, "--no-follow"]


def following(source: str, sent: str) -> list[str]:
    """The arguments that follow what the command printed when it sent."""
    return ["signal", f"--source={source}", "follow", f"--for={FOLLOWED_S}", "--", sent]


def _refuse_idle_fields(form: Form) -> None:
    idle = {
        "conditions": form.conditions,
        "raw": form.raw,
        "surrogate_key": form.surrogate_key,
        "tables": form.tables if form.action in ("pause", "resume") else (),
    }
    if form.action != "execute" and (filled := [name for name, value in idle.items() if value]):
        raise ConfigError(f"{', '.join(filled)}: expected nothing with {form.action!r}")


def _lines(found: object) -> tuple[str, ...]:
    lines = found if isinstance(found, (list, tuple)) else ()
    return tuple(text for line in lines if (text := str(line).strip()))
