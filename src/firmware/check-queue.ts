import { isSame, keyOf } from '#firmware/availability'
import { Problem } from '#model/problem'
import { type OfferedFirmware, type UpdateQuery, UpdateServerBusy, UpdateServerFailed } from '#model/update-offer'
import type { World } from '#runtime/world'
import type { BackOff } from '#workers/back-off'
import { fractionOf } from '#workers/back-off'
import { EarliestFirst } from '#workers/earliest-first'

/** Size of the token bucket and tokens per second: 15 000 devices that reconnect are checked within 13 minutes. */
const bucketMax = 50
const perSecond = 20
const atOnceMax = 16
/** Most waiting questions. Above this, the next event of a device asks again. A question takes about 400 bytes. */
const waitingMax = 100_000
/** A question that fails is retried only this often: it may be the only one that fails. */
const triesMax = 5
/** Queue position after all questions with a waiting caller. */
const lastPosition = Number.MAX_VALUE

export interface CheckQueueParts {
  readonly world: World
  readonly backOff: BackOff
  /** @throws UpdateServerBusy, UpdateServerFailed: already reported to `backOff` */
  readonly ask: (question: UpdateQuery) => Promise<OfferedFirmware | undefined>
}

/**
 * Position in the queue. `somewhere`: random, so that servers do not ask for devices in the order of their connections.
 * `next`: before all that are not overdue, for a waiting caller. `behind`: last, without a waiting caller.
 */
export type Place = 'somewhere' | 'next' | 'behind'

type Answered = (offered: OfferedFirmware | undefined) => void

interface QueuedQuestion {
  question: UpdateQuery
  /** World.monotonic of its position in the queue. */
  at: number
  tries: number
  /** Whether its subject changed after it was asked. */
  isOvertaken: boolean
  waiters: { readonly answered: Answered; readonly failed: (error: unknown) => void }[]
}

/**
 * Questions to an update server without a user's request: each firmware of a device once, at the rate that the server
 * accepts. While the server fails, one question at a time is asked, after a growing pause. A failed question is retried
 * some times.
 *
 * A question becomes undefined if the same firmware is asked about again with another version.
 */
export class CheckQueue {
  readonly #parts: CheckQueueParts
  readonly #waiting = new Map<string, QueuedQuestion>()
  readonly #asking = new Set<QueuedQuestion>()
  /** By `at`. A question that moved is in it twice; only the entry with its current `at` counts. */
  readonly #order = new EarliestFirst<QueuedQuestion>()
  /** Number of waiting questions that are not in the last position. */
  #inFront = 0
  #tokens = bucketMax
  /** World.monotonic of the last token count. */
  #countedAt: number
  #cancel: (() => void) | undefined
  #isStopped = false

  constructor(parts: CheckQueueParts) {
    this.#parts = parts
    this.#countedAt = parts.world.monotonic()
  }

  get length(): number {
    return this.#waiting.size
  }

