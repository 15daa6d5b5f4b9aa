import type { HttpAnswer } from '#bench/http'
import type { ProofApi } from '#bench/proof/clerks/proof-api'
import type { SeededRandom } from '#bench/random'
import { isServerMadeId } from '#model/identifier'

/** What is there under the name of a slot. `id`: what the server made up for it. */
export interface Found {
  /** What it says, in words that no other wish of the whole run would leave. */
  readonly held: string
  readonly id?: string
}

/** A request that changes one slot. */
export interface Wish {
  readonly method: string
  readonly path: string
  readonly body?: object | Uint8Array
  /** Instead of the administrator's. */
  readonly headers?: Readonly<Record<string, string>>
  /** What the slot holds when it is done; undefined: nothing; a function: what only the answer says. */
  readonly held: string | undefined | ((answer: HttpAnswer) => string)
  /** What the stream tells of it, once; see `LedgerKind.told`. */
  readonly told?: string
  /** A repeat of it may be refused though nothing is wrong. */
  readonly isOnceOnly?: boolean
  /** What it is answered when it is done, where that is a refusal. */
  readonly refusal?: number
  /** Hears the answer when it is done: what is to be used later. */
  readonly heard?: (answer: HttpAnswer) => void
  /** Hears that it was refused for now, or that nobody knows: 503, 504. */
  readonly refused?: () => void
}

/** One kind of write: slots that a clerk each changes again and again, and how to look at all of them at once. */
export interface LedgerKind {
  readonly name: string
  readonly slots: readonly string[]
  /** Between two wishes of a slot, on average. Default: 80 ms. */
  readonly pauseMs?: number
  /** Statuses that say "not now", and change nothing. */
  readonly busy?: readonly number[]
  /** Before the clerks work: what a server that was started since has to tell them. */
  begin?(api: ProofApi): Promise<void>
  /** Of `number` nothing was ever wished before. */
  wish(slot: string, before: Found | undefined, number: number, random: SeededRandom): Wish
  /** All slots that hold something. `entries`: what is thought of them. @throws when what is there is no good */
  look(api: ProofApi, entries: ReadonlyMap<string, LedgerEntry>): Promise<ReadonlyMap<string, Found>>
  /** What a slot may hold for which `look` can't say more than that it is something else than before. */
  readonly unknown?: string
  /** What an event says of this kind, if it does. */
  told?(event: Readonly<Record<string, unknown>>): string | undefined
  /** They are values of a property: who falls behind is spared those that a later one overrides. Contract 4.5. */
  readonly mayBeSpared?: boolean
}

export interface LedgerEntry {
  /** What was acknowledged last. */
  found: Found | undefined
  /** Asked for, and not answered. */
  pending: { readonly wish: Wish; readonly key: string } | undefined
}

/** For who looks back. Times in Unix ms. */
interface PastWish {
  /** Without its body: images are large, and nobody asks for them again. */
  readonly wish: Omit<Wish, 'body'>
  readonly before: Found | undefined
  readonly askedAt: number
  /** Infinity: never. */
  answeredAt: number
  /** What it left, as the answer had it. */
  left: Found | undefined
}

export interface LedgerCounts {
  acknowledged: number
  /** Not answered before a kill: done all the same, and not. */
  landed: number
  vanished: number
  /** Said again under the same key behind a kill. */
  repeated: number
  busy: number
}

const pauseMsDefault = 80
const problemsMax = 5
/** By which what two processes say of the time may differ, and a bit. */
const clocksMs = 5

/**
 * Books about one kind of write. A wish that was answered must be there behind every kill, exactly; one that was not must
 * be there whole or not at all, and its repeat under the same `Idempotency-Key` must not do it twice.
 */
export class Ledger {
  readonly kind: LedgerKind
  readonly counts: LedgerCounts = { acknowledged: 0, landed: 0, vanished: 0, repeated: 0, busy: 0 }
  readonly #api: ProofApi
  readonly #random: SeededRandom
  readonly #entries: ReadonlyMap<string, LedgerEntry>
  readonly #nextNumber: () => number
  readonly #pauseMs: number
  readonly #problems: string[] = []
  /** By id, what held it first: none is given twice. */
  readonly #ids = new Map<string, string>()
  /** What the stream must tell once; may tell at most once; has told. */
  readonly #mustTell = new Set<string>()
  readonly #mayTell = new Set<string>()
  readonly #heard = new Map<string, number>()
  readonly #history = new Map<string, PastWish[]>()

  /** `pauseTimes`: the clerks rest for so many times as long as the kind says. */
  constructor(kind: LedgerKind, api: ProofApi, random: SeededRandom, nextNumber: () => number, pauseTimes = 1) {
    this.kind = kind
    this.#pauseMs = (kind.pauseMs ?? pauseMsDefault) * pauseTimes
    this.#api = api
    this.#random = random
    this.#nextNumber = nextNumber
    this.#entries = new Map(kind.slots.map((slot) => [slot, { found: undefined, pending: undefined }]))
  }

