"""Environments: what a user names for one side (spec), and what can be started from it (resolved, worktree)."""
