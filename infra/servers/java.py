"""How the stack runs Kafka's Java programs."""

from __future__ import annotations

from pathlib import Path

from infra.home import StackHome
from infra.setup import layout

_LOG4J = """\
status = warn
appender.console.type = Console
appender.console.name = console
appender.console.layout.type = PatternLayout
appender.console.layout.pattern = %d{ISO8601} %-5p %c{1} %X{connector.context}- %m%n
# Hundreds of lines with every setting of every client.
logger.config.name = org.apache.kafka.common.config.AbstractConfig
logger.config.level = warn
rootLogger.level = info
rootLogger.appenderRef.console.ref = console
"""


def java_command(
    home: StackHome, main_class: str, *arguments: str, heap_mb: int
) -> tuple[str, ...]:
    """The command that runs one of Kafka's main classes and logs to its output."""
    logging = home.conf / "log4j2.properties"
    if not logging.exists():
        logging.write_text(_LOG4J, encoding="utf-8")
    class_path = ":".join(map(str, layout.jars("kafka")))
    return (
        str(layout.java_home() / "bin" / "java"),
        f"-Xmx{heap_mb}m",
        # Small JVMs on two cores: few threads and quick starts beat the highest throughput.
        "-XX:+UseSerialGC",
        "-XX:TieredStopAtLevel=1",
        "-XX:+ExitOnOutOfMemoryError",
        f"-XX:ErrorFile={home.logs}/java_error_%p.log",
        # No files in the shared temporary folder.
        "-XX:-UsePerfData",
        f"-Dlog4j2.configurationFile={logging}",
        "-cp",
        class_path,
        main_class,
        *arguments,
    )


def write_properties(file: Path, properties: dict[str, str]) -> None:
    """Write a Java properties file; keys and values are plain ASCII without backslashes."""
    text = "".join(f"{key}={value}\n" for key, value in properties.items())
    file.write_text(text, encoding="utf-8")
