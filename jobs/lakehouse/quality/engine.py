"""Great Expectations as this project uses it: in memory, silent, imported when it is needed.

In: a suite and rows of metrics. Out: a validation result. The import takes seconds of CPU, so it
can be begun beside other work; nothing here uses the network.
"""

from __future__ import annotations

import importlib.util
import sys
import threading
import warnings
from collections.abc import Mapping, Sequence
from functools import cache
from typing import TYPE_CHECKING

from expectations import Suite

if TYPE_CHECKING:
    from great_expectations.core import ExpectationSuiteValidationResult
    from great_expectations.datasource.fluent.pandas_datasource import PandasDatasource

SUBJECT = "subject"
_LOCK = threading.Lock()


def preload() -> threading.Thread:
    """Import Great Expectations beside other work; the first validation waits for it."""
    thread = threading.Thread(target=_datasource, name="import great_expectations", daemon=True)
    thread.start()
    return thread


def validate(
    suite: Suite, rows: Sequence[Mapping[str, int | str | None]]
) -> ExpectationSuiteValidationResult:
    """Validate rows of metrics, one for each subject.

    Args:
        suite: The suite.
        rows: The subject and all metrics of the suite.
    """
    datasource = _datasource()
    import pandas as pd  # type: ignore[import-untyped]  # noqa: PLC0415

    from expectations.building import build  # noqa: PLC0415

    # Objects stay the integers that they are; numbers with gaps would become floats.
    frame = pd.DataFrame(rows, dtype=object)
    asset = datasource.add_dataframe_asset(suite.name)
    try:
        batch = asset.add_batch_definition_whole_dataframe("metrics").get_batch(
            batch_parameters={"dataframe": frame}
        )
        return batch.validate(
            build(suite),
            result_format={
                "result_format": "SUMMARY",
                "unexpected_index_column_names": [SUBJECT],
                "partial_unexpected_count": len(rows),
            },
        )
    finally:
        datasource.delete_asset(suite.name)


def _datasource() -> PandasDatasource:
    with _LOCK:
        return _make_datasource()


@cache
def _make_datasource() -> PandasDatasource:
    """A data source of an in-memory context that sends nothing anywhere and draws no bars."""
    with warnings.catch_warnings():
        # Its imports of deprecated standard modules are nothing that a user could act on.
        warnings.simplefilter("ignore")
        _import_lazily("scipy", "stats")
        import great_expectations as gx  # noqa: PLC0415
        from great_expectations.data_context.types.base import (  # noqa: PLC0415
            DataContextConfig,
            InMemoryStoreBackendDefaults,
            ProgressBarsConfig,
        )

        import expectations.building  # noqa: F401, PLC0415
    # No temporary site: the pages are written by `quality.reports.docs`.
    stores = InMemoryStoreBackendDefaults(init_temp_docs_sites=False)
    configuration = DataContextConfig(store_backend_defaults=stores, analytics_enabled=False)
    context = gx.get_context(mode="ephemeral", project_config=configuration)
    context.variables.progress_bars = ProgressBarsConfig(globally=False)
    return context.data_sources.add_pandas("metrics")


def _import_lazily(package: str, name: str) -> None:
    """Load a submodule at its first use: no suite uses statistics, a third of the import's time.

    https://docs.python.org/3/library/importlib.html#implementing-lazy-imports
    """
    full = f"{package}.{name}"
    spec = importlib.util.find_spec(full)
    if full in sys.modules or spec is None or spec.loader is None:
        return
    spec.loader = importlib.util.LazyLoader(spec.loader)
    module = importlib.util.module_from_spec(spec)
    sys.modules[full] = module
    spec.loader.exec_module(module)
    setattr(sys.modules[package], name, module)
