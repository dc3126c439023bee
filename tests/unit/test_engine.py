"""Great Expectations is imported beside other work, by one thread at a time."""

from __future__ import annotations

import subprocess
import sys

# Nothing was judged, so that no judgement has waited for the import.
_PAGES_AT_ONCE = """
import sys
import time
from pathlib import Path
from lakehouse.quality.reports.docs import write_docs
from lakehouse.quality.engine import preload

thread = preload()
while "great_expectations.render" not in sys.modules:
    time.sleep(0.0001)
pages = write_docs(Path(sys.argv[1]), "run", ())
thread.join()
assert pages == ()
"""


def test_pages_of_a_run_that_judged_nothing_wait_for_the_import(tmp_path):
    command = [sys.executable, "-c", _PAGES_AT_ONCE, str(tmp_path)]
    ended = subprocess.run(command, capture_output=True, text=True, check=False, timeout=120)
    assert (ended.returncode, ended.stderr) == (0, "")
