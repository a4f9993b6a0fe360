"""What will run: the variants of a suite as work orders, each complete in itself. All text; torch is not imported."""

from photometer.plan.auto_labels import AutogradMode, AutoLabels, RuntimeMode
from photometer.plan.expand import materialize
from photometer.plan.selection import select
from photometer.plan.work_order import ScriptingJob, TreeNode, WorkOrder, WorkOrders, order_tree

__all__ = [
    "AutoLabels",
    "AutogradMode",
    "RuntimeMode",
    "ScriptingJob",
    "TreeNode",
    "WorkOrder",
    "WorkOrders",
    "materialize",
    "order_tree",
    "select",
]
