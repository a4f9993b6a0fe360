"""Comparing two environments over a suite: did the branch make it slower? The door is `compare_environments`.

comparison = photometer.compare_environments("git:merge-base:main", "git:WORKTREE", "my_suite.py")
comparison.verdict, [(r.title, r.verdict, r.ratio, r.interval) for r in comparison]
"""

from photometer.environments.calibrate import Calibration, calibrate_environment
from photometer.environments.compare import compare_environments
from photometer.environments.observer import Observer
from photometer.environments.settings import ComparisonSettings

__all__ = ["Calibration", "ComparisonSettings", "Observer", "calibrate_environment", "compare_environments"]
