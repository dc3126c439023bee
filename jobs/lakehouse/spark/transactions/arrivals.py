"""How far back messages are looked for: what a database wrote at some time arrived no earlier.

In: the envelopes of a batch, a time of the database's clock. Out: a timestamp of Kafka. So what is
read of bronze follows how far back a doubt goes, not how much is landed.
"""

from __future__ import annotations

from pyspark.sql import DataFrame

# Clocks of machines that are kept in time differ by less.
_MARGIN_MS = 60_000


def arrived_since(envelopes: DataFrame, written_ms: int) -> int:
    """The lowest timestamp in Kafka that a message of that time can have.

    A database's clock, or what a connector takes for its zone, may be ahead of Kafka's: then
    messages of the batch arrived before they were written, and by so much more is looked back.

    Args:
        envelopes: The batch.
        written_ms: Time of the source, in milliseconds since the epoch.

    Returns:
        Milliseconds since the epoch; 0 and less for any.
    """
    leads = envelopes.selectExpr("min(try_subtract(arrived_ms, source_ts_ms)) AS least")
    return written_ms + min(0, leads.collect()[0]["least"] or 0) - _MARGIN_MS
