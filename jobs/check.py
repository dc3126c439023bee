"""Spark application: the step `check` of one source. See `lakehouse.steps.check`."""

import sys

from lakehouse.steps.entry import main

if __name__ == "__main__":
    sys.exit(main(("check",)))
