"""Start of Airflow: its database, the migration of its metadata, its components."""

from __future__ import annotations

from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from importlib.metadata import version

from infra import airflow
from infra.airflow_api import log_in
from infra.errors import NotReady, StackError
from infra.kafka_logins import lakehouse_properties
from infra.processes import exit_code, is_running, start_process
from infra.provisioning import provision_airflow
from infra.servers.airflow import airflow_command, airflow_components
from infra.servers.postgresql import RELAXED, postgresql_server
from infra.servers.server import Server, log_tail, wait_until
from infra.sources import SAMPLE_SOURCES
from infra.starting import StackStart
from infra.state import AirflowAddress
from infra.stopping import AIRFLOW_DATABASE, end_server
from lakehouse.config import Settings, load_sources

MIGRATION = "airflow_migration"
_MIGRATION_DEADLINE_S = 300


def start_airflow(start: StackStart, settings: Settings) -> None:
    """Start what of Airflow does not run yet.

    Raises:
        StackError: a part did not start.
    """
    home, ports = start.home, start.state.ports
    port = ports["airflow_api_server"]
    start.start(postgresql_server(home, AIRFLOW_DATABASE, ports[AIRFLOW_DATABASE], RELAXED))
    metadata = provision_airflow(home, ports[AIRFLOW_DATABASE])
    airflow.write_configuration(home, metadata, port)
    sources = load_sources(settings)
    samples = [source for source in sources if source.name in SAMPLE_SOURCES]
    environment = airflow.environment(home, settings, samples, lakehouse_properties(home, ports))
    _migrate(start, environment)
    address = AirflowAddress(
        airflow.api_url(port), airflow.ADMIN_USER, str(airflow.password_file(home))
    )
    start.change(lambda state: replace(state, airflow=address))
    _start_together(start, airflow_components(port, environment))
    api = log_in(address)
    for source in sources:
        api.ensure_pool(f"ingest_{source.name}")
    start.report(f"Airflow: {address.url} as {address.user!r}, password in {address.password_file}")


def _start_together(start: StackStart, components: tuple[Server, ...]) -> None:
    with ThreadPoolExecutor(max_workers=len(components)) as pool:
        starts = [pool.submit(start.start, component) for component in components]
        try:
            for one in starts:
                one.result()
        except BaseException:
            start.cancelled.set()
            raise


def _migrate(start: StackStart, environment: Mapping[str, str]) -> None:
    """Bring the metadata's tables to this version of Airflow, once."""
    home = start.home
    done = home.data("airflow.version")
    wanted = version("apache-airflow")
    if done.exists() and done.read_text(encoding="utf-8") == wanted:
        return
    end_server(home, MIGRATION, None, grace_s=0)
    log = home.log(MIGRATION)
    record = start_process(
        MIGRATION,
        airflow_command("db", "migrate"),
        environment=environment,
        log=log,
        stack_id=home.stack_id(),
    )
    start.started.append(MIGRATION)

    def probe() -> None:
        if is_running(record):
            raise NotReady("it still runs")

    wait_until(
        probe, what=MIGRATION, deadline_s=_MIGRATION_DEADLINE_S, cancelled=start.cancelled, log=log
    )
    code = exit_code(record)
    if code != 0:
        raise StackError(
            f"Airflow's metadata could not be migrated: expected exit code 0, got {code}"
            f"{log_tail(log)}"
        )
    done.write_text(wanted, encoding="utf-8")
    start.report("Airflow's metadata is ready")
