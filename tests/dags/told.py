"""A notifier that writes down what it is told, as one JSON line in the file that TOLD names."""

from __future__ import annotations

import json
import os
from pathlib import Path

from airflow.sdk.bases.notifier import BaseNotifier


class Told(BaseNotifier):
    template_fields = ("text",)

    def __init__(self, text: str) -> None:
        super().__init__()
        self.text = text

    def notify(self, context) -> None:
        with Path(os.environ["TOLD"]).open("a") as file:
            file.write(json.dumps(self.text) + "\n")
