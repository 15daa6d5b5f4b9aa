import { type Access, type Accesses, hasSameRights, type PublishedUser } from '#access/accesses'
import type { Authors } from '#access/authors'
import { isHashOf, readApiKey } from '#access/secret-text'
import type { VerifiedToken } from '#access/tokens'
import { usedEveryMs } from '#actors/session/session'
import { isOver, isReplaced, type SessionState, type StoredSession, sessionAddress } from '#actors/session/state'
import type { StoredApiKey } from '#actors/tenant/state'
import type { TokenFault } from '#http/authentication'
import type { Caller, SessionKey } from '#model/caller'
import { formatCrn } from '#model/crn'
import type { Entry } from '#model/entry'
import { getOrInsert } from '#model/map-values'
import { Problem } from '#model/problem'
import type { Scope } from '#model/scope'
import type { Activation } from '#runtime/activation'
import type { System } from '#runtime/system'

export interface SessionCallersParts {
  readonly system: System<Entry>
  readonly accesses: Accesses
  readonly authors: Pick<Authors, 'keyOf' | 'isKeyActive'>
}

/** The cached result for a token. */
interface CachedCaller {
  readonly reference: SessionReference
  caller: SessionCaller | undefined
}

/**
 * Callers of sessions and API keys, with their present rights. A result is cached as long as its token or key is held.
 * While nothing changes, a request costs a few lookups and allocates nothing.
 */
export class SessionCallers {
  readonly #parts: SessionCallersParts
  readonly #byToken = new WeakMap<VerifiedToken, CachedCaller>()
  readonly #byKey = new WeakMap<StoredApiKey, KeyCaller>()

  constructor(parts: SessionCallersParts) {
    this.#parts = parts
  }

