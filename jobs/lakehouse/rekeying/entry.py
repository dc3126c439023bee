"""The Spark application of a key change: complete arguments in, one sentence and exit code out."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence

from infra.errors import NotReady
from lakehouse.config import Settings, SourceConfig
from lakehouse.errors import LakehouseError
from lakehouse.plan.remaking.rekeying import Drained
from lakehouse.reconciling.entry import source_database
from lakehouse.rekeying.connector import source_connector
from lakehouse.rekeying.table import open_rekeying
from lakehouse.spark.control.ledger import Ledger
from lakehouse.spark.session import spark_session
from lakehouse.steps.lifeline import begin_application


def main(arguments: Sequence[str] | None = None) -> int:
    """Give silver the key that a table has in its source now.

    Args:
        arguments: The command line without the program; None means this process's.

    Returns:
        0, or the exit code of the error that is printed.
    """
    options = _parser().parse_args(arguments)
    begin_application()
    source = SourceConfig.model_validate_json(options.config)
    settings, drained = Settings.from_environment(), Drained.from_json(options.drained)
    try:
        sides = source_database(source, settings), source_connector(source, settings)
        found = open_rekeying(source, settings, Ledger(settings), drained.table, sides)
        spark = spark_session(f"lakehouse key {source.name}", settings)
        print(found.follow(spark, drained, options.by), flush=True)
    except NotReady as silent:
        print(f"error: {silent}: expected an answer; start it", file=sys.stderr)
        return 1
    except LakehouseError as error:
        print(f"error: {error}", file=sys.stderr)
        return error.exit_code
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(description="silver follows a changed primary key")
    parser.add_argument("--config", required=True, help="the source's configuration as JSON")
    parser.add_argument("--drained", required=True, help="the line that `lakehouse key drain` gave")
    parser.add_argument("--by", required=True, help="who changed the key")
    return parser
