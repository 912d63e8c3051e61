"""The profiles fit their schema, and the schema has a sentence for each parameter."""

from __future__ import annotations

from pathlib import Path

import pytest
import yaml

from experiments import profiles
from operators.contract import UsageError

CONFIG = Path(__file__).resolve().parents[2] / "workflow" / "config"


def described(schema: dict) -> list[str]:
    """Return the parameters of a schema that have no sentence."""
    missing = []
    for name, parameter in schema.get("properties", {}).items():
        if not parameter.get("description", "").endswith("."):
            missing.append(name)
        missing += described(parameter)
    return missing


@pytest.mark.parametrize("name", ["profile", "config"])
def test_each_parameter_has_a_sentence_and_unknown_ones_are_refused(name):
    schema = yaml.safe_load((CONFIG / f"{name}.schema.yaml").read_text())
    assert described(schema) == []
    assert schema["additionalProperties"] is False


def test_each_profile_is_named_as_its_file_and_leads_to_one_that_exists():
    assert profiles.names() == ["laptop", "paper", "quick"]
    for name in profiles.names():
        profile = profiles.load(name)
        assert profile.name == name
        assert profile.next is None or profile.next in profiles.names()


def test_the_config_file_is_what_its_schema_describes():
    schema = yaml.safe_load((CONFIG / "config.schema.yaml").read_text())["properties"]
    config = yaml.safe_load((CONFIG / "config.yaml").read_text())
    assert config == {name: parameter["default"] for name, parameter in schema.items()}


def test_no_rule_depends_on_the_command_line():
    rules = CONFIG.parent.rglob("*.smk"), CONFIG.parent.glob("Snakefile")
    assert not [path for found in rules for path in found if "sys.argv" in path.read_text()]


def test_an_unknown_key_of_a_profile_is_refused():
    content = yaml.safe_load((CONFIG / "quick.yaml").read_text())
    with pytest.raises(UsageError, match="rate_fraction"):
        profiles.parse({**content, "rate_fraction": 0.5}, "quick")
