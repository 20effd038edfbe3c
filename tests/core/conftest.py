"""Hypothesis without deadlines: what a call takes on a shared core says nothing about the code."""

from __future__ import annotations

from hypothesis import HealthCheck, settings

settings.register_profile("quickdraw", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("quickdraw")
