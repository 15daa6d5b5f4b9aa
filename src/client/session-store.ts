import type { SessionStore, StoredSession } from '#client/options'

/** Runs tasks one after the other, in order of arrival. */
function mutex(): SessionStore['exclusively'] {
  let last: Promise<unknown> = Promise.resolve()
  return (run) => {
    const turn = last.then(run)
    // A task that failed does not block the next task.
    last = turn.catch(() => {})
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
export function memoryStore(): SessionStore {
  let session: StoredSession | undefined
  return {
    exclusively: mutex(),
    read: async () => session,
    async write(next) {
      session = next
    },
    async remove() {
      session = undefined
    },
  }
}

/** The parts of IndexedDB that are used. */
interface Request<T> {
  readonly result: T
  readonly error: unknown
  onsuccess: (() => void) | null
  onerror: (() => void) | null
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
/** Globals that only browsers have. */
interface Globals {
  readonly indexedDB?: {
    open(name: string, version: number): Request<Database> & { onupgradeneeded: (() => void) | null }
  }
  readonly navigator?: { readonly locks?: Locks }
}

const databaseName = 'device-data-backend'
const storeName = 'sessions'

/**
 * The store of browsers: a session that all tabs share and that outlives them. IndexedDB stores keys without revealing
 * them, and locks prevent two tabs from using the same refresh token. If nothing can be stored, as in some private
 * windows, the session ends with the page. Undefined without IndexedDB.
 *
 * @param name of the session, such as the server's address
 */
export function indexedDbStore(name: string): SessionStore | undefined {
  const { indexedDB, navigator } = globalThis as unknown as Globals
  if (!indexedDB) return undefined
  let opened: Promise<Database> | undefined
  const open = async () => {
    const request = indexedDB.open(databaseName, 1)
    request.onupgradeneeded = () => request.result.createObjectStore(storeName)
    const database = await answerOf(request)
    const forget = () => {
      database.close()
      opened = undefined
    }
    database.onversionchange = forget
    database.onclose = forget
    return database
  }
  /** Undefined if the request failed or found nothing. */
  const ask = async (mode: 'readonly' | 'readwrite', requestIn: (store: ObjectStore) => Request<unknown>) => {
    try {
      opened ??= open()
      const database = await opened
      return await answerOf(requestIn(database.transaction(storeName, mode).objectStore(storeName)))
    } catch {
      opened = undefined
      return undefined
    }
  }
  /** Holds the session while IndexedDB cannot store it. */
  const instead = memoryStore()
  const locks = navigator?.locks
  return {
    async read() {
      const stored = (await instead.read()) ?? (await ask('readonly', (store) => store.get(name)))
      return isSession(stored) ? stored : undefined
    },
    async write(session) {
      const key = await ask('readwrite', (store) => store.put(session, name))
      if (key === undefined) await instead.write(session)
      else await instead.remove()
    },
    async remove() {
      await instead.remove()
      await ask('readwrite', (store) => store.delete(name))
    },
    exclusively: (run) =>
      instead.exclusively(() => (locks ? lockedIfAllowed(locks, `${databaseName} ${name}`, run) : run())),
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
