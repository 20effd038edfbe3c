"""run.json and the cameras' sidecars: keys, order and constants of the collector's newest writer."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any, Final

import numpy as np

from quickdraw.sim import cameras
from quickdraw.sim.arm import HOME_JOINTS_DEG, R_WORLD_FROM_BASE, Floats, matrix_hash
from quickdraw.sim.control import (
    DEADZONE,
    EXPO,
    REANCHOR_AFTER_S,
    REANCHOR_MM,
    SERVO_SPEED_MM_S,
    TRANSLATION_RATE_MM_S,
    WORKSPACE_BOX_MM,
    YAW_RATE_DEG_S,
)
from quickdraw.sim.rollout import Rollout
from quickdraw.sim.spec import CameraSpec, RunSpec

type Json = dict[str, Any]

CLOCK_ORIGIN: Final = "t_loop0 -- ALL streams, cameras included, share this origin"
_READ_LAG_S: Final = 0.0212
# Wall time the collector spends after B, counting the pictures of each film; part of its `duration_s`.
_CLOSING_S: Final = 1.9
_HELD_FIELDS: Final = (
    "error_code",
    "gripper_pos",
    "gripper_pos_age_s",
    "gripper_pos_t",
    "joints_deg",
    "joints_real_deg",
    "mode",
    "pose_base_mm_deg",
    "pose_world_xyz_mm",
    "state",
    "warn_code",
)


def iso(unix_s: float) -> str:
    """Local time to the second, without zone, as the collector writes it. The rig's clock is set to UTC."""
    return datetime.fromtimestamp(unix_s, UTC).strftime("%Y-%m-%dT%H:%M:%S")


def frame_times(spec: RunSpec, camera: CameraSpec, stamps: Floats, *, frames_in_mp4: int) -> Json:
    """`<label>_frame_times.json` of one camera."""
    row: Json = {
        "label": camera.label,
        "device": "simulated" if spec.simulated_devices or spec.simulated_marks else camera.device,
        "frames": len(stamps),
        "measured_fps": round(_rate_hz(stamps), 3),
        "error": "",
    }
    size: Json = {"width": spec.width_px, "height": spec.height_px, "fps": 30.0}
    if not spec.simulated_marks:
        row |= {
            "stopped_early": False,
            "stopped_at_s": -1.0,
            "timestamp_source": "v4l2_buffer",
            "read_lag_s": _READ_LAG_S,
            "flipped_vertical": camera.flipped_vertical,
        }
        size |= {"buffersize_set": True, "buffersize": 1, "fourcc": "MJPG"}
    return {**row, "actual": size, "frames_in_mp4": frames_in_mp4, "t": stamps.tolist()}


def _rate_hz(stamps: Floats) -> float:
    return float((len(stamps) - 1) / (stamps[-1] - stamps[0])) if len(stamps) > 1 else 0.0


def started(spec: RunSpec, status: str) -> Json:
    """The three keys that stand in run.json from the A button on."""
    return {"status": status, "started_unix": spec.started_unix, "started_iso": iso(spec.started_unix)}


def run_json(spec: RunSpec, rollout: Rollout, *, rows: dict[str, int], stamps: dict[str, Floats]) -> Json:
    """The finished run.json of a run that passed every check."""
    wall_start = spec.started_unix + 0.01
    duration_s = float(rollout.t_s[-1] - rollout.t_s[0]) + _CLOSING_S
    checks = validation_checks(spec, rollout, stamps)
    return {
        **started(spec, "ready"),
        "t0_monotonic": spec.t0_monotonic_s,
        "wall_start_unix": wall_start,
        "wall_end_unix": wall_start + duration_s,
        "duration_s": duration_s,
        "stopped_by": "b_button",
        "clock_origin": CLOCK_ORIGIN,
        "stream_rows": rows,
        "cameras": [_camera_entry(spec, camera, stamps[camera.label]) for camera in spec.cameras],
        "provenance": _provenance(spec),
        "validation": {
            "ok": True,
            "checks": checks,
            "n_pass": len(checks),
            "n_total": len(checks),
            "n_warn": 0,
            "n_fail": 0,
            "all_green": True,
        },
        "checks_ok": True,
        "checks_reasons": [],
        "checks_pass": len(checks),
        "checks_total": len(checks),
        "checks_green": True,
    }


