"""Spark application: the step `apply` of one source. See `lakehouse.steps.apply`."""

import sys

from lakehouse.steps.entry import main

if __name__ == "__main__":
    sys.exit(main(("apply",)))
