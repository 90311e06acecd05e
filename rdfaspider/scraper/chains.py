"""The chains of downloader middlewares and of item pipelines, without a coroutine for each answer.

Scrapy makes an awaitable of whatever a middleware or a pipeline returns. Most return nothing, or what they
were given: then ours goes on. All else is Scrapy's. A chain with a part that still takes a spider goes
Scrapy's way.
"""

from __future__ import annotations

from types import CoroutineType
from typing import TYPE_CHECKING, Any, TypeVar

from scrapy.core.downloader.middleware import DownloaderMiddlewareManager
from scrapy.exceptions import _InvalidOutput
from scrapy.http import Request, Response
from scrapy.pipelines import ItemPipelineManager
from scrapy.utils.defer import ensure_awaitable
from scrapy.utils.python import global_object_name

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine


Manager = TypeVar("Manager", DownloaderMiddlewareManager, ItemPipelineManager)


def shortened(manager: Manager) -> Manager:
    """Return a manager of the same parts with a shorter way, or the given one where Scrapy's is needed."""
    ours: type[Any] | None = _OURS.get(type(manager))
    if ours is None or manager._mw_methods_requiring_spider:
        return manager
    new: Manager = object.__new__(ours)
    vars(new).update(vars(manager))
    return new


class Middlewares(DownloaderMiddlewareManager):
    """Passes a request down and its response up the middlewares."""

    async def _process_request(
        self, request: Request, download_func: Callable[[Request], Coroutine[Any, Any, Response]]
    ) -> Response | Request:
        method: Any
        for method in self.methods["process_request"]:
            answer = method(request=request)
            if answer is None:
                continue
            answer = await _awaited(answer, method)
            if answer is not None and not isinstance(answer, (Response, Request)):
                raise _InvalidOutput(
                    f"Middleware {method.__qualname__} must return None, Response or "
                    f"Request, got {answer.__class__.__name__}"
                )
            if answer:
                return answer
        return await download_func(request)

    async def _process_response(
        self, response: Response | Request, request: Request
    ) -> Response | Request:
        if not isinstance(response, Response):
            return await super()._process_response(response, request)
        method: Any
        for method in self.methods["process_response"]:
            answer = method(request=request, response=response)
            if answer is response:
                continue
            answer = await _awaited(answer, method)
            if not isinstance(answer, (Response, Request)):
                raise _InvalidOutput(
                    f"Middleware {method.__qualname__} must return Response or Request, "
                    f"got {type(answer)}"
                )
            if isinstance(answer, Request):
                return answer
            response = answer
        return response


class Pipelines(ItemPipelineManager):
    """Passes an item through the pipelines."""

    async def process_item_async(self, item: Any) -> Any:
        method: Any
        for method in self.methods["process_item"]:
            answer = method(item)
            if answer is not item:
                item = await _awaited(answer, method)
        return item


_OURS: dict[type[Any], type[Any]] = {
    DownloaderMiddlewareManager: Middlewares,
    ItemPipelineManager: Pipelines,
}


async def _awaited(answer: Any, method: Any) -> Any:
    if type(answer) is CoroutineType:
        return await answer
    return await ensure_awaitable(answer, _warn=global_object_name(method))
