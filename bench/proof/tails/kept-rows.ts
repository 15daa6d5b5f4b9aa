import { Salvage } from '#store/repair/salvage'

/** What a repair writes anew. */
const mended = /^(epoch|whole)\/|^part\/tenant\/[^/]+\/[^/]+\/counters$/

/** Rows of a database that are not in another one, or not as they were. */
export async function rowsLost(before: string, after: string): Promise<readonly string[]> {
  const there = new Map<string, Uint8Array>()
  for await (const { key, value } of new Salvage(after).rows()) there.set(key, value)
  const lost: string[] = []
  for await (const { key, value } of new Salvage(before).rows()) {
    const found = there.get(key)
    if (!mended.test(key) && !(found && Buffer.compare(found, value) === 0)) lost.push(key)
  }
  return lost
}
