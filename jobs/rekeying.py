"""Spark application: silver follows a changed primary key. See `lakehouse.plan.rekeying`."""

import sys

from lakehouse.rekeying.entry import main

if __name__ == "__main__":
    sys.exit(main())
