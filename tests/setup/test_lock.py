"""The list of pinned jars."""

import re

import pytest

from infra.setup.errors import SetupError
from infra.setup.lock import CONNECTOR_SETS, JAR_SETS, Jar, digest, locked_jars, parse_lock

SHA = "0" * 63 + "1"
ONE_OF_EACH = "\n".join(f"{name} org.example:{name}-jar:1.0  {SHA}" for name in JAR_SETS)


def test_a_line_is_a_set_a_coordinate_and_a_checksum():
    jars = parse_lock(ONE_OF_EACH)
    assert jars["spark"] == (Jar("org.example", "spark-jar", "1.0", SHA),)
    assert set(jars) == set(JAR_SETS)


def test_comments_and_empty_lines_are_skipped():
    assert parse_lock(f"# list\n\n{ONE_OF_EACH}  # why\n") == parse_lock(ONE_OF_EACH)


@pytest.mark.parametrize(
    "line",
    [
        "spark org.example:jar:1.0",
        f"spark org.example:jar {SHA}",
        f"flink org.example:jar:1.0 {SHA}",
        "spark org.example:jar:1.0 abc",
        f"spark org.example:jar:1.0 {SHA.upper().replace('0', 'G')}",
        f"spark ../../etc:jar:1/0 {SHA}",
        f"spark org.example:jar:1.0 {SHA} more",
    ],
)
def test_a_broken_line_is_refused_with_its_number(line):
    with pytest.raises(SetupError, match=r"some\.lock:7: .* is not a jar") as refused:
        parse_lock(f"{ONE_OF_EACH}\n{line}", "some.lock")
    assert repr(line) in str(refused.value)


def test_a_set_without_jars_is_refused():
    without_bin = "\n".join(ONE_OF_EACH.splitlines()[:-1])
    with pytest.raises(SetupError, match="no jar for bin"):
        parse_lock(without_bin)


def test_the_digest_changes_with_any_jar():
    jar, other = Jar("org.example", "jar", "1.0", SHA), Jar("org.example", "jar", "1.0", SHA[::-1])
    assert digest((jar,)) == digest((jar,))
    assert len({digest((jar,)), digest((other,)), digest((jar, other)), digest(())}) == 4


def test_the_projects_own_list_is_valid():
    assert all(locked_jars().values())


@pytest.mark.parametrize("name", CONNECTOR_SETS)
def test_a_connector_brings_nothing_that_kafka_connect_brings(name):
    not_ours = re.compile(r"kafka-clients|connect-api|slf4j|snappy|lz4|zstd")
    assert [jar.module for jar in locked_jars()[name] if not_ours.search(jar.module)] == []
