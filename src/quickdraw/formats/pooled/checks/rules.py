"""What `check` looks for: every rule with its severity, the contract's section, what holds, and how to mend a breach.

Sections are the contract's own (`1` folders, `2` numbers, `3` info.json, `4` stats.json, `5` tasks.jsonl, `6` rows, `7`
data, `8` video, `9` upload, `11.n` point n of its closing checklist); `P-n` is a pitfall of the fact sheet. `{task}`
and `{number}` in a mend become the task's folder and N.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, Literal

type Severity = Literal["error", "warning", "info"]

ERROR: Final[Severity] = "error"
WARNING: Final[Severity] = "warning"
INFO: Final[Severity] = "info"


@dataclass(frozen=True, slots=True)
class Rule:
    """One thing that must hold of a task: `text` says what, `mend` what to do where it does not."""

    id: str
    severity: Severity
    section: str
    text: str
    mend: str


@dataclass(frozen=True, slots=True)
class Finding:
    """One breach of one rule.

    `number` is N, None for what belongs to no single episode; `episode` the name screens show, as `_ep000011`, or
    empty. `path` is relative to the task's folder, with `/`.
    """

    severity: Severity
    rule: str
    number: int | None
    episode: str
    path: str
    found: str
    mend: str

    def __str__(self) -> str:
        name = "" if self.number is None else f"episode {self.number} ({self.episode}): "
        return f"{self.severity}: {self.rule}: {name}{self.path}: {self.found}; {self.mend}"


_SPLIT = "quickdraw pooled split-episodes {task} --apply"
_RECALC = "quickdraw pooled recalc-stats {task} --apply"
_REPAIR = "quickdraw pooled repair-scale {task} --apply"
_DELETE = "quickdraw pooled delete {task} --episode {number} --apply"
_BY_HAND = "put it right in meta/info.json by hand"
_RESTORE = "restore it from an uploaded archive"
_LOST = _RESTORE + "; as a last resort delete the episode: " + _DELETE
_DATA = "restore the data file from an uploaded archive, or leave the episode unused"
_VIDEO = "restore the video from an uploaded archive; the data can be read without it"
_ROW = "restore the row from an uploaded archive; the data can be read as it is"
_ROW_FILE = "restore the file from an uploaded archive, or remove it by hand"
_LOOK = "nothing to mend; look at the recording before it is used"

_TABLE = (
    # The task's folder and what lies in it.
    Rule("leftover-v10", ERROR, "1", "calibration/, metadata.json, timestamps.json and v1.0's session folders are gone",
         "move it out of the task's folder; v1.0 sessions are migrated by their recorder"),
    Rule("stray-file", INFO, "11.2", "files and folders have a name the format knows",
         "no reader opens it; move it out of the task's folder, or remove it"),
    Rule("misplaced-file", ERROR, "2, 11.2, P-47", "an episode's file lies where its N leads to",
         "no reader finds it; give it the name its N leads to, or move it out of the task's folder"),
    Rule("folder-unreadable", ERROR, "1", "every folder of the task can be listed",
         "give read and search rights on it"),
    Rule("unfinished", WARNING, "11.10, P-57", "every change of several files is done to its end",
         "the next recording, and any command with --apply, does the rest"),
    # info.json.
    Rule("info-field", WARNING, "3", "info.json has every field, of its type", _BY_HAND),
    Rule("info-episodes-path", WARNING, "3, 9", "episodes_path names one file an episode",
         _SPLIT + "; where there is no shard, " + _BY_HAND),
    Rule("info-total", ERROR, "3, P-69", "total_episodes is not below the episodes that have files", _BY_HAND),
    Rule("feature-missing", WARNING, "3", "every observation column is declared in features", _BY_HAND),
    Rule("feature-entry", WARNING, "3", "a column's features entry has its dtype, shape and encoding", _BY_HAND),
    Rule("extension-missing", WARNING, "8, 11.6", "video_extensions names every slot that has files", _BY_HAND),
    Rule("extension-unused", WARNING, "8", "every slot in video_extensions has a file in some episode",
         "nothing to mend where its episodes were deleted; otherwise take it out of video_extensions"),
    # stats.json.
    Rule("stats-unreadable", WARNING, "4, P-51", "stats.json is there and is one JSON object", _RECALC),
    Rule("stats-no-count", WARNING, "4, 11.4, P-50", "every block has a count (none: v1.1.0)", _RECALC),
    Rule("stats-block", ERROR, "4", "a block has finite lists of one width, min <= mean <= max", _RECALC),
    Rule("stats-action", WARNING, "4", "action is the placeholder block", _RECALC),
    Rule("stats-column", WARNING, "4, P-52, P-54", "only gloves and the IMU are counted, never hand poses", _RECALC),
    Rule("stats-count", WARNING, "4, P-57", "no block counts less than what lies in data/ (--deep)", _RECALC),
    # tasks.jsonl.
    Rule("tasks-missing", ERROR, "5", "tasks.jsonl is there",
         'write one line {{"task_index": 0, "task": "<name>"}} to meta/tasks.jsonl'),
    Rule("tasks-line", ERROR, "5, 11.5, P-66", "tasks.jsonl is one JSON object a line, never pretty-printed",
         "join each object onto one line of its own"),
    Rule("tasks-index", ERROR, "5", "each task_index stands once, and each that is used is there",
         "give each task in tasks.jsonl its own task_index"),
    # meta/episodes.
    Rule("rows-missing", ERROR, "6.1", "meta/episodes is there", "restore meta/episodes from the uploaded archives"),
    Rule("row-missing", ERROR, "6.1", "every episode with data has a row", _ROW),
    Rule("row-without-files", INFO, "9, P-68", "a row has an episode",
         "nothing to mend: the episode's files were deleted, its number stays taken"),
    Rule("row-unreadable", ERROR, "6.1", "a file of rows is readable Parquet, and holds one", _ROW_FILE),
    Rule("row-count", ERROR, "6.1", "an episode- file holds no more than one row", _SPLIT),
    Rule("row-number", ERROR, "6.1, P-40", "a row's episode_index is the N its file name leads to", _ROW_FILE),
    Rule("row-twice", ERROR, "6.1, P-64", "each N has one row in all of meta/episodes", _SPLIT),
    Rule("row-columns", ERROR, "6.2", "a row has the 11 columns in their types, none null", _ROW),
    Rule("row-order", WARNING, "6.2", "a row's columns stand in the contract's order",
         "readers go by name; recording the episode again writes the order"),
    Rule("row-10-columns", INFO, "6.2, P-28", "a row has force_matrix_specs",
         "nothing to mend: readers take it as empty (before v1.3)"),
    Rule("row-value", ERROR, "6.2", "created_at and duration_sec are finite and not negative", _ROW),
    Rule("row-json", ERROR, "6.2", "the four texts of a row are JSON objects", _ROW),
    Rule("row-length", ERROR, "6.2, P-2", "length is the data rows (or the highest frame_index + 1)", _ROW),
    Rule("row-range", ERROR, "6.2", "start_frame_index and end_frame_index are the data's first and last", _ROW),
    Rule("row-old-name", INFO, "6.1, P-62", "a one-row file is named episode-",
         "nothing to mend: readers go by its content (v1.1.1)"),
    Rule("legacy-shard", WARNING, "6.1, 11.3", "each episode has a row file of its own (one a chunk: v1.1.0)", _SPLIT),
    # data.
    Rule("data-missing", ERROR, "7, P-44, P-45", "an episode with video has data", _LOST),
    Rule("data-unreadable", ERROR, "7", "a data file is readable Parquet", _LOST),
    Rule("data-empty", ERROR, "7", "a data file has rows", _LOST),
    Rule("data-compression", WARNING, "7", "data is compressed by zstd",
         "readers take it as it is; only its size suffers"),
    Rule("data-key", ERROR, "7.1", "the seven key columns are there", _DATA),
    Rule("data-type", ERROR, "7.1, 7.2, P-10, P-25", "a column has the Arrow type of its name", _DATA),
    Rule("data-column", INFO, "7.2", "a column has a name the contract knows", "readers pass it over"),
    Rule("data-old-pose", INFO, "7.2, P-9", "slam_pose is not written since v1.3.1",
         "do not read it: rows without a sample hold seven zeros; take slam_trajectory"),
    Rule("data-hand-pose", WARNING, "7.2", "both hand_pose columns are written, zeros where nothing is known",
         "readers take missing poses as unknown"),
    Rule("data-null", ERROR, "7.2, P-29", "no cell is null", _DATA),
    Rule("data-pair", ERROR, "7.2, P-11", "columns that belong together are there, and of one length", _DATA),
    Rule("data-number", ERROR, "2, 7.1, P-41", "episode_index is N in every row", _DATA),
    Rule("data-task", ERROR, "5, 7.1", "task_index is one of tasks.jsonl in every row",
         "add the task to meta/tasks.jsonl"),
    Rule("frame-index", ERROR, "7.1", "frame_index runs from 0 without a hole", _DATA),
    Rule("frame-order", WARNING, "7.1", "frame_index never falls", _LOOK),
    Rule("frame-rows", WARNING, "7.3, P-1", "rows of one frame agree in timestamp and hardware_ns",
         "nothing to mend: readers leave such rows unfolded; a row is not a frame here"),
    Rule("time-value", ERROR, "7.1", "timestamp and wall_time are finite", _DATA),
    Rule("clock-none", INFO, "7.1", "hardware_ns holds a clock", "nothing to mend: the episode cannot be aligned"),
    Rule("clock-truncated", WARNING, "7.1, P-3", "hardware_ns has 64 bits",
         "nothing to mend: the episode cannot be aligned; its steps can still be unwrapped"),
    Rule("clock-backwards", WARNING, "7.1, 7.3", "clocks never step back", _LOOK),
    Rule("clock-hole", WARNING, "7.3, P-7", "no two frames lie 100 ms further apart than the rate says", _LOOK),
    # Force matrices.
    Rule("matrix-scale", WARNING, "7.2.1, P-20", "a matrix column's scale is in the episode's row", _REPAIR),
    Rule("matrix-spec", ERROR, "7.2.1, P-22", "a matrix column's recorded spec is one, and fits it", _ROW),
    Rule("matrix-spec-unused", WARNING, "7.2.1", "force_matrix_specs lists columns the episode has",
         "nothing to mend: readers pass it over"),
    Rule("matrix-length", ERROR, "7.2.1", "a matrix has 0 or 187500 values (--deep)",
         "nothing to mend: readers take that cell as no sample"),
    Rule("matrix-sum", WARNING, "7.2.1", "a matrix's fz adds up to the force's at the recorded scale (--deep)",
         "find out which scale the recorder used; readers take the recorded one"),
    # Cells.
    Rule("cell-value", ERROR, "7.2, P-56", "every number is finite, every text UTF-8 (--deep)",
         "statistics pass over such rows; other readers may not"),
    Rule("cell-stamp", WARNING, "7.2, P-5", "stamps are not negative, never fall, and have a sample (--deep)", _LOOK),
    Rule("cell-imu", WARNING, "7.1, 7.3, 11.9", "IMU samples hang on the row whose window they are of (--deep)",
         "take samples by imu_ts_ns, not by row"),
    Rule("cell-action", WARNING, "7.1", "action is [0.0] in every row (--deep)", "readers pass action over"),
    # Video.
    Rule("video-missing", ERROR, "8", "an episode has a video", _VIDEO),
    Rule("video-twice", ERROR, "8, P-81", "a slot has one file an episode",
         "move all but one out of the task's folder"),
    Rule("video-extension", ERROR, "8", "a video is mp4 or mkv", "move it out of the task's folder"),
    Rule("video-empty", ERROR, "8", "a video file has bytes", _VIDEO),
    Rule("video-slot", ERROR, "8", "a slot is a plain folder name", "rename the slot's folder"),
    Rule("video-unreadable", ERROR, "8", "every picture of a video decodes (--deep)", _VIDEO),
    Rule("video-frames", ERROR, "7.3, 8, P-86", "a video has a picture for every frame (--deep)", _VIDEO),
    Rule("depth-head", INFO, "8", "depth starts with the first frame (--deep)",
         "nothing to mend: align depth by its end; before its first picture there is none"),
    Rule("depth-short", WARNING, "8, P-86", "depth lacks no more than a second of frames (--deep)", _LOOK),
    Rule("video-depth", ERROR, "8, 11.6", "an mkv holds depth: one FFV1 gray16le stream (--deep)", _VIDEO),
    Rule("video-camera", WARNING, "3, P-87", "cameras lists the RGB slots in their size, no depth (--deep)", _BY_HAND),
)  # fmt: skip

RULES: Final[dict[str, Rule]] = {rule.id: rule for rule in _TABLE}
