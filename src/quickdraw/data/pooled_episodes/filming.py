"""How the pictures of each camera of pooled episodes come about: encoded, depth without loss, or copied."""

from __future__ import annotations

from dataclasses import asdict

from quickdraw.core.depth import CONTRACT
from quickdraw.data.pooled_episodes.options import PooledOptions
from quickdraw.data.pooled_episodes.settling import Camera, Settled
from quickdraw.video.copying import Copying
from quickdraw.video.depth_encoding import DepthEncoding
from quickdraw.video.encoding import Encoding
from quickdraw.video.filming import Filming


def filmings(settled: Settled, options: PooledOptions) -> dict[str, Filming]:
    """Camera -> how it is filmed."""
    return {camera.name: _filming(camera, options) for camera in settled.cameras}


def _filming(camera: Camera, options: PooledOptions) -> Filming:
    rate_hz, video = options.target_hz, options.video
    if camera.stream is not None:
        codec, pix_fmt = camera.stream["codec"], camera.stream["pix_fmt"]
        scale = CONTRACT if camera.kind == "depth" else None
        found = {"codec": codec, "pix_fmt": pix_fmt, "gop": camera.stream["gop"]}
        return Copying(camera.height_px, camera.width_px, rate_hz, **found, scale=scale)
    if camera.kind == "depth":
        return DepthEncoding(camera.height_px, camera.width_px, rate_hz, video.gop)
    # Half as many samples of colour are stored either way: both must be even.
    height_px, width_px = options.hw or (camera.height_px // 2 * 2, camera.width_px // 2 * 2)
    named = {name: value for name, value in asdict(video).items() if name != "mode"}
    return Encoding(height_px, width_px, rate_hz, **named)
