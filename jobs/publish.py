"""Spark application: the step `publish` of one source. See `lakehouse.steps.publish`."""

import sys

from lakehouse.signalling.resnapshot import read_stale_again
from lakehouse.steps.entry import main

if __name__ == "__main__":
    sys.exit(main(("publish",), after_publish=read_stale_again))
