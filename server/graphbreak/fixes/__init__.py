"""The fixes, in one table: which kinds of break each is for, and in which order they are tried.

A fix is a module with its own page of documentation and a pure function; adding one adds a row here. Of the rows of one
family only the first that applies is offered.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace

from ..core.findings import Diagnostic, Fix, Kind
from .array_operator import array_operator
from .assert_async import assert_async
from .assert_tensor import assert_tensor
from .bind_disabled import bind_disabled
from .capture_scalars import capture_scalars
from .capture_shapes import capture_shapes
from .check_size import check_size
from .clamped_value import clamped_value
from .class_disabled import class_disabled
from .cond_branch import cond_branch
from .constant_result import constant_result
from .copied_value import copied_value
from .counted_bins import counted_bins
from .counted_selection import counted_selection
from .custom_operator import custom_operator
from .disable_helper import disable_helper
from .disable_statement import disable_statement
from .dynamic_attribute import dynamic_attribute
from .dynamic_dimension import dynamic_dimension
from .dynamic_mark import dynamic_mark
from .eager_clock import eager_clock
from .eager_scope import eager_scope
from .eager_statement import eager_statement
from .frozen_loop import frozen_loop
from .gathered_output import gathered_output
from .guard_bar import guard_bar
from .guard_output import guard_output
from .hoisted_value import hoisted_value
from .ignore import ignore
from .ignored_labels import ignored_labels
from .index_loop import index_loop
from .indexed_element import indexed_element
from .keep_mask import keep_mask
from .keep_tensor import keep_tensor
from .keep_tensors import keep_tensors
from .known_repeats import known_repeats
from .local_attribute import local_attribute
from .local_setting import OPTIONS, local_setting
from .mask_for_indices import mask_for_indices
from .masked_assignment import masked_assignment
from .masked_reduction import masked_reduction
from .masked_store import masked_store
from .model import FixContext, Fixer
from .move_out import move_out
from .named_setting import SETTINGS, named_setting
from .nonstrict_helper import nonstrict_helper
from .plain_number import plain_number
from .remove_break_call import remove_break_call
from .remove_disable import remove_disable
from .remove_ignore import remove_ignore
from .remove_output import remove_output
from .reorder_output import reorder_output
from .requires_grad_call import requires_grad_call
from .shape_numbers import shape_numbers
from .skip_helper import skip_helper
from .substitute import substitute
from .tensor_sort import tensor_sort
from .uniform_number import uniform_number
from .unwrap_number import unwrap_number
from .where_branch import where_branch
from .where_expression import where_expression
from .where_return import where_return

__all__ = ["FIXERS", "FixContext", "Row", "alternatives", "chosen", "fixes_for"]

_BROKEN = frozenset({Kind.BREAK, Kind.SKIPPED})
_RECOMPILED = frozenset({Kind.RECOMPILE})
_SELECTS = frozenset({"GB0036"})
_UNKNOWN = frozenset({"graph-break"})
"""The code of what PyTorch gives no number, such as a decision over a size that depends on data."""
_HIDEABLE = frozenset(Kind) - {Kind.NOT_ANALYSED, Kind.UNUSED_IGNORE}


@dataclass(frozen=True)
class Row:
    """One fix. `codes` empty means every code of these kinds."""

    family: str
    fixer: Fixer
    kinds: frozenset[Kind]
    codes: frozenset[str] = frozenset()

    def is_for(self, diagnostic: Diagnostic) -> bool:
        """Whether the fix can have something to say."""
        return diagnostic.kind in self.kinds and (not self.codes or diagnostic.code in self.codes)


FIXERS = (
    Row("reorder output", gathered_output, _BROKEN),
    Row("reorder output", reorder_output, _BROKEN),
    Row("guard output", guard_output, _BROKEN),
    Row("guard output", guard_bar, _BROKEN),
    Row("remove output", remove_output, _BROKEN),
    Row("copy", copied_value, _BROKEN),
    Row("hoist", hoisted_value, _BROKEN),
    Row("substitute", substitute, _BROKEN),
    Row("constant", constant_result, _BROKEN),
    Row("plain number", plain_number, _BROKEN),
    Row("random number", uniform_number, _BROKEN),
    Row("move out", move_out, _BROKEN),
    Row("requires grad", requires_grad_call, _BROKEN, frozenset({"GB0206"})),
    Row("eager only", eager_statement, _BROKEN),
    Row("eager only", eager_clock, _BROKEN),
    Row("eager scope", eager_scope, _BROKEN),
    Row("skip helper", skip_helper, _BROKEN),
    Row("number", unwrap_number, _BROKEN, frozenset({"GB0124", "GB0170", "GB0033"})),
    Row("number", shape_numbers, _BROKEN, frozenset({"GB0124", "GB0033", "GB0109"})),
    Row("branch", clamped_value, _BROKEN),
    Row("branch", where_branch, _BROKEN),
    Row("branch", where_return, _BROKEN),
    Row("branch", where_expression, _BROKEN),
    Row("branch", masked_store, _BROKEN),
    Row("branch", keep_mask, _BROKEN),
    Row("branch", frozen_loop, _BROKEN),
    Row("branch", assert_async, _BROKEN),
    Row("branch", assert_tensor, _BROKEN, frozenset({"GB0170", "GB0124", "GB0033", "GB0034", "GB0035"})),
    Row("branch", cond_branch, _BROKEN),
    Row("scalar", indexed_element, _BROKEN, frozenset({"GB0033"})),
    Row("check", check_size, _BROKEN, _UNKNOWN | {"GB0170"}),
    Row("scalar", keep_tensor, _BROKEN, frozenset({"GB0124", "GB0033"})),
    Row("scalar", keep_tensors, _BROKEN, frozenset({"GB0033", "GB0109"})),
    Row("shape", masked_reduction, _BROKEN, _SELECTS),
    Row("shape", masked_assignment, _BROKEN, _SELECTS),
    Row("shape", counted_selection, _BROKEN, _SELECTS),
    Row("shape", mask_for_indices, _BROKEN, _SELECTS),
    Row("shape", counted_bins, _BROKEN, _SELECTS),
    Row("shape", known_repeats, _BROKEN, _SELECTS),
    Row("shape", ignored_labels, _BROKEN, _SELECTS),
    Row("shape", index_loop, _BROKEN, _SELECTS | _UNKNOWN),
    Row("own setting", local_setting, _BROKEN, frozenset(OPTIONS)),
    Row("scalar setting", capture_scalars, _BROKEN, frozenset({"GB0124", "GB0033"})),
    Row("shape setting", capture_shapes, _BROKEN, _SELECTS),
    Row("named setting", named_setting, _BROKEN, frozenset(SETTINGS)),
    Row("sort", tensor_sort, _BROKEN, frozenset({"GB0207", "GB0170"})),
    Row("unasked", remove_break_call, _BROKEN | {Kind.INTENDED}),
    Row("unasked", remove_disable, _BROKEN | {Kind.INTENDED}),
    Row("dynamic mark", dynamic_mark, _RECOMPILED),
    Row("dynamic dimension", dynamic_dimension, _RECOMPILED),
    Row("local attribute", local_attribute, _RECOMPILED),
    Row("dynamic attribute", dynamic_attribute, _RECOMPILED),
    Row("nonstrict", nonstrict_helper, _BROKEN),
    Row("operator", custom_operator, _BROKEN),
    Row("operator", array_operator, _BROKEN),
    Row("disable", disable_helper, _BROKEN),
    Row("disable", class_disabled, _BROKEN),
    Row("disable", bind_disabled, _BROKEN),
    Row("disable", disable_statement, _BROKEN),
    Row("ignore", ignore, _HIDEABLE),
    Row("ignore", remove_ignore, frozenset({Kind.UNUSED_IGNORE})),
)


def fixes_for(diagnostic: Diagnostic, context: FixContext, rows: Iterable[Row] = FIXERS) -> tuple[Fix, ...]:
    """What can be offered for a diagnostic, the best first, where torch has all that the fixes need."""
    return chosen(alternatives(diagnostic, context, rows))


def alternatives(diagnostic: Diagnostic, context: FixContext, rows: Iterable[Row] = FIXERS) -> list[Fix]:
    """What each row that is for a diagnostic has to offer, in their order."""
    fixes = ((row, _tried(row.fixer, diagnostic, context)) for row in rows if row.is_for(diagnostic))
    return [replace(fix, family=row.family) for row, fix in fixes if fix is not None]


def chosen(fixes: Iterable[Fix], missing: frozenset[str] = frozenset()) -> tuple[Fix, ...]:
    """Of each family the first that needs nothing that is missing in torch."""
    found: dict[str, Fix] = {}
    for fix in fixes:
        if missing.isdisjoint(fix.needs):
            found.setdefault(fix.family, fix)
    return tuple(found.values())


def _tried(fixer: Fixer, diagnostic: Diagnostic, context: FixContext) -> Fix | None:
    try:
        return fixer(diagnostic, context)
    except Exception:
        return None
