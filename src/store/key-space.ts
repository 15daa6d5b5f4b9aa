import { type ActorAddress, addressFrom, type RecordFormat } from '#runtime/actor'

/**
 * The whole key space. Parts of a key are separated by `/`, which only the last part may contain. `0` is the character
 * after `/`, so a prefix is the range from `prefix/` to `prefix0`. Offsets and other numbers have 14 hexadecimal digits
 * (2⁵³ and more), so that they sort as numbers.
 *
 * No key begins with a digit. Such keys (`1/stream/…`) are reserved for further partitions of the store, of which there
 * are none yet.
 *
 * | key | value |
 * |---|---|
 * | `actor/<kind>/<tenant>/<id>` | snapshot of a redo actor |
 * | `part/<kind>/<tenant>/<id>/<name>` | any other record of an actor |
 * | `index/<index>/<tenant>/<entry>` | one byte without meaning: an index is its keys |
 * | `reminder/<kind>/<tenant>/<id>` | the time at which the actor must wake |
 * | `tell/<sequence>` | a message to an actor, not delivered yet |
 * | `stream/<tenant>/<offset>` | a chunk of entries, the first with this offset |
 * | `redo/<tenant>` | the offset from which a restarted server applies entries again; it stays after its tenant is
 * deleted: no offset is assigned twice |
 * | `begin/<tenant>` | a tenant of this name was deleted: the offset at which the stream of the next one begins |
 * | `whole/<tenant>` | after a repair: the offset from which no entry is missing. No client resumes before it |
 * | `shape/<id>` | content of a shape, for all tenants |
 * | `epoch/<number>` | an epoch: its name and each stream's last offset when it began |
 * | `\u{10ffff}replica` | of a node of a cluster: the last message of the shared log that is in this store. It follows
 * all other keys, so that a scan of `everyKey` does not read it |
 * | `format` | the version of this key space |
 */
export const keys = {
  format: 'format',
  replica: '\u{10ffff}replica',
  snapshot: (address: ActorAddress) => `actor/${address.kind}/${address.tenant}/${address.id}`,
  part: (address: ActorAddress, name: string) => `part/${address.kind}/${address.tenant}/${address.id}/${name}`,
  index: (tenant: string, index: string, entry: string) => `index/${index}/${tenant}/${entry}`,
  reminder: (address: ActorAddress) => `reminder/${address.kind}/${address.tenant}/${address.id}`,
  tell: (sequence: number) => `tell/${sortableHex(sequence)}`,
  chunk: (tenant: string, offset: number) => `stream/${tenant}/${sortableHex(offset)}`,
  redo: (tenant: string) => `redo/${tenant}`,
  begin: (tenant: string) => `begin/${tenant}`,
  whole: (tenant: string) => `whole/${tenant}`,
  shape: (id: string) => `shape/${id}`,
  epoch: (number: number) => `epoch/${sortableHex(number)}`,
} as const

/** The range of all keys below a prefix: `stream/default`, `index/online/default`. */
export function keysBelow(prefix: string): { after: string; before: string } {
  return { after: `${prefix}/`, before: `${prefix}0` }
}

/** The range of all keys but `keys.replica`: they begin with a lower-case letter. */
export const everyKey = { after: ' ', before: '~' } as const
/** The range of all keys, `keys.replica` included. */
export const everyKeyOfNode = { after: ' ', before: `${keys.replica}~` } as const

/** The version of this key space. A store with a newer one is refused. */
export const keySpace: RecordFormat = { name: 'key space', version: 1, upgrades: {} }

/**
 * The prefixes of the keys of a tenant, without those of its stream (`stream`, `redo`, `begin`, `whole`). Reminders
 * come first, because a reminder would wake an actor whose records are already deleted.
 */
export function tenantPrefixes(
  tenant: string,
  kinds: readonly string[],
  indexes: readonly string[],
): readonly string[] {
  return [
    ...kinds.map((kind) => `reminder/${kind}/${tenant}`),
    ...indexes.map((index) => `index/${index}/${tenant}`),
    ...kinds.map((kind) => `actor/${kind}/${tenant}`),
    ...kinds.map((kind) => `part/${kind}/${tenant}`),
  ]
}

/** A number as 14 hexadecimal digits. The inverse of `numberOf`. */
export function sortableHex(number: number): string {
  return number.toString(16).padStart(14, '0')
}

/** The number at the end of a key made with `sortableHex`. */
export function numberOf(key: string): number {
  return Number.parseInt(key.slice(-14), 16)
}

export function isChunkKey(key: string): boolean {
  return key.startsWith('stream/')
}

/** The tenant of a `chunk` key. */
export function tenantOfChunk(key: string): string {
  return key.slice('stream/'.length, key.lastIndexOf('/'))
}

/** The address in a `snapshot`, `part` or `reminder` key. */
export function addressOf(key: string): ActorAddress {
  return addressFrom(key.slice(key.indexOf('/') + 1))
}

/** The name at the end of a `part` key. The name may contain `/`; the four parts before it never do. */
export function partNameOf(key: string): string {
  return key.split('/').slice(4).join('/')
}
