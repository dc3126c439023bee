"""The import error of this file is the list of sources that have no Dags, and why.

A TOML file that is wrong takes its own Dags away and no others; Airflow shows what is wrong with
it at the top of its pages. This file makes no Dag.
"""

from __future__ import annotations

from lakehouse.config import Settings, load_readable
from lakehouse_dags.alerts import missing_notifier

loaded = load_readable(Settings.from_environment())
wrong = [*map(str, loaded.refused), *filter(None, map(missing_notifier, loaded.sources))]
if wrong:
    raise ImportError("\n".join(wrong))