  /** @throws UpdateServerBusy, also if too many wait; UpdateServerFailed; Problem `stopping` */
  ask(question: UpdateQuery, place: Place): Promise<OfferedFirmware | undefined> {
    return new Promise((answered, failed) => {
      if (this.#isStopped) return failed(new Problem('stopping'))
      const asking = this.#askingOf(question)
      if (asking) {
        asking.waiters.push({ answered, failed })
        return
      }
      const waiting = this.#waitingFor(question)
      if (!waiting) return failed(new UpdateServerBusy(`${waitingMax} update checks are waiting`))
      waiting.waiters.push({ answered, failed })
      this.#move(waiting, this.#placeOf(place))
      this.goOn()
    })
  }

  /** Whether the question waits or is being asked. */
  has(question: UpdateQuery): boolean {
    const waiting = this.#waiting.get(keyOf(question))
    return (waiting && isSame(waiting.question, question)) || this.#askingOf(question) !== undefined
  }

  /** The server answers again: questions that waited for that continue. */
  goOn(): void {
    const { backOff, world } = this.#parts
    this.#cancel?.()
    this.#cancel = undefined
    while (!this.#isStopped && this.#waiting.size > 0 && this.#asking.size < (backOff.isFailing ? 1 : atOnceMax)) {
      const wait = Math.max(backOff.waitMs(), this.#tokenMs())
      if (wait > 0) {
        this.#cancel = world.after(Math.ceil(wait), () => this.goOn())
        return
      }
      const waiting = this.#take()
      if (!waiting) return
      this.#tokens--
      void this.#ask(waiting)
    }
  }

  /** Answers to running questions about a project may be outdated. */
  overtake(tenant: string, project: string): void {
    for (const asking of this.#asking) {
      if (asking.question.tenant === tenant && asking.question.project === project) asking.isOvertaken = true
    }
  }

  stop(): void {
    this.#isStopped = true
    this.#cancel?.()
    const all = [...this.#waiting.values(), ...this.#asking]
    this.#waiting.clear()
    this.#asking.clear()
    for (const { waiters } of all) for (const { failed } of waiters) failed(new Problem('stopping'))
  }

  /** The waiting question that another one may join. */
  #askingOf(question: UpdateQuery): QueuedQuestion | undefined {
    const key = keyOf(question)
    for (const asking of this.#asking) {
      if (!asking.isOvertaken && isSame(asking.question, question) && keyOf(asking.question) === key) return asking
    }
    return undefined
  }

  #waitingFor(question: UpdateQuery): QueuedQuestion | undefined {
    const key = keyOf(question)
    const waiting = this.#waiting.get(key)
    if (waiting) {
      if (!isSame(waiting.question, question)) settle(waiting, undefined)
      waiting.question = question
      return waiting
    }
    if (this.#waiting.size >= waitingMax) return undefined
    const made: QueuedQuestion = { question, at: Number.POSITIVE_INFINITY, tries: 0, isOvertaken: false, waiters: [] }
    this.#waiting.set(key, made)
    return made
  }

  #placeOf(place: Place): number {
    if (place === 'behind') return lastPosition
    const now = this.#parts.world.monotonic()
    return place === 'next' ? now : now + fractionOf(this.#parts.world) * (this.#inFront / perSecond) * 1_000
  }

  /** Moves a question forward only. */
  #move(waiting: QueuedQuestion, at: number): void {
    if (at >= waiting.at) return
    if (at < lastPosition && waiting.at >= lastPosition) this.#inFront++
    waiting.at = at
    this.#order.add(at, waiting)
  }

  /** Milliseconds until there is a token: 0 if there is one. */
  #tokenMs(): number {
    const now = this.#parts.world.monotonic()
    this.#tokens = Math.min(this.#tokens + ((now - this.#countedAt) * perSecond) / 1_000, bucketMax)
    this.#countedAt = now
    return this.#tokens >= 1 ? 0 : ((1 - this.#tokens) * 1_000) / perSecond
  }

  #take(): QueuedQuestion | undefined {
    for (let first = this.#order.first; first; first = this.#order.first) {
      const { at, thing: waiting } = first
      this.#order.removeFirst()
      const key = keyOf(waiting.question)
      if (waiting.at !== at || this.#waiting.get(key) !== waiting) continue
      this.#waiting.delete(key)
      if (at < lastPosition) this.#inFront--
      return waiting
    }
    return undefined
  }

  async #ask(waiting: QueuedQuestion): Promise<void> {
    const { question } = waiting
    this.#asking.add(waiting)
    let report: () => void
    try {
      const offered = await this.#parts.ask(question)
      report = () => settle(waiting, offered)
    } catch (error) {
      report = () => this.#failed(waiting, error)
    }
    this.#asking.delete(waiting)
    report()
    this.goOn()
  }

  #failed(waiting: QueuedQuestion, error: unknown): void {
    const { question, waiters } = waiting
    const isTheServers = error instanceof UpdateServerBusy || error instanceof UpdateServerFailed
    if (this.#waiting.has(keyOf(question))) {
      // It was asked again meanwhile.
      settle(waiting, undefined)
      return
    }
    if (this.#isStopped || !isTheServers || ++waiting.tries >= triesMax) {
      for (const { failed } of waiters.splice(0)) failed(error)
      return
    }
    const place = waiting.at < lastPosition ? 'somewhere' : 'behind'
    waiting.at = Number.POSITIVE_INFINITY
    waiting.isOvertaken = false
    this.#waiting.set(keyOf(question), waiting)
    this.#move(waiting, this.#placeOf(place))
  }
}

function settle(waiting: QueuedQuestion, offered: OfferedFirmware | undefined): void {
  for (const { answered } of waiting.waiters.splice(0)) answered(offered)
}
