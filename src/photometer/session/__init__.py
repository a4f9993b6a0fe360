"""Session: the only code that starts, pools, pins, limits and configures the servers of an environment."""
