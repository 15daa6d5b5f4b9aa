/** The options of a client. */
export interface ConnectOptions {
  /** Origin of the server, with its path prefix if any: `http://localhost:8080`. Default: the origin of the page. */
  readonly url?: string
  /** If absent, authentication is off, or a user signs in later. */
  readonly credentials?: Credentials
  /**
   * Where a session is stored: the key pair and the tokens. Default: memory if `credentials` are given or IndexedDB is
   * missing, otherwise IndexedDB.
   */
  readonly store?: SessionStore
  readonly fetch?: typeof globalThis.fetch
  /** Default: the class of the environment, or the class of the package `ws` in Node 20, if installed. */
  readonly WebSocket?: SocketConstructor
  /** Unix milliseconds. */
  readonly now?: () => number
  /** From 0 up to but not including 1. */
  readonly random?: () => number
  /** Resolves after this many milliseconds, or at once when the signal is aborted. */
  readonly sleep?: (ms: number, signal?: AbortSignal) => Promise<void>
}

export type Credentials =
  /** The Basic scheme, with refresh tokens that are valid once. §5.1. */
  | { readonly scheme: 'basic'; readonly name: string; readonly password: string }
  /** The DPoP scheme. `email`: a mail address or a user name. §5.2. */
  | {
      readonly scheme: 'dpop'
      readonly email: string
      readonly password: string
      readonly tenantIdentifier?: string
    }
  /** For programs. Contract 2. */
  | { readonly apiKey: string }

/** An ECDSA key pair on P-256 from WebCrypto; the private key is not extractable. RFC 9449 §4. */
export type KeyPair = Extract<
  Awaited<ReturnType<typeof globalThis.crypto.subtle.generateKey>>,
  { readonly privateKey: unknown }
>

/** A stored session of the DPoP scheme. Only the latest refresh token works, and it works once; a repeat within 10 s gets the same answer. */
export interface StoredSession {
  readonly keys: KeyPair
  readonly accessToken: string
  readonly refreshToken: string
}

/** Stores one session. Several clients may share a store, such as the tabs of a browser. */
export interface SessionStore {
  read(): Promise<StoredSession | undefined>
  write(session: StoredSession): Promise<void>
  remove(): Promise<void>
  /** Runs `run` while no other client of the store runs a task, because a refresh token must be used only once. */
  exclusively<T>(run: () => Promise<T>): Promise<T>
}

/** The members of a websocket that the client uses. Browsers, Node 22 and the package `ws` provide such websockets. */
export interface Socket {
  send(text: string): void
  close(code?: number, reason?: string): void
  /** Closes without a close frame, where available. */
  terminate?(): void
  addEventListener(type: 'open' | 'message' | 'close' | 'error', listener: (event: SocketEvent) => void): void
}

export interface SocketEvent {
  /** The only field that some events of `ws` have. */
  readonly type?: string
  readonly data?: unknown
  readonly code?: number
}

export type SocketConstructor = new (url: string) => Socket
