"""What the Hub wants of a dataset card's front matter, from its published specification: `judge` says what is wrong.

https://huggingface.co/docs/hub/datasets-cards, https://huggingface.co/docs/hub/repositories-licenses and
https://huggingface.co/docs/hub/datasets-manual-configuration, as of 2026.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import yaml

BLOCK = re.compile(r"^(\s*---(?:\r\n|\r|\n))([\S\s]*?)((?:\r\n|\r|\n)---[ \t]*(\r\n|\n|$))")  # the server's own
LICENSES_TOLD = """
apache-2.0 mit openrail bigscience-openrail-m creativeml-openrail-m bigscience-bloom-rail-1.0 bigcode-openrail-m
afl-3.0 artistic-2.0 bsl-1.0 bsd bsd-2-clause bsd-3-clause bsd-3-clause-clear c-uda cc cc0-1.0 cc-by-2.0 cc-by-2.5
cc-by-3.0 cc-by-4.0 cc-by-sa-3.0 cc-by-sa-4.0 cc-by-nc-2.0 cc-by-nc-3.0 cc-by-nc-4.0 cc-by-nd-4.0 cc-by-nc-nd-3.0
cc-by-nc-nd-4.0 cc-by-nc-sa-2.0 cc-by-nc-sa-3.0 cc-by-nc-sa-4.0 cdla-sharing-1.0 cdla-permissive-1.0
cdla-permissive-2.0 wtfpl ecl-2.0 epl-1.0 epl-2.0 etalab-2.0 eupl-1.1 eupl-1.2 agpl-3.0 gfdl gpl gpl-2.0 gpl-3.0 lgpl
lgpl-2.1 lgpl-3.0 isc h-research intel-research lppl-1.3c ms-pl apple-ascl apple-amlr mpl-2.0 odc-by odbl openmdw-1.0
openrail++ osl-3.0 postgresql ofl-1.1 ncsa unlicense zlib pddl lgpl-lr deepfloyd-if-license
fair-noncommercial-research-license llama2 llama3 llama3.1 llama3.2 llama3.3 llama4 grok2-community gemma unknown
other
"""
LICENSES = set(LICENSES_TOLD.split())
TASKS_TOLD = """
text-classification token-classification table-question-answering question-answering zero-shot-classification
translation summarization feature-extraction text-generation fill-mask sentence-similarity text-to-speech
text-to-audio automatic-speech-recognition audio-to-audio audio-classification voice-activity-detection
depth-estimation image-classification object-detection image-segmentation text-to-image image-to-text image-to-image
image-to-video unconditional-image-generation video-classification reinforcement-learning robotics
tabular-classification tabular-regression tabular-to-text table-to-text multiple-choice text-ranking text-retrieval
time-series-forecasting text-to-video image-text-to-text visual-question-answering document-question-answering
zero-shot-image-classification graph-ml mask-generation zero-shot-object-detection text-to-3d image-to-3d
image-feature-extraction video-text-to-text keypoint-detection visual-document-retrieval any-to-any video-to-video
other
"""
TASKS = set(TASKS_TOLD.split())
SIZES = {"n<1K", "1K<n<10K", "10K<n<100K", "100K<n<1M", "1M<n<10M", "10M<n<100M", "100M<n<1B", "1B<n<10B", "10B<n<100B",
         "100B<n<1T", "n>1T", "other"}  # fmt: skip
CONFIG_KEYS = {"config_name", "data_files", "data_dir", "default", "features", "drop_labels", "sep", "splits"}


def judge(content: str) -> list[str]:
    """What is wrong with a card, by its front matter."""
    block = BLOCK.match(content)
    try:
        told = yaml.safe_load(block[2]) if block else None
    except yaml.YAMLError as error:
        return [f"YAML: {error}"]
    return list(_judged(told)) if isinstance(told, dict) else ["no front matter"]


def _judged(told: dict[str, Any]) -> Iterator[str]:
    for key, known in (("license", LICENSES), ("task_categories", TASKS), ("size_categories", SIZES)):
        value = told.get(key, [])
        for each in value if isinstance(value, list) else [value]:
            if not isinstance(each, str) or each not in known:
                yield f'"{key}" must be one of the known ones, not {each!r}'
    for key in ("tags", "task_categories", "language"):
        value = told.get(key, [])
        if not isinstance(value, list) or not all(isinstance(each, str) for each in value):
            yield f'"{key}" must be an array of strings'
    if not isinstance(told.get("pretty_name", ""), str):
        yield '"pretty_name" must be a string'
    yield from _configs(told.get("configs", []))


def _configs(configs: Any) -> Iterator[str]:
    if not isinstance(configs, list):
        yield '"configs" must be an array'
        return
    for number, config in enumerate(configs):
        yield from (f'"configs[{number}]{wrong}' for wrong in _config(config))
    objects = [config for config in configs if isinstance(config, dict)]
    if len({repr(config.get("config_name")) for config in objects}) < len(objects):
        yield '"configs" must have distinct names'
    if sum(config.get("default") is True for config in objects) > 1:
        yield '"configs" may have one default'


def _config(config: Any) -> Iterator[str]:
    if not isinstance(config, dict):
        yield '" must be an object'
        return
    if not isinstance(config.get("config_name"), str) or not config["config_name"]:
        yield '.config_name" must be a string'
    if not isinstance(config.get("default", False), bool):
        yield '.default" must be a boolean'
    yield from (f'.{key}" is not known' for key in config if key not in CONFIG_KEYS)
    files = config.get("data_files", "x")
    for each in files if isinstance(files, list) else [files]:
        split = (
            isinstance(each, dict) and isinstance(each.get("split"), str) and isinstance(each.get("path"), str | list)
        )
        if not (split or (isinstance(each, str) and each)):
            yield '.data_files" must be a pattern, patterns, or {split, path}'
