import type { Socket } from '#runtime/socket'
import type { World } from '#runtime/world'

/** Interval of pings, and the time without any activity after which a socket is dead. Contract 4.7. */
export const pingEveryMs = 30_000
export const deadAfterMs = 120_000

const tickMs = 1_000
/** Sockets checked before the loop yields. */
const sliceCount = 500

interface Watched {
  dueAtMs: number
  activeAtMs: number
  pingedAtMs: number
}

export interface LivenessEvents<S> {
  /** Nothing was received from the socket between two pings. */
  unanswered?(subject: S): void
  dead(subject: S): void
}

/**
 * Pings sockets and detects those that do not answer. Any activity counts: a pong, a message, a drained buffer (a
 * socket above its buffer limit loses our pings, so a slow reader could not answer).
 */
export class Liveness<S> {
  readonly #world: World
  readonly #socketOf: (subject: S) => Socket
  readonly #events: LivenessEvents<S>
  /** In the order of their due times, because all wait equally long. */
  readonly #watched = new Map<S, Watched>()
  #cancel: (() => void) | undefined

  constructor(world: World, socketOf: (subject: S) => Socket, events: LivenessEvents<S>) {
    this.#world = world
    this.#socketOf = socketOf
    this.#events = events
  }

  watch(subject: S): void {
    const now = this.#world.monotonic()
    this.#watched.set(subject, { dueAtMs: now + pingEveryMs, activeAtMs: now, pingedAtMs: 0 })
    if (!this.#cancel) this.#tickLater(tickMs)
  }

  touch(subject: S): void {
    const watched = this.#watched.get(subject)
    if (watched) watched.activeAtMs = this.#world.monotonic()
  }

  forget(subject: S): void {
    this.#watched.delete(subject)
  }

  stop(): void {
    this.#cancel?.()
    this.#cancel = undefined
    this.#watched.clear()
  }

  #tickLater(delayMs: number): void {
    this.#cancel = this.#world.after(delayMs, () => {
      this.#cancel = undefined
      const isMore = this.#tick()
      if (this.#watched.size > 0) this.#tickLater(isMore ? 1 : tickMs)
    })
  }

  #tick(): boolean {
    const now = this.#world.monotonic()
    const due: S[] = []
    for (const [subject, watched] of this.#watched) {
      if (watched.dueAtMs > now || due.length >= sliceCount) break
      due.push(subject)
    }
    for (const subject of due) this.#ping(subject, now)
    return due.length >= sliceCount
  }

  #ping(subject: S, now: number): void {
    const watched = this.#watched.get(subject)
    if (!watched) return
    this.#watched.delete(subject)
    if (now - watched.activeAtMs >= deadAfterMs) {
      this.#events.dead(subject)
      return
    }
    const isUnanswered = watched.pingedAtMs > watched.activeAtMs
    watched.dueAtMs = now + pingEveryMs
    watched.pingedAtMs = now
    this.#watched.set(subject, watched)
    this.#socketOf(subject).ping()
    if (isUnanswered) this.#events.unanswered?.(subject)
  }
}
