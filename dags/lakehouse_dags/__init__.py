"""What the Dag files share: operators and the look-up of recorded steps.

Airflow puts the folder of the Dag files on the path; `.airflowignore` keeps it from looking for
Dags in here. Like a Dag file, these modules import Airflow and the library's `config`, `names`,
`plan` and `connectors`, and nothing heavy before a task runs.
"""
