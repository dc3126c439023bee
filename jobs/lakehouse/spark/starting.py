"""The session, begun before the imports of what works with it.

In: an application's command line. Out: nothing; who asks for the session gets this one. Java takes
two seconds to make it and Python as long to import the steps (measured): beside each other here.
"""

from __future__ import annotations

import json
import sys
import threading
from collections.abc import Sequence
from contextlib import suppress

from lakehouse.config import Settings
from lakehouse.spark.session import spark_session

# Python's own are 5 ms, which each answer of the JVM would wait for while something is imported.
_SWITCH_S = 0.0005


def begin_session(arguments: Sequence[str]) -> None:
    """Begin to make the session of an application in `jobs/`.

    What is wrong with the command line or with Spark, those tell who read it and ask for the
    session.

    Args:
        arguments: The command line.
    """
    sys.setswitchinterval(_SWITCH_S)
    with suppress(ValueError, LookupError, TypeError):
        source = json.loads(arguments[arguments.index("--config") + 1])["name"]
        threading.Thread(target=_begin, args=(source,), name="spark session", daemon=True).start()


def app_name(source: str) -> str:
    """What the application of a source is called in Spark's pages."""
    return f"lakehouse {source}"


def _begin(source: str) -> None:
    with suppress(Exception):
        spark_session(app_name(source), Settings.from_environment())
