"""JSON-RPC as LSP has it, over pygls: dispatch, answers, errors, requests to the client.

pygls keeps the registry of handlers, `initialize` and the workspace; how messages are read, judged
and answered is here, as pygls leaves several kinds of bad message without an answer.

Private parts of pygls that are used or replaced, hence its pin to >=2.1.1,<2.2:
`_converter`, `_shutdown`, `_ctx_msg_id`, `_request_futures` (here of the client's requests alone),
`_get_handler`, `_execute_handler`, `_run_generator`, `_serialize_message`.
"""

import asyncio
import contextvars
import logging
import uuid
from collections.abc import Awaitable, Callable, Generator
from concurrent.futures import Future
from functools import partial
from typing import Any, Literal, Protocol, cast

from lsprotocol import types
from pydantic import BaseModel
from pygls.exceptions import (
    JsonRpcException,
    JsonRpcInvalidRequest,
    JsonRpcRequestCancelled,
    JsonRpcServerNotInitialized,
)
from pygls.lsp.server import LanguageServer
from pygls.protocol import LanguageServerProtocol, lsp_method

from agentls.lsp.client_requests import ClientRequests, not_understood
from agentls.lsp.error_codes import is_bug, response_error
from agentls.lsp.framing import Frame
from agentls.lsp.messages import (
    IncomingNotification,
    IncomingRequest,
    IncomingResponse,
    MalformedMessage,
    MessageId,
    read_message,
    write_message,
)
from agentls.lsp.structure import params_type, to_json, to_lsp, to_model, to_plain
from agentls.lsp.wire import Writer
from agentls.protocol.methods import Notification, P, R, Request

_HANG_UP_SECONDS = 2.0

log = logging.getLogger(__name__)


class Line(Protocol):
    """What the protocol needs of the connection it speaks over."""

    @property
    def writer(self) -> Writer:
        """What carries messages to the client."""
        ...

    def client_exits(self) -> None:
        """Take note that the client said `exit`."""
        ...

    def client_initialized(self, process_id: int | None) -> None:
        """Take note that `initialize` was answered, and in which process the client runs."""
        ...


