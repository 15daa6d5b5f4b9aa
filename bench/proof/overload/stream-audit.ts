import { readState, type StreamPosition, streamHead } from '#bench/dashboard'
import { type DeviceEntry, FoldedState } from '#bench/dashboard/fold'
import type { Fleet } from '#bench/fleet/fleet'
import { HeardBooks, type HeardUpdate } from '#bench/fleet/heard'
import type { LoadedServer } from '#bench/harness/under-load'
import { identifierOf } from '#bench/load/fleet-link'
import { carriedValue, firstPropId } from '#bench/load/update-template'
import type { FleetBooks } from '#bench/proof/overload/counted-fleet'
import { EventEar } from '#bench/proof/overload/event-ear'
import { headOf, offsetOf, reportedBy } from '#bench/proof/overload/event-text'

export interface AuditOptions extends LoadedServer {
  /** Where the stream is read from; nothing of these was said before. */
  readonly first: StreamPosition
  /** Fleets whose frames are held against what was heard, one by one. */
  readonly fleets: readonly Fleet[]
  /** Fleets that counted. */
  readonly books: readonly FleetBooks[]
}

export interface Audited {
  readonly events: number
  readonly acknowledged: number
  readonly problems: readonly string[]
}

const silenceMsMax = 20_000
const problemsMax = 20

/**
 * Holds what a server has stored against what it acknowledged: reads the stream from its beginning, in which every
 * acknowledged frame must be once and in its device's order, and the state, which must be what the stream says.
 */
export async function audited(options: AuditOptions): Promise<Audited> {
  const audit = new StreamAudit(options)
  return audit.run()
}

class StreamAudit {
  readonly #options: AuditOptions
  readonly #problems: string[] = []
  readonly #counted: readonly { readonly books: FleetBooks; readonly heard: Uint32Array }[]
  readonly #named: readonly HeardBooks[]
  readonly #prefixes: readonly string[]
  readonly #folded = new FoldedState()
  #offset: number
  #events = 0

  constructor(options: AuditOptions) {
    this.#options = options
    this.#offset = options.first.offset
    this.#counted = options.books.map((books) => ({ books, heard: new Uint32Array(books.sent.length) }))
    this.#named = options.fleets.map(({ devices }) => new HeardBooks(devices, 'whole'))
    this.#prefixes = options.fleets.map((fleet) => `"deviceIdentifier":"${fleet.options.prefix}-`)
  }

  async run(): Promise<Audited> {
    const { port, authorizations } = this.#options
    const url = `http://127.0.0.1:${port}`
    const head = await streamHead(url, authorizations?.person)
    await this.#readTo(head.offset)
    this.#closeBooks()
    const { entries } = await readState(url, authorizations?.person)
    this.#holdState(entries)
    return {
      events: this.#events,
      acknowledged:
        this.#named.reduce((sum, books) => sum + books.report().acknowledged, 0) +
        this.#counted.reduce((sum, { books }) => sum + books.acknowledged.reduce((all, each) => all + each, 0), 0),
      problems: this.#problems,
    }
  }

  async #readTo(head: number): Promise<void> {
    const { epoch, offset } = this.#options.first
    const query = { epoch, offset: String(offset) }
    const ear = new EventEar({ ...this.#options, query, heard: (bytes, start, end) => this.#hear(bytes, start, end) })
    await ear.open()
    let [before, movedAt] = [this.#offset, performance.now()]
    while (this.#offset < head && Object.keys(ear.ends).length === 0) {
      await new Promise((resolve) => setTimeout(resolve, 20))
      if (this.#offset > before) [before, movedAt] = [this.#offset, performance.now()]
      else if (performance.now() - movedAt > silenceMsMax) break
    }
    ear.stop()
    if (this.#offset < head) this.#problem(`the stream could be read to ${this.#offset} only, of ${head}`)
  }

  #hear(bytes: Buffer, start: number, end: number): void {
    const head = headOf(bytes, start, end)
    const offset = offsetOf(bytes, start, head)
    if (head.startsWith('{"type":"STREAM"')) {
      if (!head.includes('"recovered":true')) this.#problem('the stream was not there from its beginning')
      return
    }
    if (offset !== this.#offset + 1) this.#problem(`offset ${offset} was heard behind ${this.#offset}`)
    this.#offset = offset ?? this.#offset
    this.#events++
    for (const { books, heard } of this.#counted) {
      const reported = reportedBy(books.prefix, bytes, end, head)
      if (!reported) continue
      const { device, number } = reported
      if (number !== (heard[device] as number) + 1) {
        this.#problem(`${books.prefix}: device ${device} said ${number} behind ${heard[device]}`)
      }
      heard[device] = number
      return
    }
    if (this.#prefixes.some((prefix) => head.includes(prefix))) this.#hearNamed(bytes.toString('utf8', start, end))
  }

  #hearNamed(text: string): void {
    const event = JSON.parse(text) as Readonly<Record<string, unknown>>
    this.#folded.apply(event)
    if (event.type === 'OBJECT_UPDATED') {
      const update = event as unknown as HeardUpdate
      if (!this.#named.some((books) => books.hear(update))) this.#problem(`of nobody: ${text.slice(0, 200)}`)
    }
  }

  #closeBooks(): void {
    for (const { books, heard } of this.#counted) {
      const { prefix, sent, acknowledged } = books
      for (const [device, number] of heard.entries()) {
        const [least, most] = [acknowledged[device] as number, sent[device] as number]
        if (number < least) this.#problem(`${prefix}: device ${device} was acknowledged ${least}, stored are ${number}`)
        if (number > most) this.#problem(`${prefix}: device ${device} sent ${most}, stored are ${number}`)
      }
    }
    for (const books of this.#named) {
      const { lost, doubled, disordered, wrong, refusedHeard, details } = books.report()
      if (lost + doubled + disordered + wrong + refusedHeard === 0) continue
      this.#problem(
        `${lost} frames lost, ${doubled} doubled, ${disordered} out of order, ${wrong} wrong: ${details[0]}`,
      )
    }
  }

  /** `GET /devices` says what the stream said last. */
  #holdState(entries: readonly DeviceEntry[]): void {
    const byName = new Map(entries.map((entry) => [entry.deviceIdentifier, entry]))
    for (const { books, heard } of this.#counted) {
      for (const [device, number] of heard.entries()) {
        const name = identifierOf(books.prefix, device)
        const service = byName.get(name)?.services?.find((each) => each.serviceIdentifier === books.service)
        const shown = Object.values(service?.properties ?? {}).find(({ propId }) => propId === firstPropId)?.value
        const meant = number === 0 ? undefined : carriedValue(number, 1, 0)
        if (shown !== meant) this.#problem(`${name} shows ${shown}, the stream says ${meant}`)
      }
    }
    const names = this.#options.fleets.map((fleet) => `${fleet.options.prefix}-`)
    const state = new FoldedState()
    state.replace(entries.filter(({ deviceIdentifier }) => names.some((name) => deviceIdentifier.startsWith(name))))
    for (const text of this.#folded.differences(state, 5)) this.#problem(`stream against state: ${text}`)
  }

  #problem(text: string): void {
    if (this.#problems.length < problemsMax) this.#problems.push(text)
  }
}
