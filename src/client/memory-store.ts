import type { SessionStore, StoredSession } from '#client/options'
import { Turns } from '#client/turns'

/** A session that ends with the page, or the program. */
export class MemoryStore implements SessionStore {
  readonly #turns = new Turns()
  #session: StoredSession | undefined

  async read(): Promise<StoredSession | undefined> {
    return this.#session
  }

  async write(session: StoredSession): Promise<void> {
    this.#session = session
  }

  async remove(): Promise<void> {
    this.#session = undefined
  }

  exclusively<T>(run: () => Promise<T>): Promise<T> {
    return this.#turns.take(run)
  }
}
