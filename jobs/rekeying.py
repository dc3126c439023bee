"""Spark application: silver follows a changed key. See `lakehouse.plan.remaking.rekeying`."""

import sys

from lakehouse.rekeying.entry import main

if __name__ == "__main__":
    sys.exit(main())
