"""Where things lie in a built dataset, beside its splits."""

PROVENANCE = "provenance.json"
NORMALIZATION = "normalization_stats.json"
SUMMARY = "summary.json"
LOG = "progress.log"
INVENTORY = "fingerprints/files.json"

# Of one episode: its clip, and what was measured in it: pictures in every build, cubes where wanted.
CLIP_PLACE = "media/{camera}/{split}/ep_{number:04d}.mp4"
PICTURES_PLACE = "measured/{camera}/{split}/ep_{number:04d}.npz"
TRACK_PLACE = "measured/{camera}/{split}/ep_{number:04d}.track.npz"
