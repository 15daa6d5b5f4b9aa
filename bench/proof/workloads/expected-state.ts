import type { HttpAnswer } from '#bench/http'
import type { ProofApi } from '#bench/proof/workloads/proof-api'
import type { SeededRandom } from '#bench/random'
import { isFulfilled, sleep, unixMs } from '#bench/time'
import { isServerMadeId } from '#model/identifier'

/** The resource in a slot. */
export interface Observed {
  /** A text that is unique to the last change. */
  readonly content: string
  /** The id that the server gave the resource. */
  readonly id?: string
}

/** A request that changes one slot. */
export interface Change {
  readonly method: string
  readonly path: string
  /** One of `Workload.operations`. */
  readonly operation?: string
  readonly body?: object | Uint8Array
  /** Headers that replace the administrator's. */
  readonly headers?: Readonly<Record<string, string>>
  /** The content that `observe` finds after the change without its answer; undefined: the slot is empty. */
  readonly content: string | undefined
  /** Called with the answer to a change that is done. Returns the content, if only the answer contains it. */
  readonly onAnswer?: (answer: HttpAnswer) => string | undefined
  /** The text of the event of this change, which is published once; see `Workload.eventText`. */
  readonly eventText?: string
  /** The server may rightly refuse a repeat. */
  readonly isSentOnce?: boolean
  /** The status of a change that must be refused. */
  readonly expectedStatus?: number
}

/** One kind of write: slots that are changed again and again, and a way to read all of them at once. */
export interface Workload {
  readonly name: string
  readonly slots: readonly string[]
  /** Changes are counted under these names; default: under the name of the workload. */
  readonly operations?: readonly string[]
  /** Average pause between two changes of a slot. Default: 80 ms. */
  readonly pauseMs?: number
  /** Statuses that mean "not now" and change nothing. */
  readonly busyStatuses?: readonly number[]
  /** Called before each run of changes, also after starts of the server that no `observe` follows. */
  begin?(api: ProofApi): Promise<void>
  /** `number` is never used twice in a run. */
  nextChange(slot: string, before: Observed | undefined, number: number, random: SeededRandom): Change
  /** Reads all slots that are not empty. `entries`: their expected contents. @throws for an answer that must not be */
  observe(api: ProofApi, entries: ReadonlyMap<string, SlotEntry>): Promise<ReadonlyMap<string, Observed>>
  /** The text of an event of this workload. */
  eventText?(event: Readonly<Record<string, unknown>>): string | undefined
  /**
   * The events are values of a property: a slow subscriber may miss values that later values override. Contract 4.5.
   */
  readonly isOverridable?: boolean
}

export interface SlotEntry {
  /** The last acknowledged content. */
  observed: Observed | undefined
  /** The change of which the outcome is unknown: it was not answered, or `isUnavailable`: by 503 or 504. */
  pending: { readonly change: Change; readonly key: string; isUnavailable?: true } | undefined
}

/** The entry from a time on, Unix ms. Changes are without their bodies: images are large, and are not sent again. */
interface PastEntry extends SlotEntry {
  readonly at: number
}

export interface ChangeCounts {
  acknowledged: number
  /** Changes without an answer at a kill: applied, and not applied. */
  landed: number
  vanished: number
  /** Repeated after a kill under the same key. */
  repeated: number
}

const noCounts: ChangeCounts = { acknowledged: 0, landed: 0, vanished: 0, repeated: 0 }
const pauseMsDefault = 80
const problemsMax = 5
/** The clocks of two processes differ by less than this. */
const clockDifferenceMs = 5

/**
 * The expected state of one workload. After each kill every acknowledged change must be there exactly; an unanswered
 * change must be there completely or not at all, and a repeat under the same `Idempotency-Key` must not apply it twice.
 */
export class ExpectedState {
  readonly workload: Workload
  readonly counts: Readonly<Record<string, ChangeCounts>>
  readonly #api: ProofApi
  readonly #random: SeededRandom
  readonly #entries: ReadonlyMap<string, SlotEntry>
  readonly #past: ReadonlyMap<string, PastEntry[]>
  readonly #nextNumber: () => number
  readonly #pauseMs: number
  readonly #problems: string[] = []
  /** The first slot of each id, because no id is assigned twice. */
  readonly #ids = new Map<string, string>()
  /** Texts of events that must be published once, that may be published once, and that were received. */
  readonly #required = new Set<string>()
  readonly #allowed = new Set<string>()
  readonly #received = new Map<string, number>()

