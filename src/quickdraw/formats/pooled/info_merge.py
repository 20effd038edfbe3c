"""What a further episode makes of `meta/info.json`: read, merged, written whole (contract 3).

Keys we do not know stay; `created_at` is that of the first episode, `sensors` all ever seen, and counts never fall,
whatever was deleted (pitfalls P-69, P-70).
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from quickdraw.errors import Fault, Refused
from quickdraw.formats.pooled.info import LAST_NUMBER

_UNITED = ("features", "cameras", "video_extensions")
_RISING = ("total_episodes", LAST_NUMBER)


def merged(old: Mapping[str, Any] | None, latest: Mapping[str, Any]) -> dict[str, Any]:
    """The document after an episode that tells `latest` of itself; `old` is the one before it, None where none is.

    `features`, `cameras` and `video_extensions` are united key by key, the latest episode's word being final;
    everything else of `latest` replaces what was there. An old value of a type it cannot have counts as absent.
    """
    before = dict(old or {})
    document = {**before, **latest}
    for key in _UNITED:
        if isinstance(before.get(key), Mapping) and isinstance(latest.get(key), Mapping):
            document[key] = {**before[key], **latest[key]}
    if "sensors" in latest:
        seen = before.get("sensors")
        known = [each for each in seen if isinstance(each, str)] if isinstance(seen, list) else []
        document["sensors"] = sorted({*known, *latest["sensors"]})
    if _is_number(before.get("created_at")):
        document["created_at"] = before["created_at"]
    for key in _RISING:
        if key in latest and _is_number(before.get(key)):
            document[key] = max(before[key], latest[key])
    return document


def document_bytes(document: Mapping[str, Any]) -> bytes:
    """info.json, stats.json and the like as they stand on disk: indented by 2, UTF-8, characters of any script kept.

    Raises Refused where a value is not finite: that is no JSON, and it came from a document we were given.
    """
    try:
        return json.dumps(document, indent=2, ensure_ascii=False, allow_nan=False).encode()
    except ValueError as error:
        expected = "finite numbers, and text that UTF-8 can hold"
        raise Refused([Fault("document", "JSON", str(error), expected)]) from error


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)
