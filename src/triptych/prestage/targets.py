"""Assignments: names stay Python's own; items and attributes go through hooks, which may refuse the mutation."""

from __future__ import annotations

import ast

from triptych.prestage import build
from triptych.prestage.build import descendants
from triptych.prestage.expressions import OPERATOR_SYMBOLS, ExpressionRewriter
from triptych.prestage.frame import Frame
from triptych.prestage.scopes import stores

Assignment = ast.Assign | ast.AugAssign | ast.AnnAssign | ast.Delete


class TargetRewriter:
    """Rewrites assignments and deletions of one function."""

    def __init__(self, frame: Frame, expressions: ExpressionRewriter) -> None:
        self.frame = frame
        self.expressions = expressions

    def statement(self, node: Assignment) -> list[ast.stmt]:
        match node:
            case ast.Assign():
                new = self._assign(node)
            case ast.AugAssign():
                new = self._augment(node)
            case ast.AnnAssign():
                new = self._annotated(node)
            case ast.Delete():
                new = [s for target in node.targets for s in self._delete(target)]
        return [build.at(s, node) for s in new]

    def store(self, target: ast.expr, value: ast.expr) -> list[ast.stmt]:
        """Statements that assign the already evaluated `value` (a temporary's name) to `target`."""
        if isinstance(target, ast.Name):
            return [build.at(ast.Assign([target], value), target)]
        if _plain(target) and not isinstance(target, ast.Starred):
            return [build.at(ast.Assign([target], self.expressions.iterated(build.at(value, target))), target)]
        match target:
            case ast.Subscript():
                container = self.expressions.rewrite(target.value)
                call = build.call_hook("setitem", container, self.expressions.key(target.slice), value)
                return [build.at(ast.Expr(call), target)]
            case ast.Attribute():
                owner = self.expressions.rewrite(target.value)
                return [build.at(self._set_attribute(owner, target.attr, value), target)]
            case ast.Starred():
                return self.store(target.value, value)
            case ast.Tuple() | ast.List():
                return self._unpack(target, value)
            case _:
                raise AssertionError(f"not an assignment target: {ast.dump(target)}")

    def _set_attribute(self, owner: ast.expr, attribute: str, value: ast.expr) -> ast.stmt:
        if isinstance(owner, ast.Name):
            self.frame.attributes.append((owner.id, attribute))
        return ast.Expr(build.call_hook("setattr", owner, build.constant(attribute), value))

    def _unpack(self, target: ast.Tuple | ast.List, value: ast.expr) -> list[ast.stmt]:
        """Unpack into temporaries first, as Python evaluates the right side wholly before any store."""
        temporaries: list[ast.expr] = []
        stores: list[ast.stmt] = []
        for item in target.elts:
            temporary = self._temporary()
            part: ast.expr = build.target(temporary)
            temporaries.append(ast.Starred(part, ast.Store()) if isinstance(item, ast.Starred) else part)
            stores += self.store(item, build.name(temporary))
        unpacked = self.expressions.iterated(build.at(value, target))
        return [build.at(ast.Assign([ast.Tuple(temporaries, ast.Store())], unpacked), target), *stores]

    def _assign(self, node: ast.Assign) -> list[ast.stmt]:
        value = self.expressions.rewrite(node.value)
        if all(_plain(target) for target in node.targets):
            if len(node.targets) == 1 and not isinstance(node.targets[0], ast.Name):
                value = self.expressions.iterated(value)
            return [ast.Assign(node.targets, value)]
        temporary = self._temporary()
        stores = [s for target in node.targets for s in self.store(target, build.name(temporary))]
        return [build.assign(temporary, value), *stores]

    def _augment(self, node: ast.AugAssign) -> list[ast.stmt]:
        symbol = build.constant(OPERATOR_SYMBOLS[type(node.op)])
        match node.target:
            case ast.Name(id=name):
                read = ast.copy_location(build.name(name), node.target)
                if node.target in self.expressions.frame.flow.unsure:
                    self.frame.flow.unsure.add(read)
                value = build.call_hook("augment", symbol, self.expressions.rewrite(read), self._value(node))
                return [build.assign(name, value)]
            case ast.Subscript() as item:
                owner, key = self._temporary(), self._temporary()
                read_item = build.at(build.call_hook("getitem", build.name(owner), build.name(key)), item)
                value = build.call_hook("augment", symbol, read_item, self._value(node))
                return [
                    build.assign(owner, self.expressions.rewrite(item.value)),
                    build.assign(key, self.expressions.key(item.slice)),
                    ast.Expr(build.call_hook("setitem", build.name(owner), build.name(key), value)),
                ]
            case ast.Attribute() as attribute:
                owner_value = self.expressions.rewrite(attribute.value)
                if isinstance(owner_value, ast.Name) and owner_value.id not in stores([node.value]):
                    first, owner = [], owner_value.id
                else:
                    owner = self._temporary()
                    first = [build.assign(owner, owner_value)]
                read_attribute = build.at(
                    build.call_hook("attribute", build.name(owner), build.constant(attribute.attr)), attribute
                )
                value = build.call_hook("augment", symbol, read_attribute, self._value(node))
                return [*first, self._set_attribute(build.name(owner), attribute.attr, value)]

    def _value(self, node: ast.AugAssign) -> ast.expr:
        return self.expressions.rewrite(node.value)

    def _annotated(self, node: ast.AnnAssign) -> list[ast.stmt]:
        """`x: T = value`: the annotation is offered to the language (Constexpr, Int64 …), which may convert."""
        if node.value is None:
            return []
        value = self.expressions.rewrite(node.value)
        if isinstance(node.target, ast.Name) and not isinstance(node.annotation, ast.Constant):
            value = build.call_hook("annotate", value, build.thunk(node.annotation), build.constant(node.target.id))
            return [ast.Assign([node.target], value)]
        temporary = self._temporary()
        return [build.assign(temporary, value), *self.store(node.target, build.name(temporary))]

    def _delete(self, target: ast.expr) -> list[ast.stmt]:
        match target:
            case ast.Name(id=name):
                read = ast.copy_location(build.name(name), target)
                check = build.call_hook("load", read, build.constant(name))
                return [ast.Expr(check), build.assign(name, build.hook("UNDEFINED"))]
            case ast.Subscript():
                container = self.expressions.rewrite(target.value)
                return [ast.Expr(build.call_hook("delitem", container, self.expressions.key(target.slice)))]
            case ast.Attribute():
                owner = self.expressions.rewrite(target.value)
                return [ast.Expr(build.call_hook("delattr", owner, build.constant(target.attr)))]
            case ast.Tuple() | ast.List():
                return [s for item in target.elts for s in self._delete(item)]
            case _:
                raise AssertionError(f"not a deletion target: {ast.dump(target)}")

    def _temporary(self) -> str:
        return f"_tt_temporary_{self.frame.fresh_number()}"


def _plain(target: ast.expr) -> bool:
    """Whether assigning `target` only binds names."""
    return all(isinstance(node, ast.Name | ast.Tuple | ast.List | ast.Starred) for node in descendants([target]))
