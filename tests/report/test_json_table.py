from __future__ import annotations

import json

from photometer.analysis.table import Colorize, Reference, TableRequest
from photometer.analysis.tabulate import tabulate
from photometer.report.json_table import render_json
from tests.analysis.measurements import made


def test_nested_as_the_table_is() -> None:
    a = made(1e-6, "a", "x", env="e")
    document = json.loads(render_json(tabulate([a, made(2e-6, "b", "y", env="e")])))
    assert (document["format"], document["version"]) == ("photometer-table", 1)
    [table] = document["tables"]
    assert table["columns"] == ["x", "y"]
    [group] = table["blocks"][0]["groups"]
    assert group["env"] == "e"
    assert group["rows"][0] == {"name": "a", "cells": [{"median_seconds": a.median, "samples": 40}, None]}


def test_everything_asked_for_is_there_and_infinity_is_null() -> None:
    request = TableRequest(True, True, Colorize.COLUMNWISE, Reference(), "×")
    [table] = json.loads(render_json(tabulate([made(1, "a"), made(2, "b", samples=1)], request)))["tables"]
    best, single = (row["cells"][0] for row in table["blocks"][0]["groups"][0]["rows"])
    assert best["is_baseline"]
    assert single["no_significant_difference"]
    assert single["interval_seconds"][1] is None
    assert single["warnings"][0]["kind"] == "too-few-runs"
    assert best["standing"] == "best"


def test_hostile_text_comes_back_unchanged() -> None:
    evil = '</script>"\\\x1b\u202e'
    document = json.loads(render_json(tabulate([made(1, evil, evil, label=evil)])))
    assert document["tables"][0]["label"] == evil
    assert document["tables"][0]["columns"] == [evil]
