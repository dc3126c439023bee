"""Spark application: the step `validate` of one source. See `lakehouse.steps.validate`."""

import sys

from lakehouse.steps.entry import main

if __name__ == "__main__":
    sys.exit(main(("validate",)))
