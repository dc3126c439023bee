"""A command imports its own module, and nothing that it can do without."""

from __future__ import annotations

import subprocess
import sys

import typer

from lakehouse.cli import app

_IMPORTED = """
import sys
from typer.testing import CliRunner
from lakehouse.cli import app
assert CliRunner().invoke(app, ["run", "--help"]).exit_code == 0
print(*sorted({name.split(".")[0] for name in sys.modules}))
"""


def test_each_command_is_found_without_the_modules_of_others():
    every = typer.main.get_command(app).list_commands(None)
    assert {"run", "archive", "status", "key"} < set(every)
    for name in every:
        group = typer.main.get_command(app)
        assert group.get_command(None, name) is not None, name
        assert len(group.commands) < len(every) / 2, name


def test_a_run_starts_spark_before_anything_reads_tables():
    command = [sys.executable, "-c", _IMPORTED]
    done = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True)
    heavy = {"pyiceberg", "pyarrow", "pandas", "sqlalchemy", "pyspark", "confluent_kafka"}
    assert not heavy & set(done.stdout.split())