  /** Until the server is gone, or `isOver`. */
  async work(isOver: () => boolean): Promise<void> {
    const isThere = await (this.kind.begin?.(this.#api) ?? Promise.resolve()).then(
      () => true,
      () => false,
    )
    if (!isThere) return
    await Promise.all([...this.#entries].map(([slot, entry]) => this.#change(slot, entry, isOver)))
  }

  /** One change of each slot, one after the other. `answered`: after each, when nothing is under way. */
  async takeTurns(answered: () => void): Promise<void> {
    for (const [slot, entry] of this.#entries) {
      if (entry.pending) continue
      await this.#wish(slot, entry)
      answered()
    }
  }

  /** Looks at everything there is, holds it against the books, and brings these up to it. */
  async settle(): Promise<readonly string[]> {
    try {
      const found = await this.kind.look(this.#api, this.#entries)
      for (const [slot, entry] of this.#entries) await this.#settle(slot, entry, found.get(slot))
    } catch (error) {
      this.#wrong(error instanceof Error ? error.message : String(error))
    }
    return this.#problems.splice(0)
  }

  hear(event: Readonly<Record<string, unknown>>): boolean {
    const text = this.kind.told?.(event)
    if (text === undefined) return false
    this.#heard.set(text, (this.#heard.get(text) ?? 0) + 1)
    return true
  }

  /** What was acknowledged, or found to be done, and is told by the stream. */
  get mustHaveTold(): readonly string[] {
    return [...this.#mustTell]
  }

  /** What the stream did not tell, or told twice, or made up. When nothing is under way. `isWhole`: nobody fell behind. */
  untold(isWhole: boolean): readonly string[] {
    if (!this.kind.told) return []
    const isSpared = !isWhole && this.kind.mayBeSpared === true
    const faults = [...this.#mustTell].flatMap((text) => {
      const times = this.#heard.get(text) ?? 0
      return times === 1 || (times === 0 && isSpared)
        ? []
        : [`${this.kind.name}: ${text} was acknowledged, and told ${times} times`]
    })
    for (const [text, times] of this.#heard) {
      if (this.#mustTell.has(text)) continue
      if (!this.#mayTell.has(text)) faults.push(`${this.kind.name}: ${text} was told, and never asked for`)
      else if (times > 1) faults.push(`${this.kind.name}: ${text} was told ${times} times`)
    }
    return faults.slice(0, problemsMax)
  }

  /** What is not there of all that was answered before a moment, in what is left of it. See `Office.faultsAt`. */
  async faultsAt(at: number, api: ProofApi): Promise<readonly string[]> {
    const entries = new Map(this.kind.slots.map((slot) => [slot, this.#entryAt(slot, at)]))
    try {
      const found = await this.kind.look(api, entries)
      return [...entries].flatMap(([slot, { found: wanted, pending }]) => {
        const there = found.get(slot)
        if (there?.held === wanted?.held || (pending && isAfter(pending.wish, there, this.kind.unknown))) return []
        return [`${this.kind.name}: ${slot} holds ${shown(there)}, and ${shown(wanted)} was acknowledged`]
      })
    } catch (error) {
      return [`${this.kind.name}: ${error instanceof Error ? error.message : String(error)}`]
    }
  }

  /** What the stream told, or was to tell, of all that was answered before a moment. */
  toldBefore(at: number): readonly string[] {
    return [...this.#history.values()]
      .flat()
      .flatMap(({ wish, answeredAt }) => (answeredAt < at && wish.told !== undefined ? [wish.told] : []))
  }

  /** Whatever was asked for before the last wish was known to be done, or not, when that was made. */
  #entryAt(slot: string, at: number): LedgerEntry {
    const last = (this.#history.get(slot) ?? []).findLast(({ askedAt }) => askedAt < at + clocksMs)
    if (!last || last.answeredAt < at) return { found: last?.left, pending: undefined }
    return { found: last.before, pending: { wish: last.wish, key: '' } }
  }

  async #change(slot: string, entry: LedgerEntry, isOver: () => boolean): Promise<void> {
    while (!entry.pending && this.#problems.length < problemsMax) {
      await pass(this.#random.between(0, 2 * this.#pauseMs))
      if (isOver()) return
      await this.#wish(slot, entry)
    }
  }

  async #wish(slot: string, entry: LedgerEntry): Promise<void> {
    const number = this.#nextNumber()
    const wish = this.kind.wish(slot, entry.found, number, this.#random)
    if (wish.told !== undefined) this.#mayTell.add(wish.told)
    const pending = { wish, key: `proof-${number}` }
    entry.pending = pending
    const past = this.#keepPast(slot, wish, entry.found)
    // Gone with the server: what became of it shows when there is one again.
    const answer = await this.#ask(pending).catch(() => undefined)
    // Refused for now, or nobody knows: it may be there all the same when the store is read anew, or a device may have done it.
    if (!answer || answer.status === 503 || answer.status === 504) {
      if (answer) wish.refused?.()
      return
    }
    past.answeredAt = nowOf()
    this.#answered(slot, entry, answer)
    past.left = entry.found
  }

  #keepPast(slot: string, { body: _, ...wish }: Wish, before: Found | undefined): PastWish {
    const past: PastWish = { wish, before, askedAt: nowOf(), answeredAt: Infinity, left: undefined }
    const history = this.#history.get(slot) ?? []
    this.#history.set(slot, history)
    history.push(past)
    return past
  }

  #ask({ wish, key }: NonNullable<LedgerEntry['pending']>): Promise<HttpAnswer> {
    const headers = { 'idempotency-key': key, ...wish.headers }
    return this.#api.ask(wish.method, wish.path, { headers, ...(wish.body && { body: wish.body }) })
  }

  #answered(slot: string, entry: LedgerEntry, answer: HttpAnswer): void {
    const { wish } = entry.pending as NonNullable<LedgerEntry['pending']>
    entry.pending = undefined
    if (this.kind.busy?.includes(answer.status)) {
      this.counts.busy++
      return
    }
    if (wish.refusal === undefined ? answer.status >= 300 : answer.status !== wish.refusal) {
      const asked = `${slot}: ${wish.method} ${wish.path}`
      this.#wrong(`${asked} was answered ${answer.status} ${answer.text.slice(0, 200)}`)
      return
    }
    this.counts.acknowledged++
    wish.heard?.(answer)
    if (wish.told !== undefined) this.#mustTell.add(wish.told)
    const held = typeof wish.held === 'function' ? wish.held(answer) : wish.held
    if (held === undefined) {
      entry.found = undefined
      return
    }
    const id = idIn(answer) ?? entry.found?.id
    this.#keepId(slot, entry.found, id)
    entry.found = { held, ...(id !== undefined && { id }) }
  }

  async #settle(slot: string, entry: LedgerEntry, found: Found | undefined): Promise<void> {
    const { pending } = entry
    const isAsBefore = found?.held === entry.found?.held
    if (!pending) {
      if (!isAsBefore) this.#wrong(`${slot} holds ${shown(found)}, and ${shown(entry.found)} was acknowledged`)
      else if (entry.found?.id !== undefined && found?.id !== undefined && entry.found.id !== found.id)
        this.#wrong(`${slot} was ${entry.found.id}, and is ${found.id}`)
      entry.found = found
      return
    }
    const hasLanded = isAfter(pending.wish, found, this.kind.unknown)
    if (!hasLanded && !isAsBefore)
      this.#wrong(
        `${slot} holds ${shown(found)}: neither ${shown(entry.found)} nor what ${pending.wish.path} asked for`,
      )
    const isDone = hasLanded && !isAsBefore
    this.counts[isDone ? 'landed' : 'vanished']++
    if (isDone && pending.wish.told !== undefined) this.#mustTell.add(pending.wish.told)
    const isRepeated = !pending.wish.isOnceOnly && this.#random.below(2) === 0
    if (isRepeated) {
      this.counts.repeated++
      const answer = await this.#ask(pending)
      // What was taken away can't be taken away again: that is an answer, too.
      const isGone = hasLanded && pending.wish.method === 'DELETE' && answer.status === 404
      this.#answered(slot, entry, isGone ? { ...answer, status: 204 } : answer)
      return
    }
    entry.pending = undefined
    this.#keepId(slot, entry.found, found?.id)
    entry.found = found
  }

  /** A thing keeps its id; the next one, there or elsewhere, gets another. */
  #keepId(slot: string, before: Found | undefined, id: string | undefined): void {
    if (id === undefined || before?.id === id) return
    const owner = this.#ids.get(id)
    if (owner !== undefined) this.#wrong(`${id} was given to ${owner}, and again to ${slot}`)
    this.#ids.set(id, slot)
  }

  #wrong(text: string): void {
    if (this.#problems.length < problemsMax) this.#problems.push(`${this.kind.name}: ${text}`)
  }
}

function isAfter({ held }: Wish, found: Found | undefined, unknown: string | undefined): boolean {
  return typeof held === 'function' ? found?.held === unknown : found?.held === held
}

function shown(found: Found | undefined): string {
  return found ? `"${found.held}"` : 'nothing'
}

/** What the server made up for what it made, if its answer says it. */
function idIn({ text }: HttpAnswer): string | undefined {
  if (!text.startsWith('{')) return undefined
  const { resourceIdentifier, id } = JSON.parse(text) as { resourceIdentifier?: unknown; id?: unknown }
  const found = typeof id === 'string' ? id : resourceIdentifier
  return typeof found === 'string' ? madeIdOf(found) : undefined
}

/** Of a resource name or an id, where the server made it up; names of people's choice may come again. */
export function madeIdOf(text: string): string | undefined {
  const id = text.slice(text.lastIndexOf(':') + 1)
  return isServerMadeId(id) ? id : undefined
}

/** Unix ms, with fractions. */
function nowOf(): number {
  return performance.timeOrigin + performance.now()
}

function pass(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms))
}
