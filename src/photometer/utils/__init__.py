"""The paths of torch.utils.benchmark.utils, for code that imports from there: only names, nothing is defined here.

from torch.utils.benchmark.utils.common import TaskSpec       becomes
from photometer.utils.common import TaskSpec
"""
