"""Great Expectations is imported where something is judged, by one thread at a time."""

from __future__ import annotations

import subprocess
import sys

_NOTHING_JUDGED = """
import sys
from pathlib import Path
from lakehouse.quality.reports.docs import write_docs

assert write_docs(Path(sys.argv[1]), "run", ()) == ()
assert "great_expectations" not in sys.modules
"""
_JUDGED_AT_ONCE = """
import sys
import time
from pathlib import Path
from expectations import SUITES
from lakehouse.quality.engine import preload
from lakehouse.quality.judgement import Measurement, judge
from lakehouse.quality.reports.docs import write_docs

thread = preload()
while "great_expectations.render" not in sys.modules:
    time.sleep(0.0001)
judged = judge(SUITES["quarantine"], [Measurement("shop.orders", {}, {})])
thread.join()
assert [page.name for page in write_docs(Path(sys.argv[1]), "run", [judged])] == ["quarantine.html"]
"""


def ran(code: str, folder: object) -> tuple[int, str]:
    command = [sys.executable, "-c", code, str(folder)]
    ended = subprocess.run(command, capture_output=True, text=True, check=False, timeout=120)
    return ended.returncode, ended.stderr


def test_a_run_that_judged_nothing_imports_nothing(tmp_path):
    assert ran(_NOTHING_JUDGED, tmp_path) == (0, "")


def test_what_is_judged_waits_for_the_import(tmp_path):
    assert ran(_JUDGED_AT_ONCE, tmp_path) == (0, "")
