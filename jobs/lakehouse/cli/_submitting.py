"""A Spark application in the foreground of a command."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

from infra.spark import spark_environment
from lakehouse.config import Settings

# What a shell gives of a command that SIGINT has ended.
_INTERRUPTED = 130


def in_foreground(
    application: Path,
    arguments: Sequence[str],
    settings: Settings,
    handed: Mapping[str, str] | None = None,
) -> int:
    """Run one Spark application until it ends.

    Args:
        application: Its script.
        arguments: Its command line, which process lists show.
        settings: This process's settings; the application reads the same environment.
        handed: What it gets in its environment besides.

    Returns:
        The application's exit code; 130 where a person ended it.
    """
    environment = {**os.environ, **spark_environment(settings.home), **(handed or {})}
    command = ["spark-submit", str(application), *arguments]
    try:
        return subprocess.run(command, env=environment, check=False).returncode
    except KeyboardInterrupt:
        print("interrupted: what is published stays; do the command again", file=sys.stderr)
        return _INTERRUPTED
