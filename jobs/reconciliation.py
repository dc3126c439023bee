"""Spark application: one source against its silver. See `lakehouse.plan.reconciling`."""

import sys

from lakehouse.reconciling.entry import main

if __name__ == "__main__":
    sys.exit(main())
