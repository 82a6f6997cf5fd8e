"""A queue in which clients take turns, so that one who asks for much does not keep others waiting."""

from __future__ import annotations

from collections import OrderedDict, deque
from collections.abc import Callable, Iterable
from typing import Generic, TypeVar

Item = TypeVar("Item")


class FairQueue(Generic[Item]):
    """What waits, of each client in the order it came."""

    def __init__(self) -> None:
        self._clients: OrderedDict[str, deque[Item]] = OrderedDict()

    def __len__(self) -> int:
        return sum(map(len, self._clients.values()))

    def put(self, client: str, items: Iterable[Item]) -> None:
        self._clients.setdefault(client, deque()).extend(items)

    def take(self) -> Item:
        """The next item of the client whose turn it is."""
        client, items = next(iter(self._clients.items()))
        item = items.popleft()
        if items:
            self._clients.move_to_end(client)
        else:
            del self._clients[client]
        return item

    def drop(self, unwanted: Callable[[Item], bool]) -> None:
        """Forget items that nobody waits for any more."""
        for client, items in list(self._clients.items()):
            left = deque(item for item in items if not unwanted(item))
            if left:
                self._clients[client] = left
            else:
                del self._clients[client]
