import { AccessChanges } from '#access/access-changes'
import { Accesses } from '#access/accesses'
import { Attempts } from '#access/attempts'
import { type AuthCounts, countFailed, noAuthCounts } from '#access/auth-counts'
import { authenticatorOf } from '#access/authenticator'
import { Authors, type Recipient } from '#access/authors'
import { Challenges } from '#access/challenges'
import { FactorConfirmations } from '#access/factor-confirmation'
import { type FileKeys, fileKeysOf } from '#access/file-keys'
import { firstAdministrator } from '#access/first-administrator'
import { type Logins, loginsOf, type SecondFactors, secondFactorsOf } from '#access/flows'
import { type LinkCaller, LinkCredentials } from '#access/link-credentials'
import { Nonces } from '#access/nonces'
import type { IdentityOptions, Lifetimes } from '#access/options'
import { Passwords } from '#access/passwords'
import { Proofs } from '#access/proof'
import { ProofKeys } from '#access/proof-keys'
import { relyingPartyOf } from '#access/relying-party'
import { Replays } from '#access/replays'
import { tokenCheck } from '#access/secret-text'
import { SessionCallers } from '#access/session-callers'
import { SessionSockets } from '#access/session-sockets'
import { ShownSessions } from '#access/shown-sessions'
import type { SignInParts } from '#access/sign-in'
import { SignInCounts } from '#access/sign-in-counts'
import { KeyRing } from '#access/signing-key-ring'
import { TenantRemoval } from '#access/tenant-removal'
import { Tokens } from '#access/tokens'
import { TotpFlows } from '#access/totp-flows'
import { Webauthn } from '#access/webauthn'
import { WebauthnFlows } from '#access/webauthn-flows'
import { directoryAddress } from '#actors/directory/address'
import type { IdentityNotices } from '#actors/notices'
import { signingKeysAddress } from '#actors/signing-keys/address'
import type { StoredApiKey } from '#actors/tenant/state'
import type { Authenticate } from '#http/authenticate'
import type { Caller, SessionKey } from '#model/caller'
import type { Scope } from '#model/scope'

/** Everything about who is signed in, put together. */
export interface Identity {
  /**
   * Judges every request and upgrade. For `link` the caller has the credential's tenant and nothing else: who needs the
   * device or the key asks `linkCaller`.
   */
  readonly authenticate: Authenticate
  /** The published view: what is committed, and only that. */
  readonly accesses: Accesses
  readonly sockets: SessionSockets
  readonly notices: IdentityNotices
  readonly logins: Logins
  readonly sessions: ShownSessions
  readonly secondFactors: SecondFactors
  readonly keys: KeyRing
  /** What whoever watches over it sees: numbers, and nobody's name. */
  readonly figures: IdentityFigures
  /** Counts a malformed request where people sign in. @throws Problem `too_many_requests` after too many of its address */
  failedSignIn(address: string): void
  /** By the header `Authorization` of the device link. @throws Problem `unauthorized` */
  linkCaller(authorization: string): LinkCaller
  /** Who that is now; undefined once the session is over. */
  callerOf(session: SessionKey): Caller | undefined
  /**
   * What the author of something may do now, by his resource name; nothing when he is gone. Contract 5.1.
   * @throws Problem `storage` while the store is being read
   */
  scopeOf(tenant: string, author: string): Scope
  /**
   * Where mails reach him, by his resource name, as it is stored.
   * @throws Problem `storage` while the store is being read
   */
  addressOf(tenant: string, user: string): Recipient
  /** Whether the maker of an API key may still give its roles. */
  isGiven(tenant: string, key: StoredApiKey): boolean
  /** Signs the addresses of images. Once it is open. */
  imageKey(): Uint8Array
  /** Signs the addresses under which subscriptions end. Once it is open. */
  unsubscribeKey(): Uint8Array
  /**
   * When the store is open, before anybody is let in. `printed`: the first administrator's random password, to be shown
   * once. @throws WrongFileKey, Problem `storage`, whatever keeps the file key from being had
   */
  open(): Promise<{ readonly printed?: { readonly name: string; readonly password: string } }>
  /** The store was read again after a failed write. */
  reloaded(): void
  stop(): void
}

export interface IdentityFigures {
  readonly auth: AuthCounts
  readonly signIns: SignInCounts
  readonly passwords: Pick<Passwords, 'counts' | 'waitingCount'>
}

const nonceKeyBytes = 32
/** Of the tokens that stand between a password and a second factor. */
const secondFactorMsMax = 900_000

