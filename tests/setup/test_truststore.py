"""The trust store for Java."""

import subprocess

import pytest

from infra.setup import layout, truststore
from infra.setup.errors import SetupError


def test_the_machine_trusts_somebody():
    assert all(one.startswith(b"\x30") for one in truststore.trusted_certificates())


def test_the_first_list_that_is_there_is_the_machines(tmp_path):
    bundle = tmp_path / "authorities.crt"
    assert truststore.machine_bundle(("/no/such/file", str(bundle))) is None
    bundle.touch()
    assert truststore.machine_bundle(("/no/such/file", str(bundle))) == bundle


def test_java_reads_every_certificate(tmp_path):
    certificates = truststore.trusted_certificates()
    store = tmp_path / "store.jks"
    store.write_bytes(truststore.encode_truststore(certificates))
    try:
        keytool = layout.java_home() / "bin" / "keytool"
    except SetupError:
        pytest.skip("no Java: run `make setup`")
    command = [keytool, "-list", "-keystore", store, "-storepass", truststore.PASSWORD]
    listed = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    assert listed.count("trustedCertEntry") == len(certificates)
