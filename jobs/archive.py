"""Spark application: write a topic archive of one source. See `lakehouse.steps.archive`."""

import sys

from lakehouse.steps.archive import main

if __name__ == "__main__":
    sys.exit(main())
