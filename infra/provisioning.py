"""Logins and sample rows of the databases; each database is made once, whole.

Five logins for each database: the stack's own (may do everything), the owner of the sample tables,
and the three of `docs/grants.md`, each with what it needs and no more: Debezium's, the one that
reads rows to compare them, the one that writes signals.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from infra.clients import run_sql
from infra.home import StackHome
from infra.ports import LOOPBACK
from infra.registrations import PUBLICATION, SIGNAL_TABLE
from infra.sources import (
    ADMIN,
    DEBEZIUM,
    OWNER,
    READER,
    SIGNALS,
    Database,
    Engine,
    SampleSource,
)


def owner_login(home: StackHome, sample: SampleSource, port: int) -> Database:
    """The login that owns the sample tables."""
    return Database(sample.engine, port, OWNER, home.passwords()["owner"], sample.name)


def logins(home: StackHome, sample: SampleSource, port: int) -> tuple[Database, Database, Database]:
    """The logins that own the tables, read them, and write signals."""
    owner, known = owner_login(home, sample, port), home.passwords()
    return (
        owner,
        replace(owner, user=READER, password=known["reader"]),
        replace(owner, user=SIGNALS, password=known["signals"]),
    )


def provision(home: StackHome, sample: SampleSource, port: int) -> None:
    """Make the sample database with its logins and rows, unless that was done before."""
    # Written last: a database that was left half made is made again.
    done = home.data(f"{sample.name}.done")
    if not done.exists():
        _PROVISIONERS[sample.engine](home, sample, port)
        done.touch()
    # Later than the database: homes of before have none of them.
    if not (granted := home.data(f"{sample.name}.granted")).exists():
        _GRANTERS[sample.engine](home, sample, port)
        granted.touch()


def _postgresql(home: StackHome, sample: SampleSource, port: int) -> None:
    passwords = home.passwords()
    admin = Database(sample.engine, port, ADMIN, passwords["admin"], "postgres")
    inside = Database(sample.engine, port, ADMIN, passwords["admin"], sample.name)
    run_sql(
        admin,
        f"DROP DATABASE IF EXISTS {sample.name}",
        f"DROP ROLE IF EXISTS {OWNER}",
        f"DROP ROLE IF EXISTS {DEBEZIUM}",
        f"CREATE ROLE {OWNER} LOGIN PASSWORD '{passwords['owner']}'",
        f"CREATE ROLE {DEBEZIUM} LOGIN REPLICATION PASSWORD '{passwords['debezium']}'",
        f"CREATE DATABASE {sample.name} OWNER {OWNER}",
    )
    run_sql(owner_login(home, sample, port), sample.sample_sql)
    schema = sample.captured_schema
    run_sql(
        inside,
        f"GRANT USAGE ON SCHEMA {schema} TO {DEBEZIUM}",
        f"GRANT SELECT ON ALL TABLES IN SCHEMA {schema} TO {DEBEZIUM}",
        # Tables of later are read as well.
        f"ALTER DEFAULT PRIVILEGES FOR ROLE {OWNER} IN SCHEMA {schema} "
        f"GRANT SELECT ON TABLES TO {DEBEZIUM}",
        # Incremental snapshots mark their windows in the signal table.
        f"GRANT INSERT, DELETE ON {schema}.{SIGNAL_TABLE} TO {DEBEZIUM}",
        f"CREATE PUBLICATION {PUBLICATION} FOR TABLES IN SCHEMA {schema}",
    )


def _grant_postgresql(home: StackHome, sample: SampleSource, port: int) -> None:
    known, schema = home.passwords(), sample.captured_schema
    inside = Database(sample.engine, port, ADMIN, known["admin"], sample.name)
    for user, password in ((READER, known["reader"]), (SIGNALS, known["signals"])):
        run_sql(
            inside,
            f"DO $$ BEGIN IF NOT EXISTS (SELECT FROM pg_roles WHERE rolname = '{user}') "
            f"THEN CREATE ROLE {user}; END IF; END $$",
            f"ALTER ROLE {user} LOGIN PASSWORD '{password}'",
        )
    run_sql(
        inside,
        f"GRANT USAGE ON SCHEMA {schema} TO {READER}",
        f"GRANT SELECT ON ALL TABLES IN SCHEMA {schema} TO {READER}",
        f"ALTER DEFAULT PRIVILEGES FOR ROLE {OWNER} IN SCHEMA {schema} "
        f"GRANT SELECT ON TABLES TO {READER}",
        f"GRANT USAGE ON SCHEMA {schema} TO {SIGNALS}",
        f"GRANT INSERT ON {schema}.{SIGNAL_TABLE} TO {SIGNALS}",
    )


def _binlog(home: StackHome, sample: SampleSource, port: int) -> None:
    passwords = home.passwords()
    admin = Database(sample.engine, port, ADMIN, passwords["admin"], "")
    database = sample.name
    run_sql(
        admin,
        f"DROP DATABASE IF EXISTS {database}",
        f"CREATE DATABASE {database}",
        *_login(OWNER, passwords["owner"]),
        *_login(DEBEZIUM, passwords["debezium"]),
        f"GRANT ALL PRIVILEGES ON {database}.* TO '{OWNER}'@'{LOOPBACK}'",
        "GRANT RELOAD, SHOW DATABASES, REPLICATION SLAVE, REPLICATION CLIENT ON *.* "
        f"TO '{DEBEZIUM}'@'{LOOPBACK}'",
        f"GRANT SELECT ON {database}.* TO '{DEBEZIUM}'@'{LOOPBACK}'",
    )
    run_sql(owner_login(home, sample, port), sample.sample_sql)
    # Incremental snapshots mark their windows in the signal table.
    run_sql(
        admin,
        f"GRANT INSERT, DELETE ON {database}.{SIGNAL_TABLE} TO '{DEBEZIUM}'@'{LOOPBACK}'",
    )


def _grant_binlog(home: StackHome, sample: SampleSource, port: int) -> None:
    known, database = home.passwords(), sample.name
    run_sql(
        Database(sample.engine, port, ADMIN, known["admin"], ""),
        *_login(READER, known["reader"]),
        *_login(SIGNALS, known["signals"]),
        # It asks for the end of the binlog.
        f"GRANT REPLICATION CLIENT ON *.* TO '{READER}'@'{LOOPBACK}'",
        f"GRANT SELECT ON {database}.* TO '{READER}'@'{LOOPBACK}'",
        f"GRANT INSERT ON {database}.{SIGNAL_TABLE} TO '{SIGNALS}'@'{LOOPBACK}'",
    )


def _login(user: str, password: str) -> tuple[str, ...]:
    return (
        # MariaDB writes the statement as it is, with the password, into the log that others read.
        "SET SESSION sql_log_bin = 0",
        f"DROP USER IF EXISTS '{user}'@'{LOOPBACK}'",
        f"CREATE USER '{user}'@'{LOOPBACK}' IDENTIFIED BY '{password}'",
        "SET SESSION sql_log_bin = 1",
    )


_PROVISIONERS: dict[Engine, Callable[[StackHome, SampleSource, int], None]] = {
    Engine.POSTGRESQL: _postgresql,
    Engine.MYSQL: _binlog,
    Engine.MARIADB: _binlog,
}


_GRANTERS: dict[Engine, Callable[[StackHome, SampleSource, int], None]] = {
    Engine.POSTGRESQL: _grant_postgresql,
    Engine.MYSQL: _grant_binlog,
    Engine.MARIADB: _grant_binlog,
}


def provision_airflow(home: StackHome, server_port: int) -> Database:
    """Make Airflow's metadata database, unless that was done before, and give its login."""
    passwords = home.passwords()
    metadata = Database(
        Engine.POSTGRESQL, server_port, "airflow", passwords["airflow_database"], "airflow"
    )
    done = home.data("airflow.done")
    if not done.exists():
        admin = Database(Engine.POSTGRESQL, server_port, ADMIN, passwords["admin"], "postgres")
        run_sql(
            admin,
            "DROP DATABASE IF EXISTS airflow",
            "DROP ROLE IF EXISTS airflow",
            f"CREATE ROLE airflow LOGIN PASSWORD '{passwords['airflow_database']}'",
            "CREATE DATABASE airflow OWNER airflow",
        )
        done.touch()
    return metadata
