"""Modules of indexes that no thread of a program runs."""

ELSEWHERE = {"operators.index.bw_inspect": "checks a tree at rest"}
