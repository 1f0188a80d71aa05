"""Backups, point-in-time recovery and restores.

Each restore is a job that copies rows into a new table, a short transaction at a time: from a
backup (`restore_job`) or from another table with its later changes undone (`rewind_job`).
"""