class AgentProtocol(LanguageServerProtocol):
    """pygls' protocol, in which every request gets its answer and no message harms the server."""

    def __init__(self, server: LanguageServer, converter: Any) -> None:
        self._models: dict[str, type[BaseModel]] = {}
        self._asked = ClientRequests(converter)
        self._line: Line | None = None
        self._phase: Literal["new", "running", "shutdown"] = "new"
        super().__init__(server, converter)

    @property
    def was_shut_down(self) -> bool:
        """Whether the client sent `shutdown`."""
        return self._phase == "shutdown"

    def line(self) -> Line:
        """Return the connection. Raises RuntimeError where there is none yet."""
        # Not a property: pygls reads every attribute while it is being made.
        if self._line is None:
            raise RuntimeError("the server is not connected")
        return self._line

    def connect(self, line: Line) -> None:
        """Speak over `line` from now on."""
        self._line = line

    def expect(self, method: str, params: type[BaseModel]) -> None:
        """Give handlers of `method` its params as this model."""
        self._models[method] = params

    def receive(self, frame: Frame) -> None:
        """Deal with one frame from the client. Async handlers begin in the loop's next round."""
        try:
            message = read_message(frame)
        except MalformedMessage as problem:
            log.warning("A malformed message came: %s", problem.text)
            self._refuse(problem.id, types.ResponseError(problem.code, problem.text))
            return
        # Each handler has a context of its own, in which `msg_id` is its request's.
        context = contextvars.copy_context()
        match message:
            case IncomingRequest():
                context.run(self._take_request, message)
            case IncomingNotification():
                context.run(self._take_notification, message)
            case IncomingResponse():
                self._asked.settle(message)

    def notify(self, method: str, params: Any = None) -> None:
        """Send a notification. One that cannot be written is logged and left out."""
        try:
            self._send(_message(method, params))
        except Exception:
            log.exception("The notification %s cannot be written", method)

    async def ask(self, method: str, params: Any = None, *, within: float | None = None) -> Any:
        """Send the client a request and return its result: plain JSON, or LSP's type for it.

        A request that is cancelled, or not answered `within` seconds, is cancelled at the client
        too, and a late answer ignored. Raises TimeoutError, JsonRpcException where the client
        answers with an error or nonsense, ConnectionError where it goes.
        """
        id_, answer = self._asked.add(method)
        try:
            self._send(_message(method, params, id=id_))
            async with asyncio.timeout(within):
                return await asyncio.wrap_future(answer)
        except (TimeoutError, asyncio.CancelledError):
            if self._asked.forget(id_):
                self.notify(types.CANCEL_REQUEST, types.CancelParams(id_))
            raise

    def send_request(
        self,
        method: str,
        params: Any = None,
        callback: Callable[[Any], None] | None = None,
        msg_id: MessageId | None = None,
    ) -> Future[Any]:
        """Send the client a request, for pygls' own methods; `ask` cleans up after itself."""
        id_, answer = self._asked.add(method, msg_id)
        if callback is not None:
            answer.add_done_callback(partial(_call_with_result, callback))
        self._send(_message(method, params, id=id_))
        return answer

    def send_request_async(
        self, method: str, params: Any = None, msg_id: MessageId | None = None
    ) -> asyncio.Future[Any]:
        """Send the client a request, for pygls' own methods: `ask` without a limit."""
        return asyncio.ensure_future(self.ask(method, params))

    async def hang_up(self) -> None:
        """Cancel what the client asked for and fail what it was asked.

        Handlers have a bounded time to come to their end.
        """
        self._asked.close()
        tasks = [
            future for future in self._request_futures.values() if isinstance(future, asyncio.Task)
        ]
        self._cancel_requests()
        if tasks:
            await asyncio.wait(tasks, timeout=_HANG_UP_SECONDS)

    @lsp_method(types.SHUTDOWN)
    def lsp_shutdown(self, *args: Any) -> Generator[Any, Any, None]:
        """Call the handler of `shutdown`, then cancel every other request."""
        # pygls leaves this untyped.
        features = cast(Any, self.fm).features
        handler = features.get(types.SHUTDOWN)
        if handler is not None:
            yield handler, args, None
        self._cancel_requests(but=self.msg_id)
        self._shutdown = True

    def _take_request(self, request: IncomingRequest) -> None:
        try:
            self._check_moment(request)
            handler = self._get_handler(request.method)
            params = self._structure(request.method, request.params)
        except Exception as error:
            self._answer_error(request.id, error)
            return
        finish: Callable[..., None] = self._finish_request
        if request.method == types.INITIALIZE:
            self._phase = "running"
            finish = partial(self._finish_initialize, process_id=params.process_id)
        elif request.method == types.SHUTDOWN:
            self._phase = "shutdown"
        self._ctx_msg_id.set(request.id)
        self._execute_handler(
            request.id, handler, callback=partial(finish, msg_id=request.id), args=(params,)
        )

    def _check_moment(self, request: IncomingRequest) -> None:
        if request.id in self._request_futures:
            raise JsonRpcInvalidRequest(
                f"The id {request.id!r} belongs to a request that is not answered yet."
            )
        if self._phase == "shutdown":
            raise JsonRpcInvalidRequest("The server was shut down; it takes `exit` and no more.")
        if self._phase == "new" and request.method != types.INITIALIZE:
            raise JsonRpcServerNotInitialized("The first request must be `initialize`.")
        if self._phase == "running" and request.method == types.INITIALIZE:
            raise JsonRpcInvalidRequest("`initialize` is sent once.")

    def _take_notification(self, notification: IncomingNotification) -> None:
        method = notification.method
        if method == types.EXIT and self._line is not None:
            self._line.client_exits()
            return
        if self._phase != "running":
            log.info("Dropped %s: the client is not initialized, or has shut down", method)
            return
        try:
            params = self._structure(method, notification.params)
            if method == types.CANCEL_REQUEST:
                self._cancel_request(params.id)
                return
            handler = self._get_handler(method)
        except JsonRpcException as error:
            log.warning("The notification %s is ignored: %s", method, error.message)
            return
        self._execute_handler(
            str(uuid.uuid4()),
            handler,
            callback=partial(self._finish_notification, method=method),
            args=(params,),
        )

    def _structure(self, method: str, raw: Any) -> Any:
        if (model := self._models.get(method)) is not None:
            return to_model(model, raw)
        if (expected := params_type(method)) is not None:
            return to_lsp(self._converter, expected, raw)
        return raw

    def _cancel_request(self, id_: MessageId) -> None:
        future = self._request_futures.get(id_)
        if future is None:
            log.info("Nothing to cancel: no open request %r", id_)
            return
        future.cancel()

    def _cancel_requests(self, but: MessageId | None = None) -> None:
        # A copy, as cancelling takes entries out.
        for id_, future in list(self._request_futures.items()):
            if id_ != but:
                future.cancel()

    def _execute_handler(
        self,
        msg_id: MessageId,
        handler: Callable[..., Any],
        callback: Callable[[Future[Any]], None],
        args: tuple[Any, ...] | None = None,
        kwargs: dict[str, Any] | None = None,
    ) -> None:
        """Run a handler, forget it when it is done, and cancel it with the one it runs for.

        pygls keeps every finished notification, and does not pass a cancellation on to what a
        generator waits for.
        """
        outer = self._request_futures.get(self.msg_id) if self.msg_id is not None else None
        super()._execute_handler(msg_id, handler, callback, args, kwargs)
        future = self._request_futures.get(msg_id)
        if future is None:
            return
        future.add_done_callback(lambda done: self._forget(msg_id, done))
        if outer is not None and outer is not future:
            outer.add_done_callback(lambda done: done.cancelled() and future.cancel())

    def _forget(self, msg_id: MessageId, future: Any) -> None:
        if self._request_futures.get(msg_id) is future:
            del self._request_futures[msg_id]

    def _run_generator(
        self, future: Any, *, gen: Generator[Any, Any, Any], result_future: Future[Any]
    ) -> None:
        """Go on with a generator; one whose inner handler was cancelled is cancelled too."""
        if future is not None and future.cancelled():
            gen.close()
            result_future.cancel()
            return
        super()._run_generator(future, gen=gen, result_future=result_future)

    def _finish_initialize(self, future: Any, *, msg_id: MessageId, process_id: int | None) -> None:
        failed = future.cancelled() or future.exception() is not None
        if failed:
            # A client may try again, as LSP's InitializeError says.
            self._phase = "new"
        self._finish_request(future, msg_id=msg_id)
        if not failed and self._line is not None:
            self._line.client_initialized(process_id)

    def _finish_request(self, future: Any, *, msg_id: MessageId) -> None:
        if future.cancelled():
            self._answer_error(msg_id, JsonRpcRequestCancelled("The request was cancelled."))
        elif (error := future.exception()) is not None:
            self._answer_error(msg_id, error)
        else:
            self._answer(msg_id, future.result())

    def _finish_notification(self, future: Any, *, method: str) -> None:
        if not future.cancelled() and (error := future.exception()) is not None:
            _report(f"The handler of {method} failed", error)

    def _answer(self, id_: MessageId, result: Any) -> None:
        try:
            self._send({"jsonrpc": "2.0", "id": id_, "result": result})
        except Exception as error:
            self._answer_error(id_, error)

    def _answer_error(self, id_: MessageId, error: BaseException) -> None:
        _report(f"Request {id_!r} is answered with an error", error)
        self._refuse(id_, response_error(error))

    def _refuse(self, id_: MessageId | None, error: types.ResponseError) -> None:
        self._send({"jsonrpc": "2.0", "id": id_, "error": error})

    def _send(self, message: dict[str, Any]) -> None:
        body = write_message(message, partial(to_json, self._converter), self._serialize_message)
        if self._line is not None:
            self._line.writer.send(body)

    def _serialize_message(self, data: Any) -> Any:
        return to_plain(self._converter, data)


