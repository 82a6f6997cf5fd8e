"""What both studies of images share: a model of the zoo that writes them, and the search for a setting."""

from __future__ import annotations

from abc import abstractmethod

from infogain.studies.abstract_study import Study
from infogain.studies.cell import CellResult, Point
from infogain.studies.image_methods import MODEL
from infogain.studies.image_search import ImageSearch
from infogain.studies.subject import Subject


class ImageStudy(Study):
    """A study of images of classes, which only models of the zoo write."""

    model = MODEL

    def suits(self, subject: Subject) -> bool:
        return subject.writes_images

    @abstractmethod
    def search(self, size: str) -> ImageSearch | None:
        """The search for a setting of look-ahead; none in small sizes."""

    def follow(self, size: str, rows: list[CellResult]) -> list[Point]:
        search = self.search(size)
        return search.follow(rows) if search else []
