"""Where things of one episode lie in a built dataset, beside its splits."""

CLIP_PLACE = "media/{camera}/{split}/ep_{number:04d}.mp4"
PICTURES_PLACE = "measured/{camera}/{split}/ep_{number:04d}.npz"
TRACK_PLACE = "measured/{camera}/{split}/ep_{number:04d}.track.npz"
