import type { Found, LedgerEntry, LedgerKind, Wish } from '#bench/proof/clerks/ledger'
import { madeIdOf } from '#bench/proof/clerks/ledger'

/** So many slots. */
export function slotsOf(prefix: string, count: number): readonly string[] {
  return Array.from({ length: count }, (_, at) => `${prefix}-${at}`)
}

/** Things under an id of the server's, that say in their name which slot they are in: `GROUP-2 417`. */
interface NamedThing {
  readonly name: string
  readonly id?: string
  readonly resourceIdentifier?: string
}

export interface NamedOptions {
  readonly name: string
  readonly path: string
  readonly slots: readonly string[]
  /** The rest of the body. */
  readonly body: object
  /** How it is changed; absent: it is made and deleted, and nothing else. */
  readonly edit?: 'PATCH' | 'PUT'
  /** What an event says of the name. */
  readonly told?: (event: Readonly<Record<string, unknown>>) => string | undefined
  /** Its answer holds a secret, and can't be had again. */
  readonly isOnceOnly?: boolean
}

/** Things that are made by POST, listed, changed and deleted by their id. */
export function namedKind({ name, path, slots, body, edit, told, isOnceOnly }: NamedOptions): LedgerKind {
  const tell = (held: string) => (told ? { told: held } : {})
  return {
    name,
    slots,
    ...(told && { told }),
    wish(slot, before, number, random): Wish {
      const held = `${slot} ${number}`
      if (!before) {
        const only = isOnceOnly ? { isOnceOnly } : {}
        return { method: 'POST', path, body: { ...body, name: held }, held, ...tell(held), ...only }
      }
      const own = `${path}/${before.id}`
      if (!edit || random.below(3) === 0) return { method: 'DELETE', path: own, held: undefined }
      return {
        method: edit,
        path: own,
        body: edit === 'PUT' ? { ...body, name: held } : { name: held },
        held,
        ...tell(held),
      }
    },
    async look(api) {
      const found = new Map<string, Found>()
      for (const { name: held, id, resourceIdentifier } of await api.rows<NamedThing>(path)) {
        const [slot = ''] = held.split(' ')
        if (!slots.includes(slot)) continue
        if (found.has(slot)) throw new Error(`two are in ${slot}: ${found.get(slot)?.held}, ${held}`)
        const made = madeIdOf(id ?? resourceIdentifier ?? '')
        found.set(slot, { held, ...(made !== undefined && { id: made }) })
      }
      return found
    },
  }
}

/** What is found slot by slot; nothing where there is nothing. */
export async function foundIn(
  entries: ReadonlyMap<string, LedgerEntry>,
  look: (slot: string, entry: LedgerEntry) => Promise<Found | undefined>,
): Promise<ReadonlyMap<string, Found>> {
  const found = new Map<string, Found>()
  for (const [slot, entry] of entries) {
    const there = await look(slot, entry)
    if (there) found.set(slot, there)
  }
  return found
}
