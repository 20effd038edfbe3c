"""block_stack: one raw xArm 7 run to one episode (17-D state, 5-D action, which picture each row shows).

Everything here follows the user's specification (PROCESSING.md): one clock, nearest in time, nothing interpolated,
nothing shifted, all 17 values of a row from one arm_state row.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import msgspec
import numpy as np

from quickdraw.core.episode import Episode, EpisodeKey, EpisodePlan, FileStamp, Float32, FramePlan, Rejected
from quickdraw.core.features import FeatureSpec
from quickdraw.core.grid import NS_PER_S, Float64
from quickdraw.core.resample import displacement, nearest
from quickdraw.core.rotation import rot6_from_rpy
from quickdraw.data.block_stack_options import CUBE_CAMERAS, BlockStackOptions, block_stack_checks, cube_warnings
from quickdraw.data.processor import Processor, Told
from quickdraw.data.recognising import folders_of
from quickdraw.errors import RUNS, Fault, Refused
from quickdraw.formats.campaign import layout
from quickdraw.formats.campaign.acceptance import STRICT, Acceptance
from quickdraw.formats.campaign.commanded import count_commanded
from quickdraw.formats.campaign.examination import Run, examine
from quickdraw.formats.campaign.layout import CAMERAS, CampaignFolder
from quickdraw.formats.campaign.reader import AXES, Arm, RunInfo, RunReader
from quickdraw.formats.campaign.records import Gripper
from quickdraw.formats.campaign.traits import traits_of

if TYPE_CHECKING:
    from quickdraw.core.cubes import CubeRule
    from quickdraw.video.filming import Filming

HALF_SQRT = np.sqrt(0.5)
WORLD_FROM_BASE: Float64 = np.array([[1, 0, 0], [0, HALF_SQRT, -HALF_SQRT], [0, HALF_SQRT, HALF_SQRT]])
MOUNT_TOLERANCE = 1e-9
ROW_FILES = (layout.RUN_JSON, layout.CONTROLLER, layout.ARM_STATE, *(layout.stamps_file(c) for c in CAMERAS))
PLANNED_FROM = (*ROW_FILES, *(layout.video_file(c) for c in CAMERAS), layout.COMMANDED)
CAMPAIGN = "campaign.json"  # in every campaign a collector has written
PLAN_VERSION = 2  # raised when the same raw run is planned otherwise than before

STATE = FeatureSpec(
    name="observation.state",
    names=(
        *("ee_x_mm", "ee_y_mm", "ee_z_mm"),
        *(f"ee_rot6_{i}" for i in range(6)),
        "gripper",
        *(f"joint{i}_rad" for i in range(1, 8)),
    ),
    unit=("mm",) * 3 + ("",) * 7 + ("rad",) * 7,
    identity_dims=(3, 4, 5, 6, 7, 8),
)
ACTION = FeatureSpec(name="action", names=AXES, unit=("",) * 5)


@dataclass(frozen=True, slots=True)
class BlockStack:
    """A tree of raw campaigns as a source of episodes at `rate_hz`, showing `cameras`, of runs `acceptance` allows.

    The window of a run always spans all four cameras, whichever are shown, so that rows do not depend on the choice.
    """

    tree: Path
    rate_hz: int
    cameras: tuple[str, ...] = CAMERAS
    acceptance: Acceptance = STRICT

    processor = "block_stack"
    version = 1  # raised when the same raw run becomes other rows than before
    robot_type = "xarm7"
    words = RUNS
    features = (STATE, ACTION)

    def campaigns(self) -> list[str]:
        """Names of the campaign folders. Raises Refused where the tree is not one."""
        return layout.campaign_names(self.tree)

    def campaign(self, name: str) -> CampaignFolder:
        """The runs of one campaign."""
        return layout.read_campaign(self.tree, name)

    def path(self, key: EpisodeKey, file: str) -> Path:
        """A file of a run, from its name in `EpisodePlan.stamps`."""
        return self.tree / key.campaign / key.run / file

    def planning(self) -> Mapping[str, Any]:
        """The grid, the cameras and what is accepted."""
        options = {"rate_hz": self.rate_hz, "cameras": self.cameras, "acceptance": asdict(self.acceptance)}
        return {"version": PLAN_VERSION, **options}

    def reading(self) -> Mapping[str, Any]:
        """Nothing: rows follow from the run and its grid."""
        return {}

    def settled_by(self, plans: Iterable[EpisodePlan]) -> BlockStack:
        """Itself: its features and cameras are known before an episode is."""
        return self

    def notes(self) -> tuple[str, ...]:
        """None."""
        return ()

    def looks(self, key: EpisodeKey) -> str:
        """Stands for size and time of every file that `plan` reads, or that there is none."""
        return _digest(self._file_stamps(key))

    def plan(self, key: EpisodeKey) -> EpisodePlan | Rejected:
        """What the run would become, from metadata, streams, stamps and container headers; no picture is decoded."""
        try:
            stamps = self._file_stamps(key)  # taken first: a change while reading must show
            return self._planned(key, stamps)
        except OSError as error:
            found = f"unreadable ({error.strerror})"
            return Rejected(key, (Fault(str(key), "file", found, "a readable file", path=str(error.filename)),))

    def _planned(self, key: EpisodeKey, stamps: Mapping[str, FileStamp]) -> EpisodePlan | Rejected:
        reader = RunReader(self.tree, key)
        found = examine(reader, self.rate_hz, self.acceptance)
        run, faults = found.run, list(found.faults)
        if found.info is not None:
            faults += [*_mount_faults(key, found.info), *_gripper_faults(key, found.info)]
        shown = (*ROW_FILES, *map(layout.video_file, self.cameras))
        if not faults:
            late = [self.path(key, file) for file in shown if file not in stamps]
            expected = "a source left alone while it is built"
            faults += [Fault(str(key), path.name, "there only now", expected, path=str(path)) for path in late]
        if faults or run is None:
            return Rejected(key, tuple(faults))
        index = {line.name: nearest(line.t_ns, run.grid) for line in run.timelines}
        return EpisodePlan(
            key=key,
            task=key.campaign,
            grid=run.grid,
            t_hi_s=run.window_ns[1] / NS_PER_S,
            displacement={line.name: displacement(line.t_ns, index[line.name], run.grid) for line in run.timelines},
            row_files=ROW_FILES,
            videos={camera: layout.video_file(camera) for camera in self.cameras},
            stamps={file: stamps[file] for file in shown},
            frame_digests={camera: hashlib.sha256(index[camera].tobytes()).hexdigest() for camera in self.cameras},
            provenance=_provenance(run, reader),
            traits=tuple(traits_of(run, self.cameras, self.acceptance)),
            content_digest=run.digest(),
            warnings=found.warnings,
            looks=_digest(stamps),
        )

    def _file_stamps(self, key: EpisodeKey) -> dict[str, FileStamp]:
        """Of every file that `plan` reads; none of one that cannot be looked at, for reading it will say why."""
        folder, found = self.path(key, ""), dict[str, FileStamp]()
        for file in PLANNED_FROM:
            with suppress(OSError):
                stat = (folder / file).stat()
                found[file] = FileStamp(stat.st_size, stat.st_mtime_ns)
        return found

    def rows(self, plan: EpisodePlan) -> Mapping[str, Float32]:
        """Feature name -> `(T, D)` float32 rows of a planned run, on the grid that was planned. Raises Refused."""
        reader = RunReader(self.tree, plan.key)
        arm, controller, gripper = reader.arm(), reader.controller(), reader.info().gripper
        arrays = {
            STATE.name: state_rows(arm, gripper)[nearest(arm.t_ns, plan.grid)],
            ACTION.name: controller.axes.astype(np.float32)[nearest(controller.t_ns, plan.grid)],
        }
        for array in arrays.values():
            array.setflags(write=False)
        return arrays

    def frame_plan(self, plan: EpisodePlan, camera: str) -> FramePlan:
        """Which picture of the camera's file each row shows. Raises Refused."""
        read = RunReader(self.tree, plan.key).camera(camera)
        index = nearest(read.t_ns, plan.grid)
        index.setflags(write=False)
        return FramePlan(read.video, index, len(read.t_ns))

    def read(self, key: EpisodeKey) -> Episode:
        """The run as an episode. Raises Refused."""
        plan = self.plan(key)
        if isinstance(plan, Rejected):
            raise Refused(plan.faults)
        frame_plan = {camera: self.frame_plan(plan, camera) for camera in self.cameras}
        return Episode(plan, self.features, self.rows(plan), frame_plan)


