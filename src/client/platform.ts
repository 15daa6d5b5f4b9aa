import type { ConnectOptions, SocketConstructor } from '#client/options'

/** The client's access to its environment: only this file of the module uses clocks, timers and random numbers. */
export interface Platform {
  readonly fetch: typeof globalThis.fetch
  /** Undefined if none was passed and the environment has none. */
  readonly WebSocket: SocketConstructor | undefined
  /** Unix milliseconds by the local clock. */
  now(): number
  random(): number
  sleep(ms: number, signal?: AbortSignal): Promise<void>
  /** Runs a task before the next frame; as a microtask where there are no frames. */
  nextFrame(task: () => void): void
  /** Lets all other waiting tasks run first. */
  yieldToOthers(): Promise<void>
  /** Random: pages that were loaded by http from another machine have no `randomUUID`. */
  uniqueId(): string
  /** Calls the listener each time the network returns, if the environment reports it. The returned function ends this. */
  whenOnline(listener: () => void): () => void
}

/** Globals that only some environments have. */
interface Globals {
  readonly WebSocket?: SocketConstructor
  readonly location?: { readonly origin: string }
  readonly requestAnimationFrame?: (task: () => void) => unknown
  readonly addEventListener?: (type: 'online', listener: () => void) => void
  readonly removeEventListener?: (type: 'online', listener: () => void) => void
  readonly process?: { getBuiltinModule?(name: 'module'): { createRequire(from: string): (name: 'ws') => unknown } }
}

const globals = globalThis as unknown as Globals

/** Hidden pages draw no frames. A task for the next frame then runs after this delay. */
const frameTimeoutMs = 1_000

export function platformOf(options: ConnectOptions): Platform {
  const sleep = options.sleep ?? sleepFor
  const frame = globals.requestAnimationFrame?.bind(globalThis)
  return {
    fetch: options.fetch ?? globalThis.fetch.bind(globalThis),
    WebSocket: options.WebSocket ?? globals.WebSocket ?? installedWebSocket(),
    now: options.now ?? (() => Date.now()),
    random: options.random ?? (() => Math.random()),
    sleep,
    nextFrame: frame ? (task) => runInFrame(frame, task) : (task) => queueMicrotask(task),
    yieldToOthers: () => new Promise((resolve) => setTimeout(resolve)),
    uniqueId: () => Array.from(crypto.getRandomValues(new Uint8Array(16)), hexOf).join(''),
    whenOnline(listener) {
      globals.addEventListener?.('online', listener)
      return () => globals.removeEventListener?.('online', listener)
    },
  }
}

/** Node 20 has no `WebSocket`: the default is the class of the package `ws`, if it is installed. */
function installedWebSocket(): SocketConstructor | undefined {
  try {
    return globals.process?.getBuiltinModule?.('module').createRequire(import.meta.url)('ws') as SocketConstructor
  } catch {
    return undefined
  }
}

/** The origin of the page. */
export function ownOrigin(): string | undefined {
  const origin = globals.location?.origin
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

/** A signal that the outer signal also aborts, until `unfollow`. Older browsers have no `AbortSignal.any`. */
export function following(outer?: AbortSignal): {
  signal: AbortSignal
  abort(reason?: unknown): void
  unfollow(): void
} {
  const controller = new AbortController()
  const { signal } = controller
  const abort = (reason?: unknown) => controller.abort(reason)
  const follow = () => abort(outer?.reason)
  if (outer?.aborted) follow()
  else outer?.addEventListener('abort', follow)
  return { signal, abort, unfollow: () => outer?.removeEventListener('abort', follow) }
}

function runInFrame(frame: (task: () => void) => unknown, task: () => void): void {
  let isDone = false
  const run = () => {
    if (isDone) return
    isDone = true
    clearTimeout(timer)
    task()
  }
  const timer = setTimeout(run, frameTimeoutMs)
  frame(run)
}

function hexOf(byte: number): string {
  return byte.toString(16).padStart(2, '0')
}
