import { Problem } from '#client/client'
import type { FleetQuery } from '#dashboard/pages/fleet/view'
import { now, runAfter } from '#dashboard/timers'

export interface FleetResult {
  /** In ascending order. Undefined until the first identifiers are known. */
  readonly identifiers: readonly string[] | undefined
  /** False while more identifiers are being read, and if there are more than the page keeps. */
  readonly isComplete: boolean
  readonly problem?: unknown
}

export type FetchFleetPage = (
  query: FleetQuery & { readonly limit: number; readonly cursor?: string; readonly deviceIdentifier?: string[] },
) => Promise<{ readonly identifiers: readonly string[]; readonly cursor?: string | undefined }>

/** The page keeps this number of identifiers: some megabytes. */
export const identifiersMax = 100_000

/** Enough to fill a screen. */
const firstPage = 100
/** The server reads a page of this size in a few milliseconds. */
const laterPages = 5_000

/** The pause before devices that events concern are checked. */
const checkMs = 1_000
const checkedAtOnce = 50
/** With more devices to check, it is cheaper to read everything again. */
const checkedMax = 500

/** The minimum time from one complete read to the next; after a slow read, twenty times its duration. */
const rereadMs = 10_000
const rereadPerCost = 20
const retryMs = 3_000

/**
 * Identifiers of the devices that a query finds: read page by page, and kept current by asking the server about devices
 * that events concern.
 */
export class FleetSearch {
  readonly #query: FleetQuery
  readonly #ask: FetchFleetPage
  readonly #publish: (result: FleetResult) => void
  #result: FleetResult = { identifiers: undefined, isComplete: false }
  readonly #toCheck = new Set<string>()
  #isReading = false
  #isOutdated = false
  #isStopped = false
  /** The earliest time of the next complete read, Unix ms. */
  #rereadAt = 0
  #cancel: (() => void) | undefined

  constructor(query: FleetQuery, ask: FetchFleetPage, publish: (result: FleetResult) => void) {
    this.#query = query
    this.#ask = ask
    this.#publish = publish
    void this.#read()
  }

  stop(): void {
    this.#isStopped = true
    this.#cancel?.()
  }

  has(device: string): boolean {
    const { identifiers = [] } = this.#result
    return identifiers[placeOf(identifiers, device)] === device
  }

  /** Call it when a device may have begun or ceased to match. */
  check(device: string): void {
    const { identifiers, isComplete } = this.#result
    const isBeyond = !isComplete && !this.#isReading && device > (identifiers?.at(-1) ?? '')
    if (isBeyond) return
    if (!this.#isOutdated) this.#toCheck.add(device)
    if (this.#toCheck.size > checkedMax) this.readAgain()
    else this.#continueAfter(checkMs)
  }

  /** Call it when events were missed, or when there were too many events. */
  readAgain(): void {
    this.#isOutdated = true
    this.#toCheck.clear()
    this.#continueAfter(checkMs)
  }

  #continueAfter(ms: number): void {
    if (this.#isReading || this.#isStopped) return
    this.#cancel ??= runAfter(ms, () => {
      this.#cancel = undefined
      if (!this.#isOutdated) void this.#checkAll()
      else if (now() < this.#rereadAt) this.#continueAfter(this.#rereadAt - now())
      else void this.#read()
    })
  }

  async #read(): Promise<void> {
    this.#isOutdated = false
    const began = now()
    const isFirst = this.#result.identifiers === undefined
    await this.#whileReading(async () => {
      const found: string[] = []
      let cursor: string | undefined
      do {
        const limit = cursor === undefined ? firstPage : laterPages
        const page = await this.#ask({ ...this.#query, limit, ...(cursor !== undefined && { cursor }) })
        found.push(...page.identifiers)
        cursor = page.cursor
        if (isFirst) this.#show({ identifiers: [...found], isComplete: false })
      } while (cursor !== undefined && found.length < identifiersMax && !this.#isStopped)
      this.#show({
        identifiers: found.slice(0, identifiersMax),
        isComplete: cursor === undefined && found.length <= identifiersMax,
      })
      this.#rereadAt = now() + Math.max(rereadMs, (now() - began) * rereadPerCost)
    })
  }

  async #checkAll(): Promise<void> {
    await this.#whileReading(async () => {
      while (this.#toCheck.size > 0 && !this.#isStopped && !this.#isOutdated) {
        const devices = [...this.#toCheck].slice(0, checkedAtOnce)
        for (const device of devices) this.#toCheck.delete(device)
        const page = await this.#ask({ ...this.#query, limit: checkedAtOnce, deviceIdentifier: devices })
        const found = new Set(page.identifiers)
        const changed = devices.filter((device) => this.has(device) !== found.has(device))
        if (changed.length > 0) this.#show({ ...this.#result, identifiers: this.#toggled(changed) })
      }
    })
  }

  /** The identifiers, after removing the given devices that are among them and adding the others. */
  #toggled(devices: readonly string[]): readonly string[] {
    const identifiers = [...(this.#result.identifiers ?? [])]
    for (const device of devices) {
      const place = placeOf(identifiers, device)
      if (identifiers[place] === device) identifiers.splice(place, 1)
      else if (place < identifiers.length || this.#result.isComplete) identifiers.splice(place, 0, device)
    }
    return identifiers
  }

  async #whileReading(work: () => Promise<void>): Promise<void> {
    this.#isReading = true
    let pauseMs = checkMs
    try {
      await work()
    } catch (problem) {
      this.#isOutdated = true
      this.#toCheck.clear()
      pauseMs = retryMs
      this.#show({ ...this.#result, problem })
      // A repeated request would be refused again.
      if (problem instanceof Problem && problem.status === 400) return
    } finally {
      this.#isReading = false
    }
    if (this.#isOutdated || this.#toCheck.size > 0) this.#continueAfter(pauseMs)
  }

  #show(result: FleetResult): void {
    if (this.#isStopped) return
    this.#result = result
    this.#publish(result)
  }
}

/** The place of an identifier in a sorted list, or where it would be. */
function placeOf(identifiers: readonly string[], device: string): number {
  let low = 0
  let high = identifiers.length
  while (low < high) {
    const middle = (low + high) >> 1
    if ((identifiers[middle] as string) < device) low = middle + 1
    else high = middle
  }
  return low
}
