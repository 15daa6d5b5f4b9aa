import { idempotencyKeyHeader, type RouteEntry, takesIdempotencyKey } from '#api/route-entry'
import type { Binding, BodyStream, Reply } from '#http/call'
import type { Exchange } from '#http/exchange'
import type { ForwardableRequest, OtherNodes } from '#http/server-context'
import { Problem } from '#model/problem'

/** A forwarded request has these headers from `headersForNode`, not from the client: the other node trusts them. */
const forwardingHeader = /^x-(?:forwarded-.*|request-id)$/

/**
 * Headers that pass on the client's address, its URL of this node, and the request id. Names and values, alternating.
 */
function headersForNode({ context, headers, remoteAddress, requestId }: Exchange): readonly string[] {
  return [...context.origins.forwarding.headersForNode(headers, () => remoteAddress), 'X-Request-Id', requestId]
}

/**
 * Lets the owner answer, or this node if it is or becomes the owner, or if there is no owner for a read. If this node
 * stops being the owner before a change is stored, it forwards the request to the next owner, provided that the request
 * may be handled twice.
 */
export function answerByOwner(
  exchange: Exchange,
  otherNodes: OtherNodes,
  { entry, isOfEachNode }: Binding,
  upload: BodyStream | undefined,
  answer: () => void,
): void {
  const isFromNode = otherNodes.isFromNode(exchange.headers)
  const mayRepeat = !upload && isRepeatable(exchange, entry)
  const answerHere = () => {
    if (isOfEachNode || !otherNodes.isOwner) {
      answer()
      return
    }
    exchange.onFailure = (error) => {
      if (!mayRepeat || otherNodes.isOwner || !(error instanceof Problem && error.code === 'storage')) return false
      forward(exchange.since)
      return true
    }
    answer()
    if (!exchange.isOpen || isFromNode) return
    const read = { method: exchange.method, path: entry.path }
    otherNodes.onReadStuck(
      read,
      () => exchange.isOpen,
      () => forward(exchange.since),
    )
  }
  const respond = (reply: Reply | undefined) => {
    if (reply) exchange.respond(reply)
    else if (exchange.isOpen) answerHere()
  }
  /**
   * `since`: when the request began to wait, by `World.monotonic`. Undefined: now for an upload; for any other request,
   * when its body has arrived.
   */
  const forward = (since?: number) => {
    exchange.onFailure = undefined
    if (isFromNode) {
      if (otherNodes.mayAnswerFromOwnState(exchange.headers)) answerHere()
      else exchange.proceed(otherNodes.notOwner(), respond)
      return
    }
    const { method, path, query, headers, signal } = exchange
    const lines = [...headers.linesWithout(forwardingHeader), ...headersForNode(exchange)]
    const target = query === '' ? path : `${path}?${query}`
    const send = (body: ForwardableRequest['body']) => {
      const waitsSince = since ?? exchange.context.world.monotonic()
      const about = { path: entry.path, mayRepeat, since: waitsSince, method, target, headers: lines, signal }
      exchange.proceed(otherNodes.forward({ ...about, body }), respond)
    }
    if (upload) send(upload)
    else exchange.readBody((read) => send(read()), true)
  }
  if (isOfEachNode || otherNodes.isOwner) answerHere()
  else forward()
}

/**
 * Whether two owners may handle the request: it is a read, or has an `Idempotency-Key`. An empty key counts too,
 * because each owner refuses it as invalid. Contract 11.
 */
function isRepeatable(exchange: Exchange, entry: RouteEntry): boolean {
  if (exchange.method === 'GET' || exchange.method === 'HEAD') return true
  return takesIdempotencyKey(entry) && exchange.headerCount(idempotencyKeyHeader) > 0
}
