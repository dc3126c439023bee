"""The console command as a person runs it, with nothing of a stack in its environment."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

from infra.spark import spark_environment
from lakehouse.config import Settings

_COMMAND = Path(sys.executable).parent / "lakehouse"
# Whatever a client asks of a locked catalog, and asks again, waits for half a minute each time.
_LONGEST_S = 1_000


def lakehouse(settings: Settings, *arguments: str) -> str:
    """Run a command in a home; gives what it printed, which is told when it fails."""
    ended = ended_command(settings, *arguments)
    told = f"{arguments}: {ended.stdout[-2000:]} {ended.stderr[-2000:]}"
    assert ended.returncode == 0, told
    assert "\tat " not in ended.stderr, f"a stack trace: {told}"
    return ended.stdout


def ended_command(
    settings: Settings, *arguments: str, **variables: str
) -> subprocess.CompletedProcess[str]:
    """Run a command in a home, with more variables in its environment; however it ends."""
    environment = {
        name: value for name, value in os.environ.items() if not name.startswith("LAKEHOUSE_")
    }
    environment |= {
        "LAKEHOUSE_HOME": str(settings.home),
        "LAKEHOUSE_SOURCES": str(settings.sources),
        **spark_environment(settings.home),
    }
    return subprocess.run(
        [str(_COMMAND), *arguments],
        env=environment | variables,
        capture_output=True,
        text=True,
        check=False,
        timeout=_LONGEST_S,
    )
