import type { z } from 'zod'
import { messageOf } from '#link/frame-fault'
import { Problem } from '#model/problem'

/**
 * Reads what a message holds of each property, as the schema of the message does it, up to the first fault. `path`: of the
 * list in the message.
 */
export function readOneByOne<Item extends { readonly propId: number }>(
  schema: z.ZodType<Item>,
  list: readonly unknown[],
  path: string,
): Item[] | Problem {
  const items = new Map<number, Item>()
  for (const [place, each] of list.entries()) {
    const item = schema.safeParse(each)
    if (!item.success) return new Problem('bad_request', messageOf(item.error, path, String(place)))
    const { propId } = item.data
    if (items.has(propId)) return new Problem('bad_request', `${path}.${place}.propId: is there already`)
    items.set(propId, item.data)
  }
  return [...items.values()]
}