export function openIdentity(options: IdentityOptions): Identity {
  const { world, system, hub, links, log } = options
  const random = (byteCount: number) => world.random(byteCount)
  const now = () => world.now()
  const failed = (error: unknown, where: string) => log.error({ err: error }, `${where} failed`)
  const accesses = new Accesses()
  let known: FileKeys | undefined
  const fileKeys = () => {
    if (!known) throw new Error('identity is not open')
    return known
  }

  const longestLifeMs = Math.max(...livesOf(options.lifetimes))
  const ring = new KeyRing({ now, random, system, fileKeys, longestLifeMs, failed })
  const issuer = options.publicUrls[0] ?? 'device-data-backend'
  const tokens = new Tokens({ now, random, keys: () => ring.keys, issuer })
  const nonces = new Nonces({ now, key: world.random(nonceKeyBytes) })
  const proofs = new Proofs({ now, nonces, replays: new Replays({ now, random }), keys: new ProofKeys({ now }) })
  const attempts = new Attempts({ now, isOn: options.areRateLimitsOn })
  const authors = new Authors({ system, accesses, now })
  const callers = new SessionCallers({ system, accesses, authors })
  const callerOf = (session: SessionKey) => callers.of(session)
  const sockets = new SessionSockets({ world, callerOf })
  const linkCredentials = new LinkCredentials({ system, accesses })
  const linkCallerOf = (authorization: string) => linkCredentials.callerOf(authorization)
  const auth = noAuthCounts()
  const signIns = new SignInCounts()

  const removal = new TenantRemoval({
    world,
    system,
    sweep: options.sweep,
    // The sweep left an offset out: whoever hears of the next tenant of that name begins behind it.
    swept: (tenant) => hub.load(tenant, system.registry.head(tenant).committed),
    failed: (error, tenant) => log.warn({ err: error, tenant }, 'a deleted tenant could not be swept; tried again'),
  })
  const changes = new AccessChanges({
    world,
    system,
    accesses,
    hub,
    sockets,
    links,
    rules: options.rules,
    callerOf,
    dependentsOf: (tenant) => authors.dependentsOf(tenant),
    keys: ring,
    tenantEnded: (tenant) => removal.begin(tenant),
    failed,
  })

  const passwords = new Passwords(options.engine, world)
  const parts: SignInParts = {
    world,
    system,
    accesses,
    authors,
    tokens,
    passwords,
    attempts,
    fileKeys,
    lifetimes: options.lifetimes,
    nonce: () => nonces.current,
  }
  const confirmations = new FactorConfirmations(parts)
  const webauthn = new Webauthn(() =>
    relyingPartyOf({ publicUrls: options.publicUrls, corsOrigins: options.corsOrigins, port: options.port() }),
  )
  const webauthnFlows = new WebauthnFlows(parts, confirmations, {
    webauthn,
    challenges: new Challenges({ now, random }),
  })

  return {
    authenticate: authenticatorOf({
      isServing: () => system.isServing,
      callers,
      tokens,
      proofs,
      attempts,
      passwords,
      linkCallerOf,
      isOperator: tokenCheck(options.operatorToken),
      counts: auth,
    }),
    accesses,
    sockets,
    notices: changes,
    logins: loginsOf(parts, signIns),
    sessions: new ShownSessions({ system }),
    secondFactors: secondFactorsOf(new TotpFlows(parts, confirmations), webauthnFlows, signIns),
    keys: ring,
    figures: { auth, signIns, passwords },
    linkCaller(authorization) {
      try {
        const caller = linkCallerOf(authorization)
        auth.link.accepted++
        return caller
      } catch (error) {
        countFailed(auth, 'link', error)
        throw error
      }
    },
    failedSignIn(address) {
      attempts.check(address)
      attempts.failed(address)
    },
    callerOf,
    scopeOf: (tenant, author) => authors.scopeOf(tenant, author),
    addressOf: (tenant, user) => authors.addressOf(tenant, user),
    isGiven: (tenant, key) => authors.isGiven(tenant, key),
    imageKey: () => fileKeys().images,
    unsubscribeKey: () => fileKeys().unsubscribe,

    async open() {
      const isNeeded = system.wake(signingKeysAddress).keys.size > 0 || system.wake(directoryAddress).users.size > 0
      known = fileKeysOf(await options.fileKey(isNeeded))
      await ring.open()
      changes.load()
      removal.resume()
      // Who starts it for himself alone needs no other to be let in by.
      if (options.operatorToken !== undefined) return {}
      const printed = await firstAdministrator(parts, options.administrator)
      return printed ? { printed } : {}
    },

    reloaded() {
      ring.reloaded()
      changes.load()
      links.judgeAnew()
      removal.resume()
    },

    stop() {
      removal.stop()
    },
  }
}

function livesOf({ tokenMs, accessMs, refreshMs }: Lifetimes): readonly number[] {
  return [tokenMs, accessMs, refreshMs, secondFactorMsMax]
}
