import { deviceAddress } from '#actors/device/device'
import type { DeviceState } from '#actors/device/state'
import { tenantAddress } from '#actors/tenant/commands'
import type { Caller } from '#model/caller'
import { type Names, unionOf } from '#model/device-names'
import type { Entry, EntryExceptReport } from '#model/entry'
import type { JsonValue } from '#model/json-value'
import { devicesWithin } from '#model/scope'
import { foldName } from '#model/user'
import { ReadSlices, Slices } from '#runtime/slices'
import { type Listing, type Pages, pagesIn } from '#runtime/storage'
import type { System } from '#runtime/system'
import type { World } from '#runtime/world'

/** If a tenant is not searched for this long, its texts are dropped. They take about 200 bytes a device. */
const unusedMs = 900_000

const namesAtATime = 512

/** The clock is read once for this many rows, because reading it takes as long as searching a text. */
const rowsPerClockRead = 32

interface Parts {
  readonly world: World
  readonly system: System<Entry>
  readonly listing: Listing
}

/**
 * Finds devices by words of their identifier, `meta.name`, `meta.site`, `meta.tags` and versions. Contract 12, Names.
 *
 * The first search of a tenant lists its devices. The text of a device is made when a search first needs it, and then
 * stays in memory. An event that may change the text removes it, and the next search reads the device again.
 */
export class DeviceSearch {
  readonly #parts: Parts
  readonly #tenants = new Map<string, TenantTexts>()

  constructor(parts: Parts) {
    this.#parts = parts
  }

  /** Call it for each published event. Values of properties are not searched. */
  published(tenant: string, entry: EntryExceptReport): void {
    this.#tenants.get(tenant)?.published(entry)
  }

  /** Call it when events were possibly not published: all texts are dropped. */
  reloaded(): void {
    this.#tenants.clear()
  }

  /**
   * The identifiers of the matching devices after `after`, in order. Read in slices of the caller. `among`: only these
   * devices can match.
   */
  matches(caller: Caller, search: string, after: string, among?: ReadonlySet<string>): Pages {
    const words = wordsOf(search)
    const { tenant, scope } = caller
    const mayReadMeta = devicesWithin(scope, 'meta', 'read')
    const mayReadUpdates = devicesWithin(scope, 'updates', 'read')
    const slices = new ReadSlices(this.#parts.world, caller)
    /**
     * Searches the text once if the word is missing, or comes first in the identifier or in readable metadata;
     * otherwise twice.
     */
    const occurs = (word: string, { all, metaAt, versionsAt }: DeviceText, device: string): boolean => {
      const at = all.indexOf(word)
      if (at < metaAt) return at >= 0
      if (at < versionsAt && mayReadMeta(device)) return true
      return all.includes(word, versionsAt) && mayReadUpdates(device)
    }
    const isMatch = (row: TextRow): boolean => {
      if (among && !among.has(row.device)) return false
      row.text ??= textOf(this.#parts.system.peek(deviceAddress(tenant, row.device)))
      for (const word of words) if (!occurs(word, row.text, row.device)) return false
      return true
    }
    let last = after
    return {
      next: async (countMax) => {
        const { rows } = await this.#textsOf(tenant)
        const found: string[] = []
        let seen = 0
        for (let at = placeAfter(rows, last); at < rows.length && found.length < countMax; at++) {
          if (seen++ % rowsPerClockRead === 0 && slices.isOver) {
            if (found.length > 0) break
            await slices.next()
            // Devices may have been added or removed meanwhile.
            at = placeAfter(rows, last)
            if (at === rows.length) break
          }
          const row = rows[at] as TextRow
          last = row.device
          // Reading a device takes far longer than searching its text, so the clock is read after it.
          if (!row.text) seen = 0
          if (isMatch(row)) found.push(row.device)
        }
        return found
      },
      close: async () => {},
    }
  }

  /** The number of existing devices among these names. Counted in slices of the caller. */
  async countOf(caller: Caller, among: Names): Promise<number> {
    const { system, world } = this.#parts
    if (among === '*') return system.wake(tenantAddress(caller.tenant)).counters.devices
    const { names, prefixes } = unionOf([{ devices: among }])
    const { rows } = await this.#textsOf(caller.tenant)
    const slices = new ReadSlices(world, caller)
    const counted = new Set<TextRow>()
    let seen = 0
    for (const device of names) {
      if (seen++ % rowsPerClockRead === 0 && slices.isOver) await slices.next()
      const row = rows[placeAfter(rows, device) - 1]
      if (row?.device === device) counted.add(row)
    }
    for (const prefix of prefixes) {
      if (slices.isOver) await slices.next()
      for (let place = placeAfter(rows, prefix); rows[place]?.device.startsWith(prefix); place++)
        counted.add(rows[place] as TextRow)
    }
    return counted.size
  }

  async #textsOf(tenant: string): Promise<TenantTexts> {
    const known = this.#tenants.get(tenant)
    const texts = known ?? new TenantTexts()
    texts.usedAt = this.#parts.world.monotonic()
    if (!known) {
      this.#tenants.set(tenant, texts)
      texts.loaded = this.#load(tenant, texts)
      this.#dropLater(tenant, texts, unusedMs)
    }
    await texts.loaded
    return texts
  }

  #dropLater(tenant: string, texts: TenantTexts, delayMs: number): void {
    const { world } = this.#parts
    world.after(delayMs, () => {
      if (this.#tenants.get(tenant) !== texts) return
      const restMs = texts.usedAt + unusedMs - world.monotonic()
      if (restMs > 0) this.#dropLater(tenant, texts, restMs)
      else this.#tenants.delete(tenant)
    })
  }

  async #load(tenant: string, texts: TenantTexts): Promise<void> {
    const { world, listing } = this.#parts
    const slices = new Slices(world)
    try {
      for await (const page of pagesIn(listing.actors('device', tenant), namesAtATime)) {
        for (const device of page) texts.rows.push({ device, text: undefined })
        if (slices.isOver) await slices.next()
      }
      texts.finishLoading()
    } catch (error) {
      this.#tenants.delete(tenant)
      throw error
    }
  }
}

