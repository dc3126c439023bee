"""Spark application of the maintenance of one source."""

import sys

from lakehouse.steps.entry import main

if __name__ == "__main__":
    sys.exit(main(("maintain",)))
