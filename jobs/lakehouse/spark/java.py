"""Java classes by their full names.

In: a session, a name. Out: the class, for calls of its static methods and constructors. Written
`spark._jvm.org.apache.iceberg.DataFiles`, each part is a question to the JVM, which looks for a
class of that name in all jars before it is a package: a tenth of the driver's work on small tables.
"""

from __future__ import annotations

from typing import Any

from py4j.java_gateway import JavaClass
from pyspark.sql import SparkSession


def java_class(spark: SparkSession, name: str) -> Any:  # noqa: ANN401 - any class
    """The class of that name; whether there is one shows with its first use."""
    gateway: Any = spark.sparkContext._gateway  # noqa: SLF001 - PySpark has no public way to it
    return JavaClass(name, gateway._gateway_client)  # noqa: SLF001 - nor py4j


def iceberg_class(spark: SparkSession, name: str) -> Any:  # noqa: ANN401 - any class
    """A class of Iceberg, by its name below `org.apache.iceberg`."""
    return java_class(spark, f"org.apache.iceberg.{name}")


def listed(values: Any) -> list[Any]:  # noqa: ANN401 - a Java list
    """What a Java list has.

    Python's own loop ends with a Java exception, which PySpark asks the JVM a dozen things about.
    """
    return [values.get(place) for place in range(values.size())]