def _digest(stamps: Mapping[str, FileStamp]) -> str:
    return hashlib.sha256(repr(sorted(stamps.items())).encode()).hexdigest()


def _provenance(run: Run, reader: RunReader) -> dict[str, Any]:
    """What an episode says of the run it was made from, JSON-ready."""
    commanded = count_commanded(reader.folder / layout.COMMANDED, *run.window_ns)
    return {
        **run.info.provenance,
        "timestamp_source": {name: filmed.times.timestamp_source for name, filmed in run.cameras.items()},
        "commanded": None if commanded is None else asdict(commanded),
        "mended": reader.mended,
    }


def state_rows(arm: Arm, gripper: Gripper) -> Float32:
    """Arm rows to `(N, 17)` float32 states, as `STATE` names them; the gripper is 0 closed .. 1 open."""
    opening = (arm.gripper_counts - gripper.closed_position) / (gripper.open_position - gripper.closed_position)
    state: Float64 = np.concatenate(
        [
            arm.world_xyz_mm,
            rot6_from_rpy(arm.base_rpy_deg, WORLD_FROM_BASE),
            np.clip(opening, 0.0, 1.0)[:, None],
            np.deg2rad(arm.joints_deg),
        ],
        axis=1,
    )
    return state.astype(np.float32)


