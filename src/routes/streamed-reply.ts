import type { Call, Reply } from '#http/call'
import type { Caller } from '#model/caller'
import type { RouteContext } from '#routes/context'
import { checkCurrent, ReadSlices } from '#routes/read-slices'
import type { TextOrParts } from '#routes/state-text'
import { namesOf, type Pages } from '#runtime/storage'

/** A piece is sent when its text has this length. */
const pieceCharacters = 64 * 1024

/** Names in a page of the listing. */
const namesAtATime = 256

/**
 * Streams a long answer in pieces. Each object is read just before its piece is sent. The last piece waits until all
 * state that was read is stored. No piece is sent after the caller's session ended or the caller's rights changed.
 * See ARCHITECTURE.md, "Reading all devices".
 */
export async function* streamObjects(
  { world, system }: RouteContext,
  caller: Caller,
  names: Pages,
  frame: { readonly before: string; readonly after: string; readonly errorIfEmpty?: () => Error },
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
    if (isFirst && frame.errorIfEmpty) throw frame.errorIfEmpty()
    await system.gate.whenStored(closedCount)
    checkCurrent(caller)
    yield text + frame.after
  } finally {
    await names.close()
  }
}

/** One object, streamed if its text is made in parts. */
export function partsReply(context: RouteContext, { caller }: Call, text: TextOrParts): Reply | Promise<Reply> {
  if (typeof text === 'string') return textReply(context, text)
  const chunks = streamObjects(context, caller, namesOf(['']), { before: '', after: '' }, () => text)
  return { status: 200, chunks }
}

/** Answers with JSON text once the state from which it was just made is stored. */
export async function textReply(
  { system }: RouteContext,
  text: string,
  headers: Reply['headers'] = {},
): Promise<Reply> {
  await system.gate.whenStored()
  return { status: 200, headers, text }
}
