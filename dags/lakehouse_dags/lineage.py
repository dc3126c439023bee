"""What a step read and wrote, as OpenLineage datasets, where Airflow has the OpenLineage provider.

In: the row that a step left in `quality.runs`. Out: Kafka topics and Iceberg tables under the names
of https://openlineage.io/docs/spec/naming. A published table has its snapshot id as its version.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from lakehouse.names import bronze_table
from lakehouse.plan.records import RESULTS, SCHEMA_VERSIONS
from lakehouse_dags.recorded import Recorded

if TYPE_CHECKING:
    from airflow.providers.openlineage.extractors import OperatorLineage


@dataclass(frozen=True, slots=True)
class Flow:
    """What one step read and wrote.

    Attributes:
        topics: Kafka topics that it read messages from.
        reads: Tables.
        writes: Tables, each with the snapshot that it published; None where it published none.
        rows: How many rows it wrote to each; None where the step does not say.
    """

    topics: tuple[str, ...] = ()
    reads: tuple[str, ...] = ()
    writes: Mapping[str, int | None] | None = None
    rows: int | None = None


def flow_of(source: str, row: Recorded) -> Flow:
    """What a step's row says of its inputs and outputs."""
    bronze, counts, detail = bronze_table(source), json.loads(row.counts), json.loads(row.detail)
    match row.step:
        case "land":
            return Flow(tuple(counts.get("topics", ())), (), {bronze: None}, counts.get("messages"))
        case "check":
            return Flow(reads=(bronze,), writes={SCHEMA_VERSIONS.name: None})
        case "validate":
            return Flow(reads=tuple(detail.get("verdicts", ())), writes={RESULTS.name: None})
        case "publish":
            return Flow(reads=(bronze,), writes=detail.get("tables", {}))
        case _:
            return Flow(reads=(bronze,))


def lineage(flow: Flow, kafka: str, warehouse: str) -> OperatorLineage[Any, Any]:
    """A flow as OpenLineage knows it.

    Args:
        flow: What was read and written.
        kafka: The first bootstrap server, host and port.
        warehouse: Where the tables are, as a URI without secrets.
    """
    # Only called where the provider is installed.
    from airflow.providers.openlineage.extractors import OperatorLineage  # noqa: PLC0415
    from openlineage.client.event_v2 import InputDataset, OutputDataset  # noqa: PLC0415
    from openlineage.client.facet_v2 import (  # noqa: PLC0415
        dataset_version_dataset,
        output_statistics_output_dataset,
    )

    inputs = [InputDataset(f"kafka://{kafka}", topic) for topic in flow.topics]
    inputs += [InputDataset(warehouse, table) for table in flow.reads]
    outputs = []
    for table, snapshot in (flow.writes or {}).items():
        written = OutputDataset(warehouse, table)
        if snapshot is not None:
            version = dataset_version_dataset.DatasetVersionDatasetFacet(str(snapshot))
            written.facets = {"version": version}
        if flow.rows is not None:
            count = output_statistics_output_dataset.OutputStatisticsOutputDatasetFacet(flow.rows)
            written.outputFacets = {"outputStatistics": count}
        outputs.append(written)
    return OperatorLineage(inputs=inputs, outputs=outputs)
