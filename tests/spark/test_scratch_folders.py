"""What a killed application leaves on the disk of its driver, and who removes it."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

ENDS_S = 20


def run(home: Path, end: str) -> int:
    command = [sys.executable, "-m", "tests.support.killed_scratch", str(home), end]
    # Else it has the scratch folder of this process's session.
    environment = {name: text for name, text in os.environ.items() if name != "SPARK_CONF_DIR"}
    return subprocess.run(command, env=environment, check=False).returncode


def blocks(home: Path) -> list[Path]:
    return sorted(home.glob("spark/tmp/*/*/*.data"))


def test_what_killed_applications_left_goes_with_the_next_one_and_what_others_hold_stays(
    tmp_path: Path,
) -> None:
    assert run(tmp_path, "kill") == -signal.SIGKILL
    left = blocks(tmp_path)
    assert left
    foreign = tmp_path / "spark/tmp/blockmgr-of-another-program"
    foreign.mkdir()

    assert run(tmp_path, "kill") == -signal.SIGKILL

    # Its own are there, those of the one before are gone.
    assert blocks(tmp_path)
    assert not set(left) & set(blocks(tmp_path))
    assert run(tmp_path, "end") == 0
    # The JVM ends behind Python, and removes its own then.
    began = time.monotonic()
    while list((tmp_path / "spark/tmp").iterdir()) != [foreign]:
        assert time.monotonic() - began < ENDS_S, list((tmp_path / "spark/tmp").iterdir())
        time.sleep(0.1)
