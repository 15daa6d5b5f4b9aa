import { idempotencyKeyHeader, type RouteEntry, takesIdempotencyKey } from '#api/entry'
import type { Binding, BodyStream, Reply } from '#http/call'
import type { Exchange } from '#http/exchange'
import type { ForwardableRequest, OtherNodes } from '#http/other-nodes'
import { Problem } from '#model/problem'

/** These headers are replaced for the other node, which must not trust what a client claims about itself. */
const forwardingHeader = /^x-(?:forwarded-.*|request-id)$/

/** Headers by which another node sees the same client, and uses the same request id. Names and values, alternating. */
function headersForNode({ context, headers, remoteAddress, requestId }: Exchange): readonly string[] {
  return [...context.origins.forwarding.headersForNode(headers, () => remoteAddress), 'X-Request-Id', requestId]
}

/**
 * Lets the owner answer. If this node stops being the owner before it has stored the change of a request that may be
 * handled twice, the next owner answers.
 */
export function answerByOwner(
  exchange: Exchange,
  otherNodes: OtherNodes,
  { entry, isOfEachNode }: Binding,
  upload: BodyStream | undefined,
  answer: () => void,
): void {
  if (isOfEachNode) {
    answer()
    return
  }
  const mayRepeat = !upload && isRepeatable(exchange, entry)
  const answerHere = () => {
    if (!otherNodes.isOwner) {
      answer()
      return
    }
    exchange.onFailure = (error) => {
      if (!mayRepeat || otherNodes.isOwner || !(error instanceof Problem && error.code === 'storage')) return false
      forward(exchange, otherNodes, entry, upload, answerHere, exchange.since)
      return true
    }
    answer()
    const { method } = exchange
    if (exchange.isOpen && !otherNodes.isFromNode(exchange.headers)) {
      const read = () => forward(exchange, otherNodes, entry, upload, answerHere, exchange.since)
      otherNodes.onReadStuck({ method, path: entry.path }, () => exchange.isOpen, read)
    }
  }
  if (otherNodes.isOwner) answerHere()
  else forward(exchange, otherNodes, entry, upload, answerHere)
}

/** Contract 11. By count: an empty header is an invalid key. */
function isRepeatable(exchange: Exchange, entry: RouteEntry): boolean {
  if (exchange.method === 'GET' || exchange.method === 'HEAD') return true
  return takesIdempotencyKey(entry) && exchange.headerCount(idempotencyKeyHeader) > 0
}

/** Lets the owner answer, or this node if it becomes the owner meanwhile. `since`: World.monotonic, otherwise now. */
function forward(
  exchange: Exchange,
  otherNodes: OtherNodes,
  entry: RouteEntry,
  upload: BodyStream | undefined,
  answerHere: () => void,
  since?: number,
): void {
  exchange.onFailure = undefined
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
      mayRepeat: !upload && isRepeatable(exchange, entry),
      since: since ?? exchange.context.world.monotonic(),
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
