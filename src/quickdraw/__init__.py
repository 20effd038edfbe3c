"""quickdraw: raw robot teleoperation campaigns to LeRobot v3.0 splits."""

__version__ = "0.1.0"
