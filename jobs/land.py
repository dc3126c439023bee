"""Spark application: the step `land` of one source. See `lakehouse.steps.land`."""

import sys

from lakehouse.steps.entry import main

if __name__ == "__main__":
    sys.exit(main(("land",)))
