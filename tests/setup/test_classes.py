"""Where the class archive is: one that fits another Java or other jars is never taken."""

from pathlib import Path

from infra.setup.classes import archive_file

JARS = [Path("/jars/spark-core-4.1.3.jar"), Path("/jars/iceberg-1.12.0.jar")]


def test_each_java_and_each_class_path_has_an_archive_of_its_own(tmp_path):
    first, second = tmp_path / "java-17", tmp_path / "java-21"
    for home in (first, second):
        home.mkdir()
    found = {archive_file(tmp_path, home, jars) for home in (first, second) for jars in (JARS, [])}
    assert len(found) == 4


def test_a_java_that_was_updated_in_its_place_is_another_one(tmp_path):
    before = archive_file(tmp_path, tmp_path, JARS)
    (tmp_path / "release").write_text('JAVA_VERSION="17.0.16"\n')
    assert archive_file(tmp_path, tmp_path, JARS) != before
    assert archive_file(tmp_path, tmp_path, JARS).parent == tmp_path / "classes"
