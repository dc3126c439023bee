"""Where the set-up puts things."""

from pathlib import Path

import pytest

from infra.setup import layout
from infra.setup.errors import SetupError
from infra.setup.lock import CONNECTOR_SETS, JAR_SETS


def test_the_cache_is_what_the_variable_names(cache):
    assert layout.cache_dir() == cache


def test_the_cache_is_in_the_users_cache_folder_by_default(monkeypatch):
    monkeypatch.delenv("LAKEHOUSE_CACHE", raising=False)
    monkeypatch.setenv("XDG_CACHE_HOME", "/somewhere")
    assert layout.cache_dir() == Path("/somewhere/lakehouse")
    monkeypatch.delenv("XDG_CACHE_HOME")
    monkeypatch.setenv("HOME", "/home/ada")
    assert layout.cache_dir() == Path("/home/ada/.cache/lakehouse")


def test_jars_are_listed_once_their_folder_is_there(cache):
    with pytest.raises(SetupError, match=f"The jars of spark not found: expected {cache}"):
        layout.jars("spark")
    layout.jar_folder("spark").mkdir(parents=True)
    assert {path.parent for path in layout.jars("spark")} == {layout.jar_folder("spark")}


@pytest.mark.usefixtures("cache")
def test_the_plugin_path_has_one_folder_for_each_connector_and_nothing_else():
    for name in JAR_SETS:
        layout.jar_folder(name).mkdir(parents=True)
    found = sorted(folder.name for folder in layout.plugin_path().iterdir())
    assert found == sorted(CONNECTOR_SETS)


@pytest.mark.usefixtures("cache")
def test_an_unknown_set_is_refused_with_the_known_ones():
    with pytest.raises(SetupError, match=r"'flink': expected one of spark, kafka"):
        layout.jars("flink")


@pytest.mark.parametrize(
    ("home", "name"),
    [
        (layout.postgresql_home, "PostgreSQL"),
        (layout.mysql_home, "MySQL"),
        (layout.mariadb_home, "MariaDB"),
    ],
)
@pytest.mark.usefixtures("cache")
def test_a_missing_database_says_what_to_run(home, name):
    with pytest.raises(SetupError, match=rf"{name} not found: .*run `make setup`"):
        home()
