import { type RouteEntry, takesIdempotencyKey } from '#api/entry'
import type { BodyStream, Reply } from '#http/call'
import type { Exchange } from '#http/exchange'
import type { ForwardableRequest, OtherNodes } from '#http/other-nodes'

/** Written again for the other node: what a client claims about itself must not count there. */
const forwardingHeader = /^x-(?:forwarded-.*|request-id)$/

/** Headers by which another node sees the same client, and uses the same request id. Names and values, alternating. */
export function headersForNode({ context, headers, remoteAddress, requestId }: Exchange): readonly string[] {
  return [...context.origins.forwarding.headersForNode(headers, () => remoteAddress), 'X-Request-Id', requestId]
}

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
  const lines = [...headers.linesWithout(forwardingHeader), ...headersForNode(exchange)]
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
