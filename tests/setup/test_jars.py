"""Downloading and checking jars."""

import xml.etree.ElementTree as ET
from pathlib import Path

import pytest

from infra.setup.errors import SetupError
from infra.setup.ivy import Ivy, download, module_xml, settings_xml
from infra.setup.jars import proxy_options, verify
from infra.setup.lock import Jar

# sha256 of b"content"
JAR = Jar(
    "org.example",
    "tool",
    "1.0",
    "ed7002b439e9ac845f22357d822bac1444730fbdb6016d3ec9432297b9ec9f73",
)

FAKE_IVY = """\
#!/bin/sh
# Called as `-settings FILE -ivy FILE`: "downloads" the one jar at the second attempt.
here=$(dirname "$2")
echo "Server access error: no route to host"
if [ -e "$here/called" ]; then
  mkdir -p "$here/org.example/tool/jars"
  printf content >"$here/org.example/tool/jars/tool-1.0.jar"
fi
touch "$here/called"
exit 1
"""


def test_the_pinned_file_is_accepted(tmp_path):
    path = tmp_path / JAR.file_name
    path.write_bytes(b"content")
    verify(path, JAR)
    assert path.exists()


def test_another_file_is_refused_and_removed(tmp_path):
    path = tmp_path / JAR.file_name
    path.write_bytes(b"tampered")
    with pytest.raises(SetupError) as refused:
        verify(path, JAR)
    assert str(refused.value).startswith("org.example:tool:1.0 is not the pinned file: sha256 is ")
    assert JAR.sha256 in str(refused.value)
    assert not path.exists()


def test_ivy_is_asked_for_each_jar_without_its_dependencies():
    module = ET.fromstring(module_xml("part-0", [JAR]))
    (dependency,) = module.findall("dependencies/dependency")
    assert dependency.attrib["transitive"] == "false"
    assert [dependency.attrib[key] for key in ("org", "name", "rev")] == [
        *("org.example", "tool", "1.0")
    ]


def test_ivys_own_repository_is_used_unless_a_mirror_is_named():
    (plain,) = ET.fromstring(settings_xml(Path("/cache"), {})).findall("resolvers/ibiblio")
    assert "root" not in plain.attrib
    environment = {"LAKEHOUSE_MAVEN_MIRROR": "https://mirror.example/?a&b"}
    (mirrored,) = ET.fromstring(settings_xml(Path("/cache"), environment)).findall(
        "resolvers/ibiblio"
    )
    assert mirrored.attrib["root"] == "https://mirror.example/?a&b"


@pytest.mark.parametrize(
    ("environment", "host_and_port"),
    [
        ({"HTTPS_PROXY": "http://proxy.example:3128"}, ("proxy.example", "3128")),
        ({"https_proxy": "proxy.example:8080"}, ("proxy.example", "8080")),
        ({"HTTPS_PROXY": "http://proxy.example/"}, ("proxy.example", "80")),
    ],
)
def test_java_uses_the_proxy_of_the_environment(environment, host_and_port):
    host, port = host_and_port
    expected = (f"-Dhttps.proxyHost={host}", f"-Dhttps.proxyPort={port}")
    assert proxy_options(environment) == expected


def test_without_a_proxy_java_connects_itself():
    assert proxy_options({"HTTPS_PROXY": ""}) == ()


@pytest.fixture
def ivy(tmp_path) -> Ivy:
    program = tmp_path / "ivy"
    program.write_text(FAKE_IVY)
    program.chmod(0o755)
    return Ivy((str(program),), tmp_path / "downloads")


def test_a_download_that_fails_is_tried_again(ivy):
    download(ivy, [JAR])
    assert ivy.downloaded(JAR).read_bytes() == b"content"


def test_what_is_downloaded_already_is_not_asked_for(ivy):
    ivy.downloaded(JAR).parent.mkdir(parents=True)
    ivy.downloaded(JAR).write_bytes(b"content")
    download(ivy, [JAR])
    assert not (ivy.folder / "called").exists()


def test_a_jar_that_cannot_be_had_is_named_with_what_ivy_said(ivy):
    other = Jar("org.example", "missing", "2.0", JAR.sha256)
    with pytest.raises(SetupError) as refused:
        download(ivy, [other])
    assert "1 jars could not be downloaded (org.example:missing:2.0)" in str(refused.value)
    assert "no route to host" in str(refused.value)
