"""Synthetic raw campaigns with known truth, written independently of every reader here."""
