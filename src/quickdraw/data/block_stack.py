"""block_stack: one raw xArm 7 run to one episode (17-D state, 5-D action, which picture each row shows).

Everything here follows the user's specification (PROCESSING.md): one clock, nearest in time, nothing interpolated,
nothing shifted, all 17 values of a row from one arm_state row.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from quickdraw.core.episode import Episode, EpisodeKey, EpisodePlan, Float32, FramePlan, Rejected
from quickdraw.core.features import FeatureSpec
from quickdraw.core.grid import NS_PER_S, Float64, common_window, grid_over
from quickdraw.core.resample import displacement, nearest
from quickdraw.core.rotation import rot6_from_rpy
from quickdraw.errors import Fault, Refused
from quickdraw.formats.campaign import layout
from quickdraw.formats.campaign.layout import CAMERAS, CampaignFolder
from quickdraw.formats.campaign.reader import AXES, Arm, RawRun, read_camera, read_run
from quickdraw.formats.campaign.records import Gripper

HALF_SQRT = np.sqrt(0.5)
WORLD_FROM_BASE: Float64 = np.array([[1, 0, 0], [0, HALF_SQRT, -HALF_SQRT], [0, HALF_SQRT, HALF_SQRT]])
MOUNT_TOLERANCE = 1e-9
MIN_OVERLAP_S = 2.0

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
    """A tree of raw campaigns as a source of episodes at `rate_hz`, showing `cameras`.

    The window of a run always spans all four cameras, whichever are shown, so that rows do not depend on the choice.
    """

    tree: Path
    rate_hz: int
    cameras: tuple[str, ...] = CAMERAS

    processor = "block_stack"
    robot_type = "xarm7"
    features = (STATE, ACTION)

    def campaigns(self) -> list[str]:
        """Names of the campaign folders. Raises Refused where the tree is not one."""
        return layout.campaign_names(self.tree)

    def campaign(self, name: str) -> CampaignFolder:
        """The runs of one campaign."""
        return layout.read_campaign(self.tree, name)

    def path(self, key: EpisodeKey, file: str) -> Path:
        """A file of a run, from its name in `EpisodePlan.files` or `.videos`."""
        return self.tree / key.campaign / key.run / file

    def plan(self, key: EpisodeKey) -> EpisodePlan | Rejected:
        """What the run would become, from its metadata, streams and stamps; no picture is decoded."""
        try:
            return self._plan(read_run(self.tree, key))
        except Refused as refused:
            return Rejected(key, refused.faults)

    def read(self, key: EpisodeKey) -> Episode:
        """The run as an episode. Raises Refused."""
        run = read_run(self.tree, key)
        plan = self._plan(run)
        arm_row = nearest(run.arm.t_ns, plan.grid)
        controller_row = nearest(run.controller.t_ns, plan.grid)
        arrays = {
            STATE.name: state_rows(run.arm, run.gripper)[arm_row],
            ACTION.name: run.controller.axes.astype(np.float32)[controller_row],
        }
        for array in arrays.values():
            array.setflags(write=False)
        frame_plan = {camera: self.frame_plan(plan, camera) for camera in self.cameras}
        return Episode(plan, self.features, arrays, frame_plan)

    def rows(self, plan: EpisodePlan) -> Mapping[str, Float32]:
        """Feature name -> `(T, D)` float32 rows of a planned run."""
        return self.read(plan.key).arrays

    def frame_plan(self, plan: EpisodePlan, camera: str) -> FramePlan:
        """Which picture of the camera's file each row shows."""
        read = read_camera(self.tree, plan.key, camera)
        index = nearest(read.t_ns, plan.grid)
        index.setflags(write=False)
        return FramePlan(read.video, index, len(read.t_ns))

    def _plan(self, run: RawRun) -> EpisodePlan:
        stamps_ns = run.stamps_ns()
        t_lo_ns, t_hi_ns = common_window(stamps_ns.values())
        run_json = str(self.path(run.key, layout.RUN_JSON))
        faults = [
            *_mount_faults(run, run_json),
            *_overlap_faults(run, t_hi_ns - t_lo_ns),
            *_gripper_faults(run, run_json),
        ]
        if faults:
            raise Refused(faults)
        grid = grid_over(t_lo_ns, t_hi_ns, self.rate_hz)
        videos = {camera: layout.video_file(camera) for camera in self.cameras}
        sources = {camera: run.cameras[camera].timestamp_source for camera in CAMERAS}
        return EpisodePlan(
            key=run.key,
            task=run.key.campaign,
            grid=grid,
            t_hi_s=t_hi_ns / NS_PER_S,
            displacement={name: displacement(t_ns, nearest(t_ns, grid), grid) for name, t_ns in stamps_ns.items()},
            files=(
                *(layout.RUN_JSON, layout.CONTROLLER, layout.ARM_STATE),
                *(layout.stamps_file(camera) for camera in CAMERAS),
            ),
            videos=videos,
            video_bytes=sum(self.path(run.key, file).stat().st_size for file in videos.values()),
            provenance={**run.provenance, "timestamp_source": sources, "mended": run.mended},
        )


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


def _mount_faults(run: RawRun, run_json: str) -> list[Fault]:
    found = run.world_from_base
    if found is not None and np.allclose(found, WORLD_FROM_BASE, rtol=0.0, atol=MOUNT_TOLERANCE):
        return []
    text = "missing" if found is None else str(found.tolist())
    expected = f"{WORLD_FROM_BASE.tolist()} within {MOUNT_TOLERANCE}"
    return [Fault(str(run.key), "provenance.R_WORLD_FROM_BASE", text, expected, path=run_json)]


def _overlap_faults(run: RawRun, overlap_ns: int) -> list[Fault]:
    if overlap_ns >= MIN_OVERLAP_S * NS_PER_S:
        return []
    spans = ", ".join(f"{n} {t[0] / NS_PER_S:.3f}..{t[-1] / NS_PER_S:.3f}" for n, t in run.stamps_ns().items())
    found = f"{overlap_ns / NS_PER_S:.3f} s ({spans})"
    return [Fault(str(run.key), "overlap of all streams", found, f"at least {MIN_OVERLAP_S} s")]


def _gripper_faults(run: RawRun, run_json: str) -> list[Fault]:
    if run.gripper.open_position != run.gripper.closed_position:
        return []
    found = f"open and closed both {run.gripper.open_position}"
    return [Fault(str(run.key), "provenance.config.gripper", found, "two different positions", path=run_json)]
