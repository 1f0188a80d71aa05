"""Replicas, global tables and auto scaling: stored and described, never carried out."""
