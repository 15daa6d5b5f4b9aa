import { type RouteEntry, takesIdempotencyKey } from '#api/entry'
import type { BodyStream, Reply } from '#http/call'
import type { Exchange } from '#http/exchange'
import type { ForwardableRequest, OtherNodes } from '#http/other-nodes'

/** Written again for the other node: what a client claims about itself must not count there. */
const forwardingHeader = /^x-(?:forwarded-.*|request-id)$/

/** Lets the owner answer, or this node if it becomes the owner meanwhile. */
export function forward(
  exchange: Exchange,
  otherNodes: OtherNodes,
  entry: RouteEntry,
  upload: BodyStream | undefined,
  answerHere: () => void,
): void {
  const respond = (reply: Reply | undefined) => {
    if (reply) exchange.respond(reply)
    else if (exchange.isOpen) answerHere()
  }
  if (otherNodes.isFromNode(exchange.headers)) {
    if (otherNodes.mayAnswerFromOwnState(exchange.headers)) answerHere()
    else exchange.proceed(otherNodes.notOwner(), respond)
    return
  }
  const { method, path, query, headers } = exchange
  const { forwarding } = exchange.context.origins
  const lines = [
    ...headers.linesWithout(forwardingHeader),
    ...forwarding.headersForNode(headers, () => exchange.remoteAddress),
    ...['X-Request-Id', exchange.requestId],
  ]
  const send = (body: ForwardableRequest['body']) => {
    const target = query === '' ? path : `${path}?${query}`
    const request = {
      path: entry.path,
      takesIdempotencyKey: takesIdempotencyKey(entry),
      method,
      target,
      headers: lines,
      body,
      signal: exchange.signal,
    }
    exchange.proceed(otherNodes.forward(request), respond)
  }
  if (upload) send(upload)
  else exchange.readBody((read) => send(read()), true)
}
