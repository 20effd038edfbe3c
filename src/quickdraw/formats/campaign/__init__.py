"""Raw teleoperation campaigns: `<tree>/<campaign>/recording_*/{run.json,raw/,video/}`."""
