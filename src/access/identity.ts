import { AccessChanges } from '#access/access-changes'
import { Accesses } from '#access/accesses'
import { Attempts } from '#access/attempts'
import { authenticatorOf, countFailed, noAuthCounts } from '#access/authenticator'
import { Authors } from '#access/authors'
import { type FileKeys, fileKeysOf } from '#access/file-keys'
import { type LinkCaller, LinkCredentials } from '#access/link-credentials'
import type { Administrator, FirstAdministrator, IdentityOptions, Lifetimes } from '#access/options'
import { Passwords } from '#access/passwords'
import { Nonces, Proofs, proofKeys } from '#access/proof'
import { ReplayCache } from '#access/replay-cache'
import { tokenMatcher } from '#access/secret-text'
import { SessionCallers } from '#access/session-callers'
import { SessionSockets } from '#access/session-sockets'
import { SignInCounts, type SignInParts } from '#access/sign-in'
import { loginsOf, secondFactorsOf } from '#access/sign-in-flows'
import { KeyRing } from '#access/signing-keys'
import { TenantRemoval } from '#access/tenant-removal'
import { Tokens } from '#access/tokens'
import { relyingPartyOf, Webauthn } from '#access/webauthn'
import { rowByName } from '#actors/directory/queries'
import { administratorRole } from '#actors/directory/rows'
import { directoryAddress } from '#actors/directory/state'
import { signingKeysAddress } from '#actors/signing-keys/state'
import { defaultTenant } from '#actors/tenant/state'
import type { SessionKey } from '#model/caller'
import { randomId } from '#model/identifier'
import { Problem } from '#model/problem'

/** All parts of authentication and access, assembled. */
export type Identity = ReturnType<typeof openIdentity>

const nonceKeyBytes = 32
/** The longest lifetime of a token that is issued between a password and a second factor. */
const secondFactorMsMax = 900_000

