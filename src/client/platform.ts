import type { ConnectOptions, SocketConstructor } from '#client/options'

/** The world as the client sees it: the only file of this room that looks at the clock, waits, or asks for chance. */
export interface Platform {
  readonly fetch: typeof globalThis.fetch
  /** Undefined where nobody gave one and there is none. */
  readonly WebSocket: SocketConstructor | undefined
  /** Unix milliseconds, by this machine's clock. */
  now(): number
  random(): number
  sleep(ms: number, signal?: AbortSignal): Promise<void>
  /** Behind what runs now, or before the next picture is drawn where there are pictures. */
  nextTurn(task: () => void): void
  nextFrame(task: () => void): void
  /** Lets everything else that waits have its turn. */
  breathe(): Promise<void>
  uniqueId(): string
  /** Tells when a network came back, where that is known, until the returned function is called. */
  whenOnline(listener: () => void): () => void
}

/** What some places have besides what all have. */
interface Surroundings {
  readonly WebSocket?: SocketConstructor
  readonly location?: { readonly origin: string }
  readonly requestAnimationFrame?: (task: () => void) => unknown
  readonly addEventListener?: (type: 'online', listener: () => void) => void
  readonly removeEventListener?: (type: 'online', listener: () => void) => void
}

const surroundings = globalThis as unknown as Surroundings

/** Pages that are not seen draw no pictures: then changes are told this late. */
const frameWithinMs = 1_000

export function platformOf(options: ConnectOptions): Platform {
  const sleep = options.sleep ?? sleepFor
  const frame = surroundings.requestAnimationFrame?.bind(globalThis)
  return {
    fetch: options.fetch ?? globalThis.fetch.bind(globalThis),
    WebSocket: options.WebSocket ?? surroundings.WebSocket,
    now: options.now ?? (() => Date.now()),
    random: options.random ?? (() => Math.random()),
    sleep,
    nextTurn: (task) => queueMicrotask(task),
    nextFrame: frame ? (task) => inTime(frame, task) : (task) => queueMicrotask(task),
    breathe: () => new Promise((resolve) => setTimeout(resolve)),
    uniqueId: () => idOf(crypto.getRandomValues(new Uint8Array(16))),
    whenOnline(listener) {
      surroundings.addEventListener?.('online', listener)
      return () => surroundings.removeEventListener?.('online', listener)
    },
  }
}

/** The page's own origin. */
export function ownOrigin(): string | undefined {
  const origin = surroundings.location?.origin
  return origin === 'null' ? undefined : origin
}

function sleepFor(ms: number, signal?: AbortSignal): Promise<void> {
  if (signal?.aborted) return Promise.resolve()
  return new Promise((resolve) => {
    const end = () => {
      clearTimeout(timer)
      signal?.removeEventListener('abort', end)
      resolve()
    }
    const timer = setTimeout(end, ms)
    signal?.addEventListener('abort', end)
  })
}

function inTime(frame: (task: () => void) => unknown, task: () => void): void {
  let isDone = false
  const run = () => {
    if (isDone) return
    isDone = true
    clearTimeout(timer)
    task()
  }
  const timer = setTimeout(run, frameWithinMs)
  frame(run)
}

/** Where pages come by http from another machine there is no `randomUUID`. */
function idOf(bytes: Uint8Array): string {
  return Array.from(bytes, (byte) => byte.toString(16).padStart(2, '0')).join('')
}
