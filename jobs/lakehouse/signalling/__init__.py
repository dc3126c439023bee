"""Sends signals to a source's connector and follows what becomes of them."""