export function openIdentity(options: IdentityOptions) {
  const { settings, world, system, hub, links, log } = options
  const random = (byteCount: number) => world.random(byteCount)
  const now = () => world.now()
  const failed = (error: unknown, where: string) => log.error({ err: error }, `${where} failed`)
  const accesses = new Accesses()
  let derivedKeys: FileKeys | undefined
  const fileKeys = () => {
    if (!derivedKeys) throw new Error('identity is not open')
    return derivedKeys
  }

  const longestLifeMs = Math.max(...livesOf(settings.lifetimes))
  const ring = new KeyRing({ now, random, system, fileKeys, longestLifeMs, failed })
  const issuer = settings.publicUrls[0] ?? 'device-data-backend'
  const tokens = new Tokens({ now, random, keys: () => ring.keys, issuer })
  const nonces = new Nonces({ now, key: world.random(nonceKeyBytes) })
  const proofs = new Proofs({ now, nonces, replays: new ReplayCache({ now, random }), keys: proofKeys() })
  const attempts = new Attempts({ now, isOn: settings.areRateLimitsOn })
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
    listing: options.listing,
    sweep: options.sweep,
    // The sweep skipped an offset, after which clients of the next tenant with that name begin.
    swept: (tenant) => hub.load(tenant, system.registry.head(tenant).committed),
    failed: (error, tenant) =>
      log.warn({ err: error, tenant }, 'could not remove the data of a deleted tenant; will try again'),
  })
  const changes = new AccessChanges({
    world,
    system,
    accesses,
    connections: { hub, sockets, links },
    rules: options.rules,
    callerOf,
    dependentsOf: (tenant) => authors.dependentsOf(tenant),
    keys: ring,
    tenantEnded: (tenant) => removal.begin(tenant),
    failed,
  })

  const passwords = new Passwords(settings.engine, world)
  const parts: SignInParts = {
    world,
    system,
    accesses,
    authors,
    tokens,
    passwords,
    attempts,
    fileKeys,
    lifetimes: settings.lifetimes,
    nonce: () => nonces.current,
  }
  const webauthn = new Webauthn(() => relyingPartyOf({ ...settings, port: settings.port() }))

  return {
    /**
     * Authenticates every request and upgrade. For `link` the caller has only the tenant of the credential: code that
     * needs the device or the key calls `linkCaller`.
     */
    authenticate: authenticatorOf({
      isServing: () => system.isServing,
      callers,
      tokens,
      proofs,
      attempts,
      passwords,
      linkCallerOf,
      isOperator: tokenMatcher(settings.operatorToken),
      counts: auth,
    }),
    /** The published view: only what is committed. */
    accesses,
    sockets,
    notices: changes,
    logins: loginsOf(parts, signIns),
    secondFactors: secondFactorsOf(parts, webauthn, signIns),
    keys: ring,
    metrics: { auth, signIns, passwords },
    /** The caller of a device connection, by its `Authorization` header. @throws Problem `unauthorized` */
    linkCaller(authorization: string): LinkCaller {
      try {
        const caller = linkCallerOf(authorization)
        auth.link.accepted++
        return caller
      } catch (error) {
        countFailed(auth, 'link', error)
        throw error
      }
    },
    /**
     * The caller of an MQTT connection, by name and secret. Without a secret the name is a provisioning key or the
     * token of a device.
     * @throws Problem `unauthorized`, `too_many_requests`
     */
    linkCallerBy(name: string, secret: string | undefined, address: string): LinkCaller {
      // Device tokens may be short, so after too many wrong guesses even the right token is refused.
      if (secret === undefined) attempts.check(address)
      const caller = secret === undefined ? linkCredentials.callerByToken(name) : linkCredentials.callerBy(name, secret)
      if (!caller) throw new Problem('unauthorized', 'invalid credentials')
      auth.link.accepted++
      return caller
    },
    /**
     * Counts a failed sign-in of an MQTT client. `account`: the name that the client sent, if it sent a password too.
     * @throws Problem `too_many_requests` after too many from one client address or for one account
     */
    failedConnect(address: string, account: string | undefined) {
      auth.link.refused++
      attempts.check(address, account)
      attempts.recordFailure(address, ...(account === undefined ? [] : [account]))
    },
    /**
     * Counts a malformed request to a sign-in route.
     * @throws Problem `too_many_requests` after too many from one client address
     */
    failedSignIn(address: string) {
      attempts.check(address)
      attempts.recordFailure(address)
    },
    /** The caller as of now; undefined once the session is over. */
    callerOf,
    authors,
    /** The keys derived from the key file. Throws before `open` or `follow` has read the file. */
    fileKeys,

    /**
     * Call when a node that follows the owner has read the store.
     * @throws WrongFileKey, an error of the file key's source
     */
    async follow() {
      derivedKeys ??= fileKeysOf(await settings.fileKey(true))
      ring.reload()
      changes.load()
    },

    /**
     * Call when the store is open, before the first request.
     * @throws WrongFileKey, Problem `storage`, an error of the file key's source
     */
    async open(): Promise<void> {
      const isNeeded = system.wake(signingKeysAddress).keys.size > 0 || system.wake(directoryAddress).users.size > 0
      derivedKeys ??= fileKeysOf(await settings.fileKey(isNeeded))
      await ring.open()
      changes.load()
      removal.resume()
      // A local operator already has full access, so no administrator is needed.
      if (settings.operatorToken === undefined) await createAdministrator(parts, settings.firstAdministrator)
    },

    /** Call when the store was read again after a failed write. */
    reloaded() {
      ring.reload()
      changes.load()
      links.recheckCredentials()
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

/** The name of an administrator that was not configured. Contract 2. */
const defaultName = 'admin'
/** 20 Base58 characters have 117 bits. */
const passwordCharacters = 20

/**
 * Creates the configured administrator unless the name is taken; an existing account is never changed. If no
 * administrator is configured and there is no account at all, creates one with a random password, which can only be
 * shown now. Contract 2, First administrator.
 */
async function createAdministrator(parts: SignInParts, first: FirstAdministrator = {}): Promise<void> {
  const { system, world } = parts
  const { configured } = first
  const directory = system.wake(directoryAddress)
  if (configured) {
    if (rowByName(directory, configured.name)) first.exists?.(configured.name)
    else await add(parts, configured)
    return
  }
  if (directory.users.size > 0) return
  const password = randomId((byteCount) => world.random(byteCount), passwordCharacters)
  const generated = { name: defaultName, password }
  if (await add(parts, generated)) first.generated?.(generated)
}

/** False when the name is taken. */
async function add({ system, passwords, world }: SignInParts, { name, password }: Administrator): Promise<boolean> {
  const passwordHash = await passwords.hash(password, { address: '' })
  const id = randomId((byteCount) => world.random(byteCount))
  const user = { id, tenant: defaultTenant, name, email: null, roles: [administratorRole] }
  return (await system.ask(directoryAddress, { type: 'add_administrator', user, passwordHash })) === true
}