  /** `pauseTimes`: a factor for the pauses of the workload. */
  constructor(workload: Workload, api: ProofApi, random: SeededRandom, nextNumber: () => number, pauseTimes = 1) {
    this.workload = workload
    const { slots, name, operations = [name], pauseMs = pauseMsDefault } = workload
    this.counts = Object.fromEntries(operations.map((each) => [each, { ...noCounts }]))
    this.#pauseMs = pauseMs * pauseTimes
    this.#api = api
    this.#random = random
    this.#nextNumber = nextNumber
    this.#entries = new Map(slots.map((slot) => [slot, { observed: undefined, pending: undefined }]))
    this.#past = new Map(slots.map((slot) => [slot, []]))
  }

  /** Changes all slots until the server does not answer, or `isOver`. */
  async run(isOver: () => boolean): Promise<void> {
    if (!(await isFulfilled(this.workload.begin?.(this.#api) ?? Promise.resolve()))) return
    const keepChanging = async (slot: string, entry: SlotEntry) => {
      while (!entry.pending && this.#problems.length < problemsMax) {
        await sleep(this.#random.between(0, 2 * this.#pauseMs))
        if (isOver()) return
        await this.#change(slot, entry)
      }
    }
    await Promise.all([...this.#entries].map(([slot, entry]) => keepChanging(slot, entry)))
  }

  /** Changes each slot once, one after the other. */
  async changeEach(): Promise<void> {
    for (const [slot, entry] of this.#entries) if (!entry.pending) await this.#change(slot, entry)
  }

  /**
   * Compares the server with the expected state, and records which unanswered changes were applied. Returns the
   * differences.
   */
  async check(): Promise<readonly string[]> {
    try {
      const observed = await this.workload.observe(this.#api, this.#entries)
      for (const [slot, entry] of this.#entries) await this.#compare(slot, entry, observed.get(slot))
    } catch (error) {
      this.#wrong(messageOf(error))
    }
    return this.#problems.splice(0)
  }

  /** Records an event. Returns whether it is of this workload. */
  receive(event: Readonly<Record<string, unknown>>): boolean {
    const text = this.workload.eventText?.(event)
    if (text === undefined) return false
    this.#received.set(text, (this.#received.get(text) ?? 0) + 1)
    return true
  }

  /**
   * Events that are missing, duplicate or invented. Must be called while no change is under way. `isWhole`: the
   * subscriber was never too slow.
   */
  eventFaults(isWhole: boolean): readonly string[] {
    const { name, isOverridable } = this.workload
    const mayMiss = !isWhole && isOverridable === true
    const texts = new Set([...this.#required, ...this.#received.keys()])
    const faults = [...texts].flatMap((text) => {
      const times = this.#received.get(text) ?? 0
      if (!this.#allowed.has(text)) return [`${name}: ${text} was published without a request`]
      if (times === 1 || (times === 0 && mayMiss)) return []
      return [`${name}: ${text} was ${this.#required.has(text) ? 'acknowledged, and ' : ''}published ${times} times`]
    })
    return faults.slice(0, problemsMax)
  }

  /** The acknowledged changes that are missing on a server (`api`) with a copy of the folder from the time `at`, Unix ms. */
  async faultsAt(at: number, api: ProofApi): Promise<readonly string[]> {
    // Only the last change before the moment can be pending: the next one is sent after its outcome is known.
    const entries = new Map<string, SlotEntry>(
      [...this.#past].map(([slot, past]) => [
        slot,
        past.findLast((entry) => entry.at < at) ?? { observed: undefined, pending: undefined },
      ]),
    )
    try {
      const observed = await this.workload.observe(api, entries)
      for (const [slot, entry] of entries) this.#mustContain(slot, entry, observed.get(slot))
    } catch (error) {
      this.#wrong(messageOf(error))
    }
    return this.#problems.splice(0)
  }

  async #change(slot: string, entry: SlotEntry): Promise<void> {
    const number = this.#nextNumber()
    const change = this.workload.nextChange(slot, entry.observed, number, this.#random)
    if (change.eventText !== undefined) this.#allowed.add(change.eventText)
    entry.pending = { change, key: `proof-${number}` }
    const { body: _, ...sent } = change
    const past = this.#past.get(slot) as PastEntry[]
    past.push({ at: unixMs() - clockDifferenceMs, observed: entry.observed, pending: { change: sent, key: '' } })
    // Without an answer, the outcome is known after the next start.
    const answer = await this.#send(entry.pending).catch(() => undefined)
    if (!answer) return
    // After 503 and 504 the change may be there when the store is read again, or a device may have done it.
    if (answer.status === 503 || answer.status === 504) {
      entry.pending.isUnavailable = true
      return
    }
    const at = unixMs()
    this.#answered(slot, entry, answer)
    past.push({ at, ...entry })
  }

  #send({ change, key }: NonNullable<SlotEntry['pending']>): Promise<HttpAnswer> {
    const headers = { 'idempotency-key': key, ...change.headers }
    return this.#api.ask(change.method, change.path, { headers, ...(change.body && { body: change.body }) })
  }

  #answered(slot: string, entry: SlotEntry, answer: HttpAnswer): void {
    const { change } = entry.pending as NonNullable<SlotEntry['pending']>
    entry.pending = undefined
    if (this.workload.busyStatuses?.includes(answer.status)) return
    const { method, path, expectedStatus } = change
    if (expectedStatus === undefined ? answer.status >= 300 : answer.status !== expectedStatus) {
      this.#wrong(`${slot}: ${method} ${path} was answered ${answer.status} ${answer.text.slice(0, 200)}`)
      return
    }
    this.#countsOf(change).acknowledged++
    if (change.eventText !== undefined) this.#required.add(change.eventText)
    const content = change.onAnswer?.(answer) ?? change.content
    const id = idIn(answer) ?? entry.observed?.id
    this.#adopt(slot, entry, content === undefined ? undefined : { content, ...(id !== undefined && { id }) })
  }

  async #compare(slot: string, entry: SlotEntry, observed: Observed | undefined): Promise<void> {
    const { pending, observed: before } = entry
    this.#mustContain(slot, entry, observed)
    if (!pending) {
      entry.observed = observed
      return
    }
    const { change } = pending
    const hasLanded = observed?.content === change.content
    const isDone = hasLanded && observed?.content !== before?.content
    this.#countsOf(change)[isDone ? 'landed' : 'vanished']++
    if (isDone && change.eventText !== undefined) this.#required.add(change.eventText)
    if (!change.isSentOnce && this.#random.below(2) === 0) {
      this.#countsOf(change).repeated++
      const answer = await this.#send(pending)
      // A repeated DELETE may find that the resource is gone.
      const isGone = hasLanded && change.method === 'DELETE' && answer.status === 404
      this.#answered(slot, entry, isGone ? { ...answer, status: 204 } : answer)
      return
    }
    entry.pending = undefined
    this.#adopt(slot, entry, observed)
  }

  /** Notes a fault unless the slot contains the acknowledged content, or that of the pending change. */
  #mustContain(slot: string, { observed: before, pending }: SlotEntry, observed: Observed | undefined): void {
    if (observed?.content !== before?.content) {
      if (pending && observed?.content === pending.change.content) return
      const asked = pending ? `, ${pending.change.path} asked for ${shown(pending.change)}` : ''
      this.#wrong(`${slot} contains ${shown(observed)}, and ${shown(before)} was acknowledged${asked}`)
    } else if (!pending && before?.id !== undefined && observed?.id !== undefined && before.id !== observed.id)
      this.#wrong(`${slot} had the id ${before.id}, and has ${observed.id}`)
  }

  /** A resource keeps its id; every later resource gets another. */
  #adopt(slot: string, entry: SlotEntry, observed: Observed | undefined): void {
    const id = observed?.id
    if (id !== undefined && entry.observed?.id !== id) {
      const owner = this.#ids.get(id)
      if (owner !== undefined) this.#wrong(`${id} was given to ${owner}, and again to ${slot}`)
      this.#ids.set(id, slot)
    }
    entry.observed = observed
  }

  #countsOf({ operation }: Change): ChangeCounts {
    return this.counts[operation ?? this.workload.name] as ChangeCounts
  }

  #wrong(text: string): void {
    if (this.#problems.length < problemsMax) this.#problems.push(`${this.workload.name}: ${text}`)
  }
}

function shown(observed: Pick<Change, 'content'> | undefined): string {
  return observed?.content === undefined ? 'nothing' : `"${observed.content}"`
}

function idIn({ text }: HttpAnswer): string | undefined {
  if (!text.startsWith('{')) return undefined
  const { resourceIdentifier, id } = JSON.parse(text) as { resourceIdentifier?: unknown; id?: unknown }
  const found = typeof id === 'string' ? id : resourceIdentifier
  return typeof found === 'string' ? madeIdOf(found) : undefined
}

/** The id in a resource name, if the server generated it; a name that a user chose may be used again. */
export function madeIdOf(text: string): string | undefined {
  const id = text.slice(text.lastIndexOf(':') + 1)
  return isServerMadeId(id) ? id : undefined
}

/** Names of slots: `PREFIX-0` and so on. */
export function slotsOf(prefix: string, count: number): readonly string[] {
  return Array.from({ length: count }, (_, at) => `${prefix}-${at}`)
}

export async function observeEach(
  entries: ReadonlyMap<string, SlotEntry>,
  observe: (slot: string, entry: SlotEntry) => Promise<Observed | undefined>,
): Promise<ReadonlyMap<string, Observed>> {
  const all = await Promise.all([...entries].map(async ([slot, entry]) => [slot, await observe(slot, entry)] as const))
  return new Map(all.flatMap(([slot, observed]) => (observed ? [[slot, observed] as const] : [])))
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error)
}