def on_request(
    server: LanguageServer, request: Request[P, R], handler: Callable[[P], Awaitable[R]]
) -> None:
    """Serve `request` with `handler`, which is given valid params alone."""

    async def serve(params: Any) -> R:
        return await handler(params)

    protocol_of(server).expect(request.name, request.params)
    server.feature(request.name)(serve)


def notify(server: LanguageServer, notification: Notification[P], params: P) -> None:
    """Send the client a notification."""
    server.protocol.notify(notification.name, params)


async def ask(
    server: LanguageServer, request: Request[P, R], params: P, *, within: float | None = None
) -> R:
    """Send the client a request and return its result, as `AgentProtocol.ask` does."""
    answer = await protocol_of(server).ask(request.name, params, within=within)
    try:
        return to_model(request.result, answer)
    except JsonRpcException as error:
        raise not_understood(request.name, error) from None


def outbox_of(server: LanguageServer) -> Writer:
    """Return what carries messages to the client, for who looks at its backlog."""
    return protocol_of(server).line().writer


def protocol_of(server: LanguageServer) -> AgentProtocol:
    """Return the server's protocol, which must be ours."""
    if not isinstance(server.protocol, AgentProtocol):
        raise TypeError("make the server with protocol_cls=AgentProtocol")
    return server.protocol


def _message(method: str, params: Any, **rest: Any) -> dict[str, Any]:
    message = {"jsonrpc": "2.0", **rest, "method": method}
    return message if params is None else message | {"params": params}


def _call_with_result(callback: Callable[[Any], None], answer: Future[Any]) -> None:
    if not answer.cancelled() and answer.exception() is None:
        callback(answer.result())


def _report(what: str, error: BaseException) -> None:
    if is_bug(error):
        log.error("%s", what, exc_info=error)
    else:
        log.info("%s: %s", what, error)
