"""Where things lie in a built dataset, beside its splits."""

PROVENANCE = "provenance.json"
NORMALIZATION = "normalization_stats.json"
SUMMARY = "summary.json"
LOG = "progress.log"
INVENTORY = "fingerprints/files.json"

# Made from a dataset for people to look at, and no part of it: they can be made again at any time.
REPORT = "report.html"
CARD = "README.md"
VIEWS = (REPORT, CARD)
SHIFT_CURVES = "measured/shift_curves.json"

# Of one episode: its clip, and what was measured in it: pictures in every build, cubes where wanted.
CLIP_PLACE = "media/{camera}/{split}/ep_{number:04d}.mp4"
PICTURES_PLACE = "measured/{camera}/{split}/ep_{number:04d}.npz"
TRACK_PLACE = "measured/{camera}/{split}/ep_{number:04d}.track.npz"