/** The searched text of a device: folded, with line breaks between its parts. No word contains a line break. */
interface DeviceText {
  /** The identifier, then texts of the metadata, then versions. */
  readonly all: string
  readonly metaAt: number
  readonly versionsAt: number
}

interface TextRow {
  readonly device: string
  /** The text of the device. Undefined: not made yet, or out of date. */
  text: DeviceText | undefined
}

class TenantTexts {
  /** In order of the identifiers. */
  readonly rows: TextRow[] = []
  loaded: Promise<void> = Promise.resolve()
  /** When the texts were last used, by `World.monotonic`. */
  usedAt = 0
  /** Events that were published while the rows were loaded. */
  #waiting: EntryExceptReport[] | undefined = []

  finishLoading(): void {
    const waiting = this.#waiting ?? []
    this.#waiting = undefined
    for (const entry of waiting) this.published(entry)
  }

  published(entry: EntryExceptReport): void {
    switch (entry.kind) {
      case 'device_added':
      case 'device_removed':
      case 'discovered':
      case 'meta_set':
      case 'meta_deleted':
        if (this.#waiting) this.#waiting.push(entry)
        else this.#updateDevice(entry.device, entry.kind === 'device_removed')
    }
  }

  #updateDevice(device: string, isRemoved: boolean): void {
    const { rows } = this
    const place = placeAfter(rows, device)
    const row = rows[place - 1]
    const isKnown = row?.device === device
    if (isRemoved) {
      if (isKnown) rows.splice(place - 1, 1)
    } else if (isKnown) row.text = undefined
    else rows.splice(place, 0, { device, text: undefined })
  }
}

/** The place of the first row after this identifier. */
function placeAfter(rows: readonly TextRow[], device: string): number {
  let low = 0
  let high = rows.length
  while (low < high) {
    const middle = (low + high) >> 1
    if ((rows[middle] as TextRow).device > device) high = middle
    else low = middle + 1
  }
  return low
}

/** Further tags, and the rest of longer texts, are not searched: one device could have as much text as 1 000 others. */
const tagsMax = 32
const textCharactersMax = 256

const noText: DeviceText = { all: '', metaAt: 0, versionsAt: 0 }

function textOf(state: DeviceState | undefined): DeviceText {
  if (!state) return noText
  const { name, site, tags } = state.meta
  const identifier = `${folded(state.device)}\n`
  const meta = [name, site, ...(Array.isArray(tags) ? tags.slice(0, tagsMax) : [])]
    .filter(isString)
    .map((text) => `${folded(text.slice(0, textCharactersMax)).slice(0, textCharactersMax)}\n`)
    .join('')
  const versions = state.firmwares.map(({ firmware, hardware = '' }) => folded(`${firmware}\n${hardware}`)).join('\n')
  const metaAt = identifier.length
  return { all: identifier + meta + versions, metaAt, versionsAt: metaAt + meta.length }
}

function isString(value: JsonValue | undefined): value is string {
  return typeof value === 'string'
}

function wordsOf(search: string): readonly string[] {
  return folded(search)
    .split(/\s+/)
    .filter((word) => word !== '')
}

const ascii = /^[\0-\x7f]*$/

/** Makes texts equal that differ only in case or accents: `straße` and `STRASSE`. */
function folded(text: string): string {
  return ascii.test(text) ? text.toLowerCase() : foldName(text.normalize('NFKD').replace(/\p{M}+/gu, ''))
}
