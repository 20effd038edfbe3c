"""What must be the same in every run of a build: how pictures stand, and what an action means."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import msgspec

from quickdraw.core.episode import Trait
from quickdraw.formats.campaign import layout
from quickdraw.formats.campaign.acceptance import Acceptance, override
from quickdraw.formats.campaign.examination import Run


def traits_of(run: Run, cameras: Sequence[str], acceptance: Acceptance) -> Iterator[Trait]:
    """The run's traits, those of `cameras` among them; none of a kind whose mixture is accepted."""
    if not acceptance.allow_mixed_cameras:
        for camera in cameras:
            yield from _camera_traits(run, camera)
    if not acceptance.allow_mixed_control:
        yield from _control_traits(run)


def _camera_traits(run: Run, camera: str) -> Iterator[Trait]:
    """Size and turn of the pictures; a turn that an older collector did not record differs from none."""
    option, filmed = override("allow_mixed_cameras=true"), run.cameras[camera]
    size = f"{filmed.film.width_px}x{filmed.film.height_px}"
    yield Trait(f"{camera} picture size", size, layout.video_file(camera), option)
    if filmed.times.flipped_vertical is not None:
        turned = str(filmed.times.flipped_vertical).lower()
        yield Trait(f"{camera} flipped_vertical", turned, layout.stamps_file(camera), option)


def _control_traits(run: Run) -> Iterator[Trait]:
    config = run.info.document.provenance.config
    settings = {
        **{f"control.{name}": str(value) for name, value in msgspec.structs.asdict(config.control).items()},
        **{f"controller.invert.{name}": str(value).lower()
           for name, value in msgspec.structs.asdict(config.controller.invert).items()},
    }  # fmt: skip
    for name, value in settings.items():
        yield Trait(name, value, layout.RUN_JSON, override("allow_mixed_control=true"))
