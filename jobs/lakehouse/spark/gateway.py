"""Fewer questions of Python to the JVM: each takes 0.1 ms, and a whole one in a JVM that is young.

In: a session. Out: nothing; PySpark asks less from then on. It looks a class up by its name each
time that it needs it, then its method, and hands each element of a list over alone; a run of a few
messages asked 6,600 times (measured).
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from functools import cache
from typing import Any

from py4j.java_gateway import JavaClass, JavaMember, JavaObject
from py4j.protocol import register_input_converter
from pyspark.sql import SparkSession

# The gateway searches all jars for each.
_LOOKED_UP = (
    "org.apache.spark.sql.classic.SparkSession",
    "org.apache.spark.sql.classic.SparkSession$",
    "org.apache.spark.sql.functions",
    "org.apache.spark.sql.expressions.Window",
    "org.apache.spark.sql.api.python.PythonSQLUtils",
    "org.apache.spark.api.python.PythonUtils",
    "org.apache.spark.storage.StorageLevel",
    "org.apache.spark.util.Utils",
    "PythonUtils",
    # As PySpark imports them.
    "functions",
    "PythonSQLUtils",
)
# What `java.util.List.of` takes at most.
_MOST_OF = 10


def ask_less(session: SparkSession) -> None:
    """Keep what PySpark looks up, and hand lists over in one piece."""
    gateway: Any = session.sparkContext._jvm  # noqa: SLF001 - PySpark has no public way to it
    for name in _LOOKED_UP:
        found = getattr(gateway, name)
        setattr(gateway, name, _Kept(found) if type(found) is JavaClass else found)
    _convert_lists()


class _Kept(JavaClass):  # type: ignore[misc]
    """A Java class that knows its methods once they were asked for."""

    def __init__(self, found: JavaClass) -> None:
        super().__init__(found._fqn, found._gateway_client)  # noqa: SLF001 - py4j has no other way

    def __getattr__(self, name: str) -> Any:  # noqa: ANN401 - any member
        found = super().__getattr__(name)
        if isinstance(found, JavaMember):
            self.__dict__[name] = found
        return found


@cache
def _convert_lists() -> None:
    # py4j takes the first that can.
    register_input_converter(_Lists(str, _texts), prepend=True)
    register_input_converter(_Lists(JavaObject, _objects), prepend=True)


class _Lists:
    """Makes Java lists of values of one kind.

    Attributes:
        kind: What they are.
        maker: Gateway's client → what makes a list of them.
    """

    def __init__(self, kind: type, maker: Callable[[Any], Callable[[Sequence[Any]], Any]]) -> None:
        self.kind, self.maker = kind, maker

    def can_convert(self, values: object) -> bool:
        """Whether they are of the kind, and more than one."""
        return (
            isinstance(values, list | tuple)
            and len(values) > 1
            and all(isinstance(each, self.kind) for each in values)
        )

    def convert(self, values: Sequence[Any], client: Any) -> Any:  # noqa: ANN401 - of py4j
        """A Java list of them."""
        return self.maker(client)(values)


@cache
def _texts(client: Any) -> Callable[[Sequence[str]], Any]:  # noqa: ANN401 - of py4j
    """Texts in one question, as JSON."""
    mapper = JavaClass("com.fasterxml.jackson.databind.ObjectMapper", client)()
    kind = JavaClass("java.util.ArrayList", client)._java_lang_class  # noqa: SLF001
    read = mapper.readValue
    return lambda values: read(json.dumps(values), kind)


@cache
def _objects(client: Any) -> Callable[[Sequence[JavaObject]], Any]:  # noqa: ANN401 - of py4j
    """Java objects in one question for ten of them."""
    of = JavaClass("java.util.List", client).of
    array_list = JavaClass("java.util.ArrayList", client)

    def made(values: Sequence[JavaObject]) -> Any:  # noqa: ANN401 - of py4j
        first, *others = (values[n : n + _MOST_OF] for n in range(0, len(values), _MOST_OF))
        found = of(*first)
        if others:
            found = array_list(found)
            for more in others:
                found.addAll(of(*more))
        return found

    return made