def _camera_entry(spec: RunSpec, camera: CameraSpec, stamps: Floats) -> Json:
    entry: Json = {"label": camera.label, "frames": len(stamps)}
    if spec.simulated_marks:
        return {**entry, "fps": round(_rate_hz(stamps), 1), "error": ""}
    return {
        **entry,
        "seen": cameras.captured(camera, stamps),
        "fps": round(_rate_hz(stamps), 1),
        "error": "",
        "timestamp_source": "v4l2_buffer",
        "read_lag_s": _READ_LAG_S,
        "flipped_vertical": camera.flipped_vertical,
        "stopped_early": False,
        "stopped_at_s": -1.0,
    }


def validation_checks(spec: RunSpec, rollout: Rollout, stamps: dict[str, Floats]) -> list[Json]:
    """Every check of the newest collector, in its order, all passed; what is cheap to measure is measured."""
    span_s = float(rollout.t_s[-1] - rollout.t_s[1])
    firsts = [float(rollout.t_s[0]), *(float(times[0]) for times in stamps.values())]
    states = int(rollout.is_state_tick.sum())
    checks: list[tuple[str, Json]] = [
        ("clock origin", {"spread_s": max(firsts) - min(firsts)}),
        ("state freshness", {"held_fraction": _held(rollout)}),
        *((f"held fraction [{field}]", {}) for field in _HELD_FIELDS),
        ("joints: planned vs measured", {}),
        ("action staleness (moving)", {}),
        ("arm report stream alive", {}),
        ("timestamp fields share one clock", {}),
        ("controller rate", {"hz": (len(rollout.t_s) - 2) / span_s}),
        ("arm_state rate", {"hz": states / span_s}),
        ("loop timing", {"overrun_frac": float(np.mean(np.diff(rollout.t_s) > 1 / 30))}),
        ("commanded->measured lag", {"best_lag_ms": round(spec.servo_lag_s * 50) * 20}),
    ]
    for label in sorted(stamps):
        checks += [(f"frames reconcile [{label}]", {}), (f"camera ran to completion [{label}]", {"detail": ""})]
    checks += [
        ("all cameras present", {}),
        ("camera vs arm-state alignment", {}),
        ("workspace clamping", {"clamped_frac": float(rollout.clamped.mean())}),
    ]
    return [{"check": name, "level": "pass", "detail": "ok", **extras} for name, extras in checks]


def _held(rollout: Rollout) -> float:
    plan = np.column_stack([rollout.plan.world_xyz_mm, rollout.plan.yaw_deg])[rollout.is_state_tick]
    return float(np.mean(np.all(np.diff(plan, axis=0) == 0, axis=1)))


def _provenance(spec: RunSpec) -> Json:
    code = matrix_hash(R_WORLD_FROM_BASE)
    return {
        "git_sha": "b3f19c2",
        "git_dirty": False,
        "matrix_hash": code,
        "R_WORLD_FROM_BASE": R_WORLD_FROM_BASE.tolist(),
        "frame_verification": frame_verification(spec.started_unix - 3600.0),
        "config": _config(spec),
        "measurements": measurements(spec.started_unix - 2600.0),
        "tcp_offset": [0.0] * 6,
        "tcp_load": [0.82, [0.0, 0.0, 48.0]],
        "version": "v2.6.0",
    }


def frame_verification(when_unix: float) -> Json:
    """The jog test behind the world frame: 20 mm along each axis went where it should."""
    axes = {"+X_forward": 0, "+Y_left": 1, "+Z_up": 2}
    result: Json = {
        name: {
            "commanded_world_mm": [20.0 * (axis == index) for index in range(3)],
            "measured_world_mm": [round(19.97 * (axis == index), 2) for index in range(3)],
            "dominant_axis": "XYZ"[axis],
            "correct": True,
        }
        for name, axis in axes.items()
    }
    return {
        "matrix_hash": matrix_hash(R_WORLD_FROM_BASE),
        "when_unix": when_unix,
        "result": result | {"all_correct": True},
    }


