"""Modules of gates that no thread of a program runs."""

ELSEWHERE = {"operators.gate.specification": "is the oracle of the programs"}
