"""Over how many rows Spark interprets a plan, and generates no code for it.

To generate and compile code for a query over few rows takes twice the CPU of the work itself. An
application that lives for many batches uses what is generated again: few are fewer there.
"""

from __future__ import annotations

FEW_ROWS = 200_000
"""Of an application that does one run. Of so many rows a query is planned once in any."""

FEW_ROWS_SETTING = "spark.lakehouse.fewRows"
"""What says otherwise, among Spark's settings."""
