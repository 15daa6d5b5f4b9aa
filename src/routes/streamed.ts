import type { Call, Reply } from '#http/call'
import type { Caller } from '#model/caller'
import { checkCurrent } from '#routes/check-current'
import type { RouteContext } from '#routes/context'
import { ReadSlices } from '#routes/read-slices'
import type { TextOrParts } from '#routes/state-text'
import { namesOf, type Pages } from '#runtime/listing'

/** How much text is handed over at once. */
const pieceCharacters = 64 * 1024

/** Names asked of a listing at once. */
const namesAtATime = 256

/**
 * A long answer, made piece by piece. Each thing is read at one moment, the moment its text is made; the last piece
 * leaves when everything that was read is stored, and none when the caller's session is over or he may something else.
 * Architecture, full reads.
 */
export async function* streamed(
  { world, system }: RouteContext,
  caller: Caller,
  names: Pages,
  frame: { readonly before: string; readonly after: string; readonly isEmptyUnknown?: () => Error },
  textOf: (name: string) => TextOrParts | undefined,
): AsyncGenerator<string> {
  const { closedCount } = system.gate
  let text = frame.before
  let isFirst = true
  const slices = new ReadSlices(world, caller)
  try {
    for (let page = await names.next(namesAtATime); page.length > 0; page = await names.next(namesAtATime)) {
      await slices.next()
      for (const name of page) {
        const item = textOf(name)
        if (item !== undefined) {
          if (!isFirst) text += ','
          isFirst = false
          if (typeof item === 'string') text += item
          else {
            for (const part of item) {
              text += part
              if (text.length < pieceCharacters && !slices.isOver) continue
              yield text
              text = ''
              await slices.next()
            }
          }
        }
        if (text.length < pieceCharacters && !slices.isOver) continue
        if (!isFirst) {
          yield text
          text = ''
        }
        await slices.next()
      }
    }
    if (isFirst && frame.isEmptyUnknown) throw frame.isEmptyUnknown()
    await system.gate.settled(closedCount)
    checkCurrent(caller)
    yield text + frame.after
  } finally {
    await names.close()
  }
}

/** One thing, streamed when its text is made in parts. */
export function partsReply(context: RouteContext, { caller }: Call, text: TextOrParts): Reply | Promise<Reply> {
  if (typeof text === 'string') return textReply(context, text)
  const chunks = streamed(context, caller, namesOf(['']), { before: '', after: '' }, () => text)
  return { status: 200, chunks }
}

/** An answer that is JSON text already, of things read a moment ago. */
export async function textReply(
  { system }: RouteContext,
  text: string,
  headers: Reply['headers'] = {},
): Promise<Reply> {
  await system.gate.settled()
  return { status: 200, headers, text }
}
