import type { HistorySource } from '#client/device-history'
import type { RawAnswer, Request } from '#client/transport'
import type { StreamEvent } from '#model/event'

/** The place of the events and requests of these tests. */
export const place = { deviceIdentifier: 'D', serviceIdentifier: 'climate' }

/** A server whose answers and events the test gives. */
export class TestHistorySource implements HistorySource {
  readonly requests: { readonly request: Request; resolve(answer: RawAnswer): void }[] = []
  readonly pausesMs: number[] = []
  readonly #listeners = new Set<(event: StreamEvent) => void>()
  readonly #missed = new Set<() => void>()
  readonly #sleeps: (() => void)[] = []
  readonly platform = {
    random: () => 0,
    sleep: (ms: number) => {
      this.pausesMs.push(ms)
      return new Promise<void>((wake) => this.#sleeps.push(wake))
    },
  }

  get listenerCount(): number {
    return this.#listeners.size + this.#missed.size
  }

  read(request: Request): Promise<RawAnswer> {
    return new Promise((resolve) => this.requests.push({ request, resolve }))
  }

  events(listener: (event: StreamEvent) => void): () => void {
    this.#listeners.add(listener)
    return () => this.#listeners.delete(listener)
  }

  missed(listener: () => void): () => void {
    this.#missed.add(listener)
    return () => this.#missed.delete(listener)
  }

  /** Answers the oldest request, and returns its path. */
  async answer(body: object, link?: string, status = 200): Promise<string> {
    const next = this.requests.shift()
    if (!next) throw new Error('no request is waiting')
    next.resolve({ status, headers: new Headers(link ? { link: `<${link}>; rel="next"` } : {}), body })
    await turns()
    return next.request.path
  }

  async publish(event: object): Promise<void> {
    for (const listener of this.#listeners) listener({ timestamp: 1, offset: 1, ...place, ...event } as StreamEvent)
    await turns()
  }

  async miss(): Promise<void> {
    for (const listener of this.#missed) listener()
    await turns()
  }

  async wake(): Promise<void> {
    for (const wake of this.#sleeps.splice(0)) wake()
    await turns()
  }
}

async function turns(): Promise<void> {
  for (let turn = 0; turn < 20; turn++) await Promise.resolve()
}
