"""The control tables `quality.*` and the leases: rows and tags written with PyIceberg alone."""
