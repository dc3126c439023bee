"""Spark application: all five steps of one source, one after the other."""

import sys

from lakehouse.plan.records import STEPS
from lakehouse.signalling.resnapshot import read_stale_again
from lakehouse.steps.entry import main

if __name__ == "__main__":
    sys.exit(main(STEPS, after_publish=read_stale_again))
