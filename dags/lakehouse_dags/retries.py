"""How often Airflow tries a task again, and how soon: whatever failed, no one gains by waiting."""

from datetime import timedelta

RETRIES = 2
RETRY_DELAY = timedelta(seconds=30)
