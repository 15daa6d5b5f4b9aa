import type { Socket } from '#runtime/socket'
import type { World } from '#runtime/world'

/** A socket is pinged this often, and counts as dead after this long without any sign of life. Contract 4.7. */
export const pingEveryMs = 30_000
export const deadAfterMs = 120_000

const tickMs = 1_000
/** Sockets looked at before the loop is given back. */
const sliceCount = 500

interface Watched {
  dueAtMs: number
  heardAtMs: number
  pingedAtMs: number
}

/** What happens to a watched socket. */
export interface LivenessEvents<S> {
  /** A ping was not answered by the time of the next one. */
  unanswered?(subject: S): void
  dead(subject: S): void
}

/**
 * Pings sockets and notices those that do not answer. Any sign of life counts: a pong, a message, a drained buffer
 * (above its limit a socket loses our pings, so one that reads slowly could not answer).
 */
export class Liveness<S> {
  readonly #world: World
  readonly #socketOf: (subject: S) => Socket
  readonly #events: LivenessEvents<S>
  /** In the order in which they are due, because everybody waits equally long. */
  readonly #watched = new Map<S, Watched>()
  #cancel: (() => void) | undefined

  constructor(world: World, socketOf: (subject: S) => Socket, events: LivenessEvents<S>) {
    this.#world = world
    this.#socketOf = socketOf
    this.#events = events
  }

  watch(subject: S): void {
    const now = this.#world.monotonic()
    this.#watched.set(subject, { dueAtMs: now + pingEveryMs, heardAtMs: now, pingedAtMs: 0 })
    if (!this.#cancel) this.#tickLater(tickMs)
  }

  heard(subject: S): void {
    const watched = this.#watched.get(subject)
    if (watched) watched.heardAtMs = this.#world.monotonic()
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
    if (now - watched.heardAtMs >= deadAfterMs) {
      this.#events.dead(subject)
      return
    }
    const isUnanswered = watched.pingedAtMs > watched.heardAtMs
    watched.dueAtMs = now + pingEveryMs
    watched.pingedAtMs = now
    this.#watched.set(subject, watched)
    this.#socketOf(subject).ping()
    if (isUnanswered) this.#events.unanswered?.(subject)
  }
}
