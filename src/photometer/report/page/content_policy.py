"""What may run in a page of ours: nothing but its own script and style, known by their hashes; nothing from outside.

Also JSON in a form that can stand inside a script element.
"""

from __future__ import annotations

import base64
import hashlib
import json
from collections.abc import Iterable
from typing import Any


def content_policy(scripts: Iterable[str], styles: Iterable[str]) -> str:
    """The value of a Content-Security-Policy that allows these texts and no address at all."""
    script_hashes = " ".join(source_hash(text) for text in scripts) or "'none'"
    style_hashes = " ".join(source_hash(text) for text in styles) or "'none'"
    return (
        f"default-src 'none'; script-src {script_hashes}; style-src {style_hashes}; base-uri 'none'; form-action 'none'"
    )


def source_hash(text: str) -> str:
    """As a policy names an inline script or style by its content."""
    return f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"


def script_json(value: Any) -> str:
    """JSON that cannot end the script element it stands in, nor open a comment there."""
    text = json.dumps(value, ensure_ascii=True, allow_nan=False, separators=(",", ":"))
    return text.replace("&", "\\u0026").replace("<", "\\u003c").replace(">", "\\u003e")
