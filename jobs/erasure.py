"""Spark application: erase the rows of some keys. See `lakehouse.steps.erasing`."""

import sys

from lakehouse.steps.erasure import main

if __name__ == "__main__":
    sys.exit(main())
