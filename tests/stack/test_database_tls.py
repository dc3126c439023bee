"""Databases that speak TLS: whom a login trusts, and whom it does not."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

import pytest
from py4j.protocol import Py4JJavaError
from sqlalchemy import NullPool, create_engine, text
from sqlalchemy.exc import OperationalError

from infra.clients import query
from infra.errors import NotReady
from infra.home import StackHome, write_private
from infra.ports import choose_ports
from infra.processes import ProcessRecord
from infra.servers.mariadb import mariadb_server
from infra.servers.postgresql import postgresql_server
from infra.servers.server import Server, start_server
from infra.sources import ADMIN, Database, Engine
from infra.stopping import end_server
from infra.tls import Tls
from lakehouse.config import Settings
from lakehouse.plan.catalog import pyiceberg_properties, spark_catalog_properties
from tests.support.secured import Authority

# The two authorities have one name: libpq then speaks of the signature.
UNTRUSTED = "certificate verify failed|signature failure|PKIX path validation failed"
SPEAKS_TLS = "SELECT ssl FROM pg_stat_ssl WHERE pid = pg_backend_pid()"


@dataclass(frozen=True)
class Speaking:
    """A server with a certificate, and the files of two authorities, of which one signed it."""

    login: Database
    signer: Path
    stranger: Path

    def encrypted(self, tls: Tls) -> bool:
        """Log in, and ask the server whether it speaks TLS with this client."""
        login = replace(self.login, tls=tls)
        if login.engine is Engine.POSTGRESQL:
            [(told,)] = query(login, SPEAKS_TLS)
            return bool(told)
        [(_, cipher)] = query(login, "SHOW SESSION STATUS LIKE 'Ssl_cipher'")
        return bool(cipher)

    def catalog(self, authority: Path) -> Settings:
        """Settings whose catalog is this server, and who is trusted to have signed it."""
        at = f"{self.login.user}:{self.login.password}@{self.login.host}:{self.login.port}"
        tls = f"sslmode=verify-full&sslrootcert={authority}"
        uri = f"postgresql://{at}/{self.login.database}?{tls}"
        return Settings.from_environment({"LAKEHOUSE_CATALOG_URI": uri})


def postgresql(home: StackHome, port: int, key: Path) -> Server:
    settings = ("ssl=on", f"ssl_cert_file={key}", f"ssl_key_file={key}", "fsync=off")
    return postgresql_server(home, "postgresql", port, settings)


def mariadb(home: StackHome, port: int, key: Path) -> Server:
    server = mariadb_server(home, port)
    options = ("--ssl=ON", f"--ssl-cert={key}", f"--ssl-key={key}")
    return replace(server, command=(*server.command, *options))


@contextmanager
def speaking(
    folder: Path, engine: Engine, server: Callable[[StackHome, int, Path], Server]
) -> Iterator[Speaking]:
    home, records = StackHome(folder), list[ProcessRecord]()
    home.prepare()
    authority, port = Authority.new(), choose_ports((engine,), {})[engine]
    write_private(home.secrets / "server.pem", authority.signed())
    files = folder / "signer.pem", folder / "stranger.pem"
    for file, trusted in zip(files, (authority, Authority.new()), strict=True):
        file.write_text(trusted.pem, encoding="ascii")
    made = server(home, port, home.secrets / "server.pem")
    try:
        start_server(made, home, started=records.append, cancelled=threading.Event())
        name = "postgres" if engine is Engine.POSTGRESQL else ""
        login = Database(engine, port, ADMIN, home.passwords()["admin"], name)
        yield Speaking(login, *files)
    finally:
        end_server(home, made.name, records[0] if records else None)


@pytest.mark.parametrize(
    ("engine", "server"),
    [(Engine.POSTGRESQL, postgresql), (Engine.MARIADB, mariadb)],
    ids=["postgresql", "mariadb"],
)
def test_a_server_is_trusted_by_its_authority_and_its_host(
    engine: Engine, server: Callable[[StackHome, int, Path], Server], tmp_path: Path
) -> None:
    with speaking(tmp_path / "home", engine, server) as there:
        for mode in ("verify-full", "verify-ca"):
            assert there.encrypted(Tls(mode, str(there.signer)))
            with pytest.raises(NotReady, match=UNTRUSTED):
                there.encrypted(Tls(mode, str(there.stranger)))
        assert not there.encrypted(Tls("disable"))
        named = replace(there, login=replace(there.login, host="localhost"))
        assert named.encrypted(Tls("verify-ca", str(there.signer)))
        with pytest.raises(NotReady, match="localhost"):
            named.encrypted(Tls("verify-full", str(there.signer)))


def test_both_clients_of_the_catalog_trust_whom_its_address_names(spark, tmp_path: Path) -> None:
    with speaking(tmp_path / "home", Engine.POSTGRESQL, postgresql) as there:
        for opened in (by_spark, by_pyiceberg):
            assert opened(spark, there.catalog(there.signer))
            with pytest.raises((Py4JJavaError, OperationalError), match=UNTRUSTED):
                opened(spark, there.catalog(there.stranger))


def by_spark(spark, settings: Settings) -> bool:
    """Whether the driver of Spark's catalog speaks TLS."""
    told = spark_catalog_properties(settings)
    login = {
        "url": told["spark.sql.catalog.lakehouse.uri"],
        "user": told["spark.sql.catalog.lakehouse.jdbc.user"],
        "password": told["spark.sql.catalog.lakehouse.jdbc.password"],
    }
    return bool(spark.read.format("jdbc").options(query=SPEAKS_TLS, **login).load().head()[0])


def by_pyiceberg(_, settings: Settings) -> bool:
    """Whether the client of PyIceberg's catalog speaks TLS."""
    engine = create_engine(pyiceberg_properties(settings)["uri"], poolclass=NullPool)
    with engine.connect() as connection:
        return bool(connection.execute(text(SPEAKS_TLS)).scalar())
