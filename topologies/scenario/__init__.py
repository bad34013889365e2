"""The scenario format: what a YAML file may say, and how its mistakes are told."""

from topologies.scenario.errors import Problem, ScenarioError
from topologies.scenario.load import load_scenario, parse_scenario
from topologies.scenario.scenario import Scenario

__all__ = ["Problem", "Scenario", "ScenarioError", "load_scenario", "parse_scenario"]
