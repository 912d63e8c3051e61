"""``millrace import``: options for Spark are passed on to Spark."""

from __future__ import annotations

from pathlib import Path

from experiments.commands import importing
from experiments.commands.arguments import make_parser


def test_what_a_command_says_of_spark_is_handed_on(monkeypatch):
    handed = {}

    def import_dataset(mapping, output, overwrite, **spark):
        handed.update(spark, mapping=mapping, output=output, overwrite=overwrite)
        made = {"first_time": 1403517600, "last_time": 1403517601, "time_unit": "s"}
        return {"main_table": "readings", "tables": {"readings": made}}

    monkeypatch.setattr(importing, "import_dataset", import_dataset)
    line = "import m.yaml --output x --master spark://h:7077 --partitions 3 --archive m.tar.gz"
    assert importing.run(make_parser().parse_args(line.split())) == 0
    assert handed == {
        "mapping": "m.yaml",
        "output": Path("x"),
        "overwrite": False,
        "master": "spark://h:7077",
        "partitions": 3,
        "archive": Path("m.tar.gz"),
    }