def measurements(when_unix: float) -> Json:
    """One-off measurements of the rig."""
    return {"camera_latency_s": {"value": {"seconds": 0.021}, "when_unix": when_unix}}


def _config(spec: RunSpec) -> Json:
    """The collect.yaml the run was made with."""
    return {
        "arm": _ARM | {"speed_mm_s": SERVO_SPEED_MM_S},
        "gripper": dict(_GRIPPER),
        "control": {
            "rate_hz": 100.0,
            "translation_rate_mm_s": TRANSLATION_RATE_MM_S,
            "yaw_rate_deg_s": YAW_RATE_DEG_S,
            "deadzone": DEADZONE,
            "expo": EXPO,
            "reanchor_mm": REANCHOR_MM,
            "reanchor_after_s": REANCHOR_AFTER_S,
            "workspace_box_mm": {
                axis: [int(low), int(high)] for axis, (low, high) in zip("xyz", WORKSPACE_BOX_MM, strict=True)
            },
        },
        "controller": dict(_CONTROLLER),
        "cameras": {
            "name_filter": "Innomaker",
            "fps": 30.0,
            "width": spec.width_px,
            "height": spec.height_px,
            "fourcc": "MJPG",
            "warmup_frames": cameras.WARMUP_FRAMES,
            "open_stagger_sec": cameras.STAGGER_S,
            "mp4_quality": 8,
            "by_usb_path": {camera.usb_port: camera.label for camera in spec.cameras},
            "expected_labels": [camera.label for camera in spec.cameras],
            "flip_vertical": [camera.usb_port for camera in spec.cameras if camera.flipped_vertical],
        },
        "recording": dict(_RECORDING),
        "dashboard": {"refresh_hz": 15.0, "port": 8770, "preview_fps": 25.0},
    }


_ARM: Final[Json] = {
    "ip": "192.168.1.199",
    "nic": "enp129s0",
    "host_ip_cidr": "192.168.1.100/24",
    "collision_sensitivity": 0,
    "home_joints": list(HOME_JOINTS_DEG),
    "home_speed_deg_s": 60.0,
    "home_acc_deg_s2": 500.0,
    "speed_mm_s": 200.0,
    "acc_mm_s2": 2000.0,
    "rehome_countdown_s": 1,
    "home_intent": {
        "below_ceiling_mm": 50.0,
        "approach_below_horizontal_deg": 45.0,
        "approach_azimuth_deg": 90.0,
    },
    "left_park": {
        "ip": "192.168.1.219",
        "joints_deg": [-4, -37, 3, 49, 7, 16, 40],
        "speed_deg_s": 20.0,
        "acc_deg_s2": 150.0,
    },
}
_GRIPPER: Final[Json] = {
    "open_position": 850,
    "closed_position": 0,
    "speed": 2000,
    "min_command_delta": 15,
    "poll_hz": 20.0,
}
_CONTROLLER: Final[Json] = {
    "name_match": "x-box",
    "buttons": {
        "start_episode": "BTN_SOUTH",
        "stop_episode": "BTN_EAST",
        "rehome": "BTN_WEST",
        "quit": "BTN_START",
        "clear_errors": "BTN_NORTH",
    },
    "axes": {"move_x": "ABS_Y", "move_y": "ABS_X", "height": "ABS_RY", "yaw": "ABS_RX", "gripper": "ABS_RZ"},
    "invert": {"move_x": True, "move_y": True, "height": True, "yaw": True},
}
_RECORDING: Final[Json] = {
    "export_rate_hz": 30.0,
    "campaigns_dir": "campaigns",
    "min_coverage": 0.9,
    "coverage_allowance_s": 2.5,
    "camera_align_warn_ms": 120.0,
    "loop_overrun_warn_frac": 0.01,
}
