import type { SessionStore, StoredSession } from '#client/options'

/** Runs tasks one after the other, in order of arrival. */
class Mutex {
  #last: Promise<unknown> = Promise.resolve()

  run<T>(run: () => Promise<T>): Promise<T> {
    const turn = this.#last.then(run)
    // A task that failed does not block the next task.
    this.#last = turn.catch(() => {})
    return turn
  }
}

/** Access and refresh token, as in the answers of sign-in and refresh. §2.8 */
export interface TokenPair {
  readonly accessToken: string
  readonly refreshToken: string
}

/** Checks answers and stored values: a captive portal or proxy may also answer 200. */
export function isTokenPair(it: unknown): it is TokenPair {
  const { accessToken, refreshToken } = (it ?? {}) as Partial<Record<keyof TokenPair, unknown>>
  return typeof accessToken === 'string' && typeof refreshToken === 'string'
}

/** Keeps a session until the page or the program ends. */
export class MemoryStore implements SessionStore {
  readonly #mutex = new Mutex()
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
    return this.#mutex.run(run)
  }
}

/** The part of IndexedDB that is used. */
interface Factory {
  open(name: string, version: number): OpenRequest
}
interface Request<T> {
  readonly result: T
  readonly error: unknown
  onsuccess: (() => void) | null
  onerror: (() => void) | null
}
interface OpenRequest extends Request<Database> {
  onupgradeneeded: (() => void) | null
}
interface Database {
  createObjectStore(name: string): unknown
  transaction(name: string, mode: 'readonly' | 'readwrite'): { objectStore(name: string): ObjectStore }
  onversionchange: (() => void) | null
  onclose: (() => void) | null
  close(): void
}
interface ObjectStore {
  get(key: string): Request<unknown>
  put(value: unknown, key: string): Request<unknown>
  delete(key: string): Request<unknown>
}
/** The part of the Web Locks API that is used. */
interface Locks {
  request<T>(name: string, run: () => Promise<T>): Promise<T>
}

const databaseName = 'device-data-backend'
const storeName = 'sessions'

/** The store of browsers; undefined without IndexedDB. @param name of the session, such as the server's address */
export function indexedDbStore(name: string): SessionStore | undefined {
  const { indexedDB, navigator } = globalThis as unknown as {
    readonly indexedDB?: Factory
    readonly navigator?: { readonly locks?: Locks }
  }
  return indexedDB && new IndexedDbStore(indexedDB, navigator?.locks, name)
}

/**
 * A session that all tabs share and that outlives them. IndexedDB stores keys without revealing them, and locks prevent
 * two tabs from using the same refresh token. If nothing can be stored, as in some private windows, the session ends
 * with the page.
 */
class IndexedDbStore implements SessionStore {
  readonly #factory: Factory
  readonly #locks: Locks | undefined
  readonly #name: string
  readonly #mutex = new Mutex()
  /** Holds the session while IndexedDB cannot store it. */
  readonly #instead = new MemoryStore()
  #database: Promise<Database> | undefined

  constructor(factory: Factory, locks: Locks | undefined, name: string) {
    this.#factory = factory
    this.#locks = locks
    this.#name = name
  }

  async read(): Promise<StoredSession | undefined> {
    const instead = await this.#instead.read()
    if (instead) return instead
    const stored = await this.#ask('readonly', (store) => store.get(this.#name))
    return isSession(stored) ? stored : undefined
  }

  async write(session: StoredSession): Promise<void> {
    const key = await this.#ask('readwrite', (store) => store.put(session, this.#name))
    if (key === undefined) await this.#instead.write(session)
    else await this.#instead.remove()
  }

  async remove(): Promise<void> {
    await this.#instead.remove()
    await this.#ask('readwrite', (store) => store.delete(this.#name))
  }

  exclusively<T>(run: () => Promise<T>): Promise<T> {
    const locks = this.#locks
    return this.#mutex.run(() => (locks ? lockedIfAllowed(locks, `${databaseName} ${this.#name}`, run) : run()))
  }

  /** Undefined if the request failed or found nothing. */
  async #ask(mode: 'readonly' | 'readwrite', ask: (store: ObjectStore) => Request<unknown>): Promise<unknown> {
    try {
      this.#database ??= this.#open()
      const database = await this.#database
      return await answerOf(ask(database.transaction(storeName, mode).objectStore(storeName)))
    } catch {
      this.#database = undefined
      return undefined
    }
  }

  async #open(): Promise<Database> {
    const request = this.#factory.open(databaseName, 1)
    request.onupgradeneeded = () => request.result.createObjectStore(storeName)
    const database = await answerOf(request)
    const forget = () => {
      database.close()
      this.#database = undefined
    }
    database.onversionchange = forget
    database.onclose = forget
    return database
  }
}

/** Where storage is denied, locks are denied too. Tabs then share nothing, and need no lock. */
async function lockedIfAllowed<T>(locks: Locks, name: string, run: () => Promise<T>): Promise<T> {
  let hasBegun = false
  try {
    return await locks.request(name, () => {
      hasBegun = true
      return run()
    })
  } catch (problem) {
    if (hasBegun) throw problem
    return run()
  }
}

function answerOf<T>(request: Request<T>): Promise<T> {
  return new Promise((resolve, reject) => {
    request.onsuccess = () => resolve(request.result)
    request.onerror = () => reject(request.error)
  })
}

function isSession(value: unknown): value is StoredSession {
  return isTokenPair(value) && typeof (value as Partial<StoredSession>).keys === 'object'
}