  /**
   * The caller, or the error of the token. Records the use of the session and the client address.
   * @throws Problem `storage` while the store is being read
   */
  ofToken(token: VerifiedToken, request: UsingRequest): SessionCaller | TokenFault {
    // This check is first, because actors of a removed tenant must not be loaded.
    if (!this.#parts.accesses.hasTenant(token.tenant)) return 'session over'
    const known = this.#known(token)
    const stored = known.reference.stored
    if (!stored) return 'session over'
    if (isReplaced(stored, token.number, this.#parts.system.world.now())) return 'token replaced'
    if (!known.caller?.hasSameRights()) known.caller = callerOfSession(this.#parts.accesses, known.reference)
    if (!known.caller) return 'session over'
    known.reference.use(stored, request)
    return known.caller
  }

  /** Undefined if the text is not a valid key. @throws Problem `unauthorized` for a suspended key */
  ofApiKey(text: string): Caller | undefined {
    const read = readApiKey(text)
    const key = read && this.#parts.authors.keyOf(read.tenant, read.id)
    if (!read || !key || !isHashOf(text, key.hash)) return undefined
    const caller = this.#callerOfKey(read.tenant, read.id)
    if (!caller) throw new Problem('unauthorized', 'suspended: the creator of this API key may not grant its roles')
    return caller
  }

  /** The current caller; undefined once the session is over. */
  of({ kind, tenant, id }: SessionKey): Caller | undefined {
    if (kind === 'api_key') return this.#callerOfKey(tenant, id)
    return callerOfSession(this.#parts.accesses, new SessionReference(this.#parts.system, tenant, id))
  }

  #known(token: VerifiedToken): CachedCaller {
    return getOrInsert(this.#byToken, token, () => {
      return { reference: new SessionReference(this.#parts.system, token.tenant, token.session), caller: undefined }
    })
  }

  #callerOfKey(tenant: string, id: string): Caller | undefined {
    const key = activeKey(this.#parts, tenant, id)
    if (!key) return undefined
    let caller = this.#byKey.get(key)
    if (!caller?.hasSameRights()) {
      caller = new KeyCaller(this.#parts, tenant, id, key)
      this.#byKey.set(key, caller)
    }
    return caller
  }
}

/** Undefined if the session is over. `jkt`: thumbprint of the key in a proof, if the session is not bound to a key. */
function callerOfSession(accesses: Accesses, reference: SessionReference, jkt?: string): SessionCaller | undefined {
  if (!accesses.hasTenant(reference.tenant)) return undefined
  const stored = reference.stored
  const user = stored && accesses.user(stored.user)
  if (!user || user.tenant !== reference.tenant) return undefined
  return new SessionCaller(accesses, reference, user, jkt ?? stored.jkt ?? undefined)
}

/** The API key. Undefined if it is deleted or expired, or if its creator may no longer grant its roles. */
function activeKey({ authors }: SessionCallersParts, tenant: string, id: string): StoredApiKey | undefined {
  const key = authors.keyOf(tenant, id)
  return key && authors.isKeyActive(tenant, key) ? key : undefined
}

export class SessionCaller implements Caller {
  readonly tenant: string
  readonly user: string
  readonly name: string
  readonly roles: readonly string[]
  readonly scope: Scope
  readonly access: string
  readonly scopeSince: number
  readonly session: SessionKey
  readonly jkt?: string
  readonly #accesses: Accesses
  readonly #reference: SessionReference
  readonly #user: PublishedUser
  readonly #access: Access
  readonly #version: number

  constructor(accesses: Accesses, reference: SessionReference, user: PublishedUser, jkt: string | undefined) {
    const access = accesses.of(user.tenant, user.roles)
    this.tenant = user.tenant
    this.user = formatCrn({ type: 'user', id: user.id })
    this.name = user.name
    this.roles = user.roles
    this.scope = access.scope
    this.access = access.key
    this.scopeSince = Math.max(access.since, user.rolesSince)
    this.session = { kind: 'session', tenant: reference.tenant, id: reference.id }
    if (jkt !== undefined) this.jkt = jkt
    this.#accesses = accesses
    this.#reference = reference
    this.#user = user
    this.#access = access
    this.#version = access.version
  }

  /** The same caller with a proof that the session does not require. */
  withProof(jkt: string): SessionCaller {
    return new SessionCaller(this.#accesses, this.#reference, this.#user, jkt)
  }

  /** Whether the user still exists with the same name and roles, and the roles have the same scope. */
  hasSameRights(): boolean {
    return this.#access.version === this.#version && hasSameRights(this.#user, this.#accesses.user(this.#user.id))
  }

  isCurrent(): boolean {
    try {
      return this.hasSameRights() && this.#reference.stored !== undefined
    } catch {
      // The store is being read again: the change that gave these rights may be undone.
      return false
    }
  }

  now(): SessionCaller | undefined {
    return this.isCurrent() ? this : callerOfSession(this.#accesses, this.#reference, this.jkt)
  }
}

/** An API key, which acts as a user with its roles. The roles never change; their scopes may. */
class KeyCaller implements Caller {
  readonly tenant: string
  readonly user: string
  readonly name: string
  readonly roles: readonly string[]
  readonly scope: Scope
  readonly access: string
  readonly scopeSince: number
  readonly session: SessionKey
  readonly #parts: SessionCallersParts
  readonly #key: StoredApiKey
  readonly #access: Access
  readonly #version: number

  constructor(parts: SessionCallersParts, tenant: string, id: string, key: StoredApiKey) {
    const access = parts.accesses.of(tenant, key.roles)
    this.tenant = tenant
    this.user = formatCrn({ type: 'key', id })
    this.name = key.name
    this.roles = key.roles
    this.scope = access.scope
    this.access = access.key
    this.scopeSince = access.since
    this.session = { kind: 'api_key', tenant, id }
    this.#parts = parts
    this.#key = key
    this.#access = access
    this.#version = access.version
  }

  hasSameRights(): boolean {
    return this.#access.version === this.#version
  }

  isCurrent(): boolean {
    if (!this.hasSameRights() || !this.#parts.system.isServing) return false
    return activeKey(this.#parts, this.tenant, this.session.id) === this.#key
  }

  now(): KeyCaller | undefined {
    if (this.isCurrent()) return this
    const { tenant, session } = this
    const key = activeKey(this.#parts, tenant, session.id)
    return key && new KeyCaller(this.#parts, tenant, session.id, key)
  }
}

/** The request that uses a session. The client address is only read when the use is recorded. */
interface UsingRequest {
  readonly forwarded: { readonly address: string }
}

/** Holds the activation of a session. It is looked up again only after it was unloaded, minutes after the last use. */
class SessionReference {
  readonly tenant: string
  readonly id: string
  readonly #system: System<Entry>
  #activation: Activation<Entry> | undefined

  constructor(system: System<Entry>, tenant: string, id: string) {
    this.#system = system
    this.tenant = tenant
    this.id = id
  }

  /** Undefined: the session is over. @throws Problem `storage` */
  get stored(): StoredSession | undefined {
    const { session } = this.#active.state as SessionState
    return session && !isOver(session, this.#system.world.now()) ? session : undefined
  }

  /** Records the use of the session, at most once every `usedEveryMs`, and only while the store accepts writes. */
  use({ lastUsedAt }: StoredSession, request: UsingRequest): void {
    const system = this.#system
    if (system.world.now() - lastUsedAt < usedEveryMs || !system.gate.isOpen) return
    const { address } = request.forwarded
    // Without a client address, the connection has ended while a signature was checked.
    if (address === '') return
    system.turnOf(this.#active, { type: 'use', address }, ignoreAnswer)
  }

  get #active(): Activation<Entry> {
    const system = this.#system
    if (!system.isServing) throw new Problem('storage')
    if (!this.#activation?.isAlive) {
      this.#activation = system.registry.wake(sessionAddress(this.tenant, this.id))
      this.#activation.touchedAtMs = system.world.monotonic()
    }
    return this.#activation
  }
}

const ignoreAnswer = { answered: () => {}, refused: () => {} }
