"""LeRobot v3.0: schema, writer and a reader that needs no torch."""
