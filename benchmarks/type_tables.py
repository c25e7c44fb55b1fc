"""The tables of types in full: promotion of every function of two numbers, and every place that declares a type.

python -m benchmarks.type_tables
"""

from __future__ import annotations

from tests.laws import declared_cells, promotion_cells


def main() -> None:
    promoted = promotion_cells.cells()
    wrong = [cell for cell in promoted if not cell.is_right]
    refused = sum(cell.found == promotion_cells.REFUSED for cell in promoted)
    functions = len({cell.function for cell in promoted})
    print(f"promotion: {functions} functions, {len(promoted):,} cells, {refused:,} refused, {len(wrong)} wrong")
    declared = declared_cells.cells()
    unlike = [cell for cell in declared if cell.held != cell.expected]
    refused = sum(not cell.held for cell in declared)
    places = len({cell.place for cell in declared})
    print(f"declared types: {places} places, {len(declared):,} cells, {refused:,} refused, {len(unlike)} wrong")
    for cell in (*wrong, *unlike):
        print(cell)


if __name__ == "__main__":
    main()
