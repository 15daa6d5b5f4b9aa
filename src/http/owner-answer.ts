import { idempotencyKeyHeader, type RouteEntry, takesIdempotencyKey } from '#api/route-entry'
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
 * Lets the owner answer, or this node if it becomes the owner meanwhile. A request that may be handled twice is passed
 * to the next owner if this node stops being the owner before the change is stored.
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
  /** `since`: when the request began to wait, by `World.monotonic`; undefined: at the end of its body. */
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
 * Whether two owners may handle the request. The header lines are counted, because an empty header is an invalid key.
 * Contract 11.
 */
function isRepeatable(exchange: Exchange, entry: RouteEntry): boolean {
  if (exchange.method === 'GET' || exchange.method === 'HEAD') return true
  return takesIdempotencyKey(entry) && exchange.headerCount(idempotencyKeyHeader) > 0
}
