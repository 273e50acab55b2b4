"""Who has work now."""

from typing import NamedTuple

# Of the rows of `made`, which have a consumer_id each.
WHO = """
SELECT array_agg(DISTINCT k.id) FILTER (WHERE k.type = 'push') AS push,
       array_agg(DISTINCT k.id) FILTER (WHERE k.type = 'pull') AS pull,
       array_agg(DISTINCT k.id) FILTER (WHERE k.type = 'pull' AND k.callback_url <> '') AS told
FROM made JOIN consumer k ON k.id = made.consumer_id
"""


class Work(NamedTuple):
    """Consumers that we push to, those who ask us, and those of them who want to be told that there is something."""

    push: frozenset[int] = frozenset()
    pull: frozenset[int] = frozenset()
    told: frozenset[int] = frozenset()

    @classmethod
    def of(cls, *columns: list[int] | None) -> "Work":
        return cls(*(frozenset(ids or ()) for ids in columns))

    def __or__(self, other: object) -> "Work":
        if not isinstance(other, Work):
            return NotImplemented
        return Work(self.push | other.push, self.pull | other.pull, self.told | other.told)