def _mount_faults(key: EpisodeKey, info: RunInfo) -> list[Fault]:
    found = info.world_from_base
    if found is not None and np.allclose(found, WORLD_FROM_BASE, rtol=0.0, atol=MOUNT_TOLERANCE):
        return []
    text = "missing, or not 3 x 3" if found is None else str(found.tolist())
    expected = f"{WORLD_FROM_BASE.tolist()} within {MOUNT_TOLERANCE}"
    return [Fault(str(key), "provenance.R_WORLD_FROM_BASE", text, expected, path=info.path)]


def _gripper_faults(key: EpisodeKey, info: RunInfo) -> list[Fault]:
    if info.gripper.open_position != info.gripper.closed_position:
        return []
    found = f"open and closed both {info.gripper.open_position}"
    return [Fault(str(key), "provenance.config.gripper", found, "two different positions", path=info.path)]


class _Shown(msgspec.Struct, frozen=True):
    target_hz: Annotated[int, msgspec.Meta(ge=1, le=1000)]
    cameras: tuple[str, ...]


def _source(options: Told, tree: Path) -> BlockStack:
    told = msgspec.convert(options, _Shown)
    if not told.cameras or not set(told.cameras) <= set(CAMERAS):
        raise msgspec.ValidationError(f"cameras {list(told.cameras)}, of {', '.join(CAMERAS)}")
    # Every field of an acceptance is the option of its name.
    return BlockStack(tree, told.target_hz, told.cameras, msgspec.convert(options, Acceptance))


def _films(options: BlockStackOptions, source: BlockStack) -> dict[str, Filming]:
    from quickdraw.video.encoding import Encoding

    height_px, width_px = options.hw
    return dict.fromkeys(source.cameras, Encoding(height_px, width_px, source.rate_hz, **asdict(options.video)))


def _cubes(options: BlockStackOptions) -> CubeRule | None:
    from quickdraw.core.cubes import CubeRule
    from quickdraw.core.hues import CubeThresholds

    return CubeRule(CUBE_CAMERAS, CubeThresholds(**asdict(options.cube))) if options.measures_cubes else None


def _recognises(tree: Path) -> bool:
    """Whether a folder holds a campaign, or a run of one."""
    return any(_is_campaign(folder) for folder in folders_of(tree))


def _is_campaign(folder: Path) -> bool:
    with suppress(OSError):
        runs = (entry / layout.RUN_JSON for entry in folder.iterdir() if layout.RUN_NAME.fullmatch(entry.name))
        return (folder / CAMPAIGN).is_file() or any(run.is_file() for run in runs)
    return False


PROCESSOR = Processor(
    options=BlockStackOptions,
    tree="a raw campaign tree",
    recognises=_recognises,
    source=_source,
    films=_films,
    checks=block_stack_checks,
    decides=lambda options, _: {"objects": "cube" if options.measures_cubes else "none"},
    cubes=_cubes,
    warns=cube_warnings,
)
