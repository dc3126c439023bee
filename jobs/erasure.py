"""Spark application: erase the rows of some keys. See `lakehouse.steps.removal.erasing`."""

import sys

from lakehouse.steps.removal.erasure import main

if __name__ == "__main__":
    sys.exit(main())
