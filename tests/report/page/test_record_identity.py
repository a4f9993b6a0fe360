from __future__ import annotations

from typing import Any

from photometer.report.page.record_identity import identity_of

AUTO = {
    "runtime": "eager",
    "autograd": "forward",
    "language": "cpp",
    "num_threads": 2,
    "device": "cpu",
    "sizes": [["n", 64]],
}
SPEC = {"stmt": "x.add(y);", "setup": "auto x = 1;", "global_setup": "#include <x>"}


def record(**changes: Any) -> dict[str, Any]:
    order = {"id": "1", "label": ["maths", "add"], "auto": AUTO}
    return {"kind": "measurement", "order": order, "task_spec": SPEC, **changes}


def test_an_order_has_its_label_its_words_and_its_code() -> None:
    identity = identity_of(record())
    assert identity.path == ("maths", "add")
    assert identity.words == ("cpp", "eager", "forward", "2 threads", "n=64")
    assert (identity.code.language, identity.code.setup) == ("cpp", "auto x = 1;")


def test_a_link_outlives_an_edit_of_the_code_and_of_the_tags_but_not_of_the_label() -> None:
    edited = record(task_spec={**SPEC, "stmt": "x.add_(y);"})
    tagged = record(order={**record()["order"], "id": "2", "tags": ["quick"]})
    renamed = record(order={**record()["order"], "label": ["maths", "plus"]})
    assert identity_of(edited).id == identity_of(tagged).id == identity_of(record()).id
    assert "quick" in identity_of(tagged).words
    assert identity_of(renamed).id != identity_of(record()).id
    assert identity_of(record(), "other file").id != identity_of(record()).id


def test_a_title_leads_to_the_same_link_as_the_order_it_was_made_from() -> None:
    titled = {"kind": "comparison", "title": "maths › add [eager, forward, cpp, 2, cpu, n=64]"}
    identity = identity_of(titled)
    assert identity.id == identity_of(record()).id
    assert identity.path == ("maths", "add")
    assert identity.words[0] == "cpp"


def test_a_title_with_brackets_in_the_label_and_one_without_words() -> None:
    assert identity_of({"kind": "x", "title": "indexing › [::2] [eager, python, 1]"}).path == ("indexing", "[::2]")
    assert identity_of({"kind": "x", "title": "just a name"}).path == ("just a name",)
    assert identity_of({"kind": "x"}).path == ("unnamed",)


def test_without_an_order_the_task_spec_speaks() -> None:
    plain = identity_of({"kind": "measurement", "task_spec": {"stmt": "f(x)\ng(x)", "setup": "pass"}})
    assert plain.path == ("f(x)",)
    assert plain.code.setup == ""
    labelled = {"stmt": "f(x)", "label": "add", "sub_label": "8", "description": "fast", "env": "main"}
    identity = identity_of({"kind": "measurement", "task_spec": labelled})
    assert identity.path == ("add", "8")
    assert identity.words == ("fast", "main", "1 thread")
