"""The connectors that apply knows. Adding one is one file and one line here."""

from lakehouse.connectors.base import Codec, Connector, PositionField
from lakehouse.connectors.mariadb import MARIADB
from lakehouse.connectors.mysql import MYSQL
from lakehouse.connectors.postgresql import POSTGRESQL
from lakehouse.errors import UnsupportedConnector

CONNECTORS = {connector.name: connector for connector in (MARIADB, MYSQL, POSTGRESQL)}

__all__ = ["CONNECTORS", "Codec", "Connector", "PositionField", "find_connector"]


def find_connector(name: str) -> Connector:
    """The rules of a connector.

    Raises:
        UnsupportedConnector: Its messages can be landed, but not applied yet.
    """
    if name not in CONNECTORS:
        raise UnsupportedConnector(
            f"Connector {name!r}: apply does not know its rules yet: expected one of "
            f"{', '.join(sorted(CONNECTORS))}; its messages stay in bronze"
        )
    return CONNECTORS[name]
