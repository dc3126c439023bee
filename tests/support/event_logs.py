"""Spark that writes down all it does: its event log, and its own log at level INFO."""

from __future__ import annotations

from pathlib import Path

from infra.spark import spark_environment


def told_everything(home: Path) -> dict[str, str]:
    """The variables of such a Spark; SPARK_CONF_DIR of this process has to be unset.

    Args:
        home: `LAKEHOUSE_HOME`; the event logs are in its folder `events`.
    """
    environment = spark_environment(home)
    events = home / "events"
    events.mkdir(exist_ok=True)
    defaults = Path(environment["SPARK_CONF_DIR"]) / "spark-defaults.conf"
    settings = defaults.read_text().replace("spark.log.level WARN", "spark.log.level INFO")
    settings += "spark.eventLog.enabled true\nspark.eventLog.compress false\n"
    # A busy machine is slow with any of them.
    settings += "spark.scheduler.listenerbus.logSlowEvent.threshold 1ms\n"
    defaults.write_text(settings + f"spark.eventLog.dir {events.as_uri()}\n")
    return environment
