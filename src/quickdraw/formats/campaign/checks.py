"""What the collector itself says against a run: in run.json, and beside each camera's pictures."""

from __future__ import annotations

from collections.abc import Iterator

from quickdraw.errors import Fault
from quickdraw.formats.campaign.acceptance import Acceptance, override
from quickdraw.formats.campaign.reader import RunInfo
from quickdraw.formats.campaign.records import Check, FrameTimes, Validation

READY = "ready"
GREEN = "pass"
KERNEL_STAMPS = "v4l2_buffer"
SIMULATED = "simulated"


def metadata_faults(where: str, info: RunInfo, acceptance: Acceptance) -> Iterator[Fault]:
    """What run.json says: that the run is not finished, or did not pass the collector's own checks."""
    document = info.document
    if document.status != READY:
        found = "missing" if document.status is None else repr(document.status)
        yield Fault(where, "status", found, repr(READY), path=info.path)
    if acceptance.require_green and (found := _not_green(document.validation or Validation())):
        yield Fault(where, "validation", found, "every check green", path=info.path,
                    option=override("require_green=false"))  # fmt: skip
    for camera in document.cameras or []:
        if camera.error or camera.stopped_early:
            found = repr(camera.error) if camera.error else "stopped_early true"
            yield Fault(where, f"cameras[{camera.label}]", found, "a camera that ran to the end", path=info.path)


def metadata_warnings(info: RunInfo) -> Iterator[str]:
    """What run.json gives reason to look at."""
    if info.document.stopped_by is None:
        yield "run.json does not say what stopped the run (stopped_by): the collector may have crashed in it"


def _not_green(validation: Validation) -> str:
    """What the checks lack, or nothing. The verdict is derived where an older collector did not write it."""
    checks = validation.checks or []
    bad = [check for check in checks if check.level != GREEN]
    if bad:
        return f"{len(bad)} of {len(checks)} checks not green: {'; '.join(map(_said, bad))}"
    if validation.all_green is False:
        return "all_green false"
    return "" if checks or validation.all_green else "missing (no checks)"


def _said(check: Check) -> str:
    detail = f", {check.detail}" if check.detail else ""
    return f"{check.check or 'a check'} ({check.level}{detail})"


def camera_faults(where: str, path: str, times: FrameTimes, acceptance: Acceptance) -> Iterator[Fault]:
    """What the file beside a camera's pictures says against them."""
    if times.error:
        yield Fault(where, "error", repr(times.error), "no camera error", path=path)
    if times.stopped_early:
        at = "" if times.stopped_at_s is None else f" at {times.stopped_at_s:.3f} s"
        yield Fault(where, "stopped_early", f"true{at}", "a camera that ran to the end", path=path)
    if times.frames_in_mp4 not in (None, len(times.t)):
        found = f"{times.frames_in_mp4}{' (undecodable)' if times.frames_in_mp4 == -1 else ''}"
        yield Fault(where, "frames_in_mp4", found, f"{len(times.t)}, one per stamp", path=path)
    if times.timestamp_source not in (None, KERNEL_STAMPS) and not acceptance.allow_post_read:
        found, expected = repr(times.timestamp_source), f"{KERNEL_STAMPS!r} (others are about 21 ms late)"
        yield Fault(where, "timestamp_source", found, expected, path=path, option=override("allow_post_read=true"))
    if times.device == SIMULATED and not acceptance.allow_simulated:
        yield Fault(where, "device", repr(SIMULATED), "a camera", path=path, option=override("allow_simulated=true"))


def camera_warnings(camera: str, times: FrameTimes) -> Iterator[str]:
    """What the file beside a camera's pictures gives reason to look at."""
    if times.label not in (None, camera):
        yield f"{camera}: its stamps are labelled {times.label!r}: were files exchanged?"
    if times.actual is not None and times.actual.buffersize_set is False:
        yield f"{camera}: buffersize_set false: its pictures may be up to 4 periods older than their stamps"
