"""What is proven: a row lies in a live slice of the lake, and no mark says that the slice waits to be exported anew.

Both pieces follow a CTE `row_of` (kind, id, owner), all the rows that would go, each with the row it goes with.
"""

# Slices are held, so that none is exchanged between our look and our commit; one that is held is not proven now.
# A whole slice waits for its marks: the export that takes them away must find its rows.
SLICES = """
slice AS MATERIALIZED (
    SELECT s.id, s.kind, s.first_id, s.last_id
    FROM (SELECT kind, min(id) AS first_id, max(id) AS last_id FROM row_of GROUP BY kind) AS span
    JOIN lake_slice s ON s.kind = span.kind AND s.first_id <= span.last_id AND s.last_id >= span.first_id
    WHERE NOT EXISTS (SELECT FROM lake_mark m
                      WHERE m.kind = s.kind AND m.block BETWEEN s.first_id >> 14 AND s.last_id >> 14)
    ORDER BY s.id {hold}
), placed AS MATERIALIZED (
    SELECT row_of.*, slice.id AS slice_id
    FROM row_of LEFT JOIN slice ON slice.kind = row_of.kind AND row_of.id BETWEEN slice.first_id AND slice.last_id
)
"""
HOLD_SLICES = "FOR UPDATE OF s SKIP LOCKED"
# An export keeps what has left the database since; by the newest time, one that is under way sees that more has.
TOUCHED = """
touched AS (
    UPDATE lake_slice s SET pruned_at = now() WHERE s.id IN (SELECT slice_id FROM doomed)
)
"""
