import type { RouteContext } from '#routes/context'
import { pageOf } from '#routes/page'
import { type Names, namesOf, streamed } from '#routes/streamed'
import type { Call, Reply } from '#server/call'

/** A list of things that are found by name: whole, or a page of it. Contract 3.4. */
export interface ListOf {
  readonly limit: number | undefined
  readonly names: Names
  readonly isShown: (name: string) => boolean
  /** Undefined for what is gone meanwhile. */
  readonly textOf: (name: string) => string | undefined
}

export async function listReply(
  context: RouteContext,
  call: Call,
  headers: Record<string, string>,
  { limit, names, isShown, textOf }: ListOf,
): Promise<Reply> {
  const frame = { before: '[', after: ']' }
  const shownText = (name: string) => (isShown(name) ? textOf(name) : undefined)
  if (limit === undefined)
    return { status: 200, headers, chunks: streamed(context, call.caller, names, frame, shownText) }
  const page = await pageOf(call, limit, names, isShown)
  const chunks = streamed(context, call.caller, namesOf(page.names), frame, shownText)
  return { status: 200, headers: { ...headers, ...page.headers }, chunks }
}
