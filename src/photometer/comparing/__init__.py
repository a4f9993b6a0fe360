"""Comparing: which of two statements is faster, and did the branch make it slower?

comparison = photometer.compare_environments("git:merge-base:main", "git:WORKTREE", "my_suite.py")
comparison.verdict, [(r.title, r.verdict, r.ratio, r.interval) for r in comparison]
"""

from photometer.comparing.calibrate import Calibration, calibrate_environment
from photometer.comparing.environments import compare_environments
from photometer.comparing.observer import Observer
from photometer.comparing.settings import ComparisonSettings

__all__ = ["Calibration", "ComparisonSettings", "Observer", "calibrate_environment", "compare_environments"]
