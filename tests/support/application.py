"""Whole runs of one source as one Spark application, one run for each topic archive.

    python -m tests.support.application CONFIG ARCHIVE...

CONFIG is the source's configuration as JSON; everything else comes from the environment.
"""

from __future__ import annotations

import sys

from lakehouse.plan.records import STEPS
from lakehouse.steps.entry import main

if __name__ == "__main__":
    config, *archives = sys.argv[1:]
    arguments = (["--config", config, "--archive", archive] for archive in archives)
    sys.exit(max(main(STEPS, each) for each in arguments))
