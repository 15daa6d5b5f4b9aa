import type { HistoryAnswer } from '#history/history-query'
import type { HistoryQueries } from '#history/history-requests'
import type { Call, Reply } from '#http/call'
import { principalKey } from '#model/caller'
import { Problem } from '#model/problem'
import type { RouteContext } from '#routes/context'
import { historyOf } from '#routes/history-parameters'
import { ReadSlices } from '#routes/read-slices'
import type { Position } from '#runtime/journal'

/**
 * Asks history after it has reached the present position of the stream. `firstPosition`: the position of the first
 * page, from the link to a further page.
 *
 * @throws Problem `not_found`, `invalid`, `history_behind`, `overloaded`
 */
export async function historyReply(
  context: RouteContext,
  call: Call,
  question: (service: HistoryQueries) => Promise<HistoryAnswer>,
  firstPosition?: string,
): Promise<Reply> {
  const { caller, target } = call
  const reads = historyOf(context)
  const reached = await reads.reach(caller.tenant)
  const answer = await reads.ask(principalKey(caller), question)
  if (answer === 'unknown') throw new Problem('not_found')
  if ('faults' in answer) throw new Problem('invalid', undefined, { details: answer.faults })
  const position = positionOf(firstPosition) ?? reached
  const link = target.method === 'POST' || !answer.next ? {} : nextLink(call, answer.next, position)
  return {
    status: 200,
    headers: { ...positionHeaders(position), ...link },
    chunks: whilePermitted(context, call, reads.piecesOf(answer)),
  }
}

export function positionHeaders(position: Position) {
  return { 'Stream-Epoch': position.epoch, 'Stream-Offset': String(position.offset) }
}

function positionOf(text: string | undefined): Position | undefined {
  const at = text?.lastIndexOf('.') ?? -1
  return text === undefined ? undefined : { epoch: text.slice(0, at), offset: Number(text.slice(at + 1)) }
}

function nextLink({ target }: Call, span: { readonly from: number; readonly to: number }, position: Position) {
  const query = new URLSearchParams(target.query)
  query.set('from', String(span.from))
  query.set('to', String(span.to))
  query.set('position', `${position.epoch}.${position.offset}`)
  return { Link: `<${target.path}?${query}>; rel="next"` }
}

/** Breaks off when the rights of the caller change or end. */
async function* whilePermitted(
  context: RouteContext,
  { caller }: Pick<Call, 'caller'>,
  pieces: AsyncIterable<Uint8Array>,
): AsyncGenerator<Uint8Array> {
  const slices = new ReadSlices(context.world, caller)
  for await (const piece of pieces) {
    await slices.next()
    yield piece
  }
}
