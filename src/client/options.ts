/** What a client is given. */
export interface ConnectOptions {
  /** Origin of the server, with the prefix it is served under if any: `http://localhost:8080`. Default: the page's own. */
  readonly url?: string
  /** Absent: identity and access management is off, or somebody signs in later. */
  readonly credentials?: Credentials
  /**
   * Where a session is kept: the key pair and the tokens. Default: IndexedDB where there is one, else memory. Programs
   * whose `credentials` sign in by themselves keep theirs in memory.
   */
  readonly store?: SessionStore
  readonly fetch?: typeof globalThis.fetch
  /** Node 20 has none of its own: that of the package `ws` does, and `node --experimental-websocket`. */
  readonly WebSocket?: SocketConstructor
  /** Unix milliseconds. */
  readonly now?: () => number
  /** From 0 up to but not including 1. */
  readonly random?: () => number
  /** Resolves after this many milliseconds, at once when the signal is aborted. */
  readonly sleep?: (ms: number, signal?: AbortSignal) => Promise<void>
}

export type Credentials =
  /** §5.1, with refresh tokens that are rotated. */
  | { readonly scheme: 'basic'; readonly name: string; readonly password: string }
  /** §5.2. `email` may be a user name. */
  | {
      readonly scheme: 'dpop'
      readonly email: string
      readonly password: string
      readonly tenantIdentifier?: string
    }
  /** Of a program. Contract 2. */
  | { readonly apiKey: string }

/** An ECDSA key pair on P-256 as WebCrypto has it, the private one not to be read. RFC 9449 §4. */
export type KeyPair = Extract<
  Awaited<ReturnType<typeof globalThis.crypto.subtle.generateKey>>,
  { readonly privateKey: unknown }
>

/** A session of the DPoP scheme as it is kept. A refresh token is good once: of the last one only. */
export interface StoredSession {
  readonly keys: KeyPair
  readonly accessToken: string
  readonly refreshToken: string
}

/** Keeps one session for everybody who uses the same store, such as several tabs. */
export interface SessionStore {
  read(): Promise<StoredSession | undefined>
  write(session: StoredSession): Promise<void>
  remove(): Promise<void>
  /** Nobody else who uses the store runs in here at the same time: a refresh token is shown once. */
  exclusively<T>(run: () => Promise<T>): Promise<T>
}

/** Of a websocket what is used: that of browsers, Node 22 and the package `ws`. */
export interface Socket {
  send(text: string): void
  close(code?: number, reason?: string): void
  /** Without a goodbye, where there is such a thing. */
  terminate?(): void
  addEventListener(type: 'open' | 'message' | 'close' | 'error', listener: (event: SocketEvent) => void): void
}

export interface SocketEvent {
  /** That of `ws` has nothing else in some. */
  readonly type?: string
  readonly data?: unknown
  readonly code?: number
}

export type SocketConstructor = new (url: string) => Socket
