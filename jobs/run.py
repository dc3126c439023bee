"""Spark application: all five steps of one source, one after the other."""

import sys

from lakehouse.spark.starting import begin_session

if __name__ == "__main__":
    begin_session(sys.argv)

    from lakehouse.plan.records import STEPS
    from lakehouse.signalling.resnapshot import read_stale_again
    from lakehouse.steps.entry import main

    sys.exit(main(STEPS, after_publish=read_stale_again))
