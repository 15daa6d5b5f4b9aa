import { hkdfSync } from 'node:crypto'
import { decodeJwt, decodeProtectedHeader } from 'jose'
import { Nonces, Proofs, proofKeys } from '#access/proof'
import { ReplayCache } from '#access/replay-cache'
import { makeSigningKey, type SigningKey, type SigningKeys } from '#access/signing-keys'
import { type TokenReading, Tokens } from '#access/tokens'
import { type AuthenticationRequest, proofProblem, schemeProblem, tokenProblem } from '#http/authentication'
import type { ForwardedRequest } from '#model/forwarded-request'
import { Problem } from '#model/problem'
import { everything } from '#model/scope'
import { requestWith } from '#test/access/authentication-request'
import { type KeyPair, makeKeyPair } from '#test/access/key-pair'
import { signJws } from '#test/access/proof-draft'
import type { ProofContext, ProofRequestText, Refusal } from '#test/access/wrong-proof'
import { ManualWorld } from '#test/runtime/manual-world'

/** The result of an authentication. */
export interface Answer {
  /** Undefined if the request is accepted. */
  readonly refusal: Refusal | undefined
  /** The header `DPoP-Nonce` of the answer. */
  readonly nonce: string | undefined
}

export interface ProofFixtureOptions {
  readonly world?: ManualWorld
  readonly entriesMax?: number
  readonly forwarded?: Partial<ForwardedRequest>
}

const method = 'GET'
const path = '/api/v1/iam/me'
const origin = 'http://127.0.0.1:8080'

/**
 * The checks of proofs and tokens in the order of the contract, without a server. They suffice to decide on a request
 * with `Authorization`. All sessions are active except `endedSession`.
 */
export class ProofFixture {
  readonly world: ManualWorld
  readonly keys = proofKeys()
  readonly nonces: Nonces
  readonly replays: ReplayCache
  readonly proofs: Proofs
  readonly tokens: Tokens
  readonly context: ProofContext
  readonly signingKeys: SigningKeys
  readonly #forwarded: ForwardedRequest

  static async open(options: ProofFixtureOptions = {}): Promise<ProofFixture> {
    const made = new ProofFixture(options)
    const { tokens, world, context, signingKeys } = made
    const { key, otherKey } = context
    Object.assign(context.tokens, await sampleTokens({ tokens, world, signingKey: signingKeys.current, key, otherKey }))
    return made
  }

  private constructor({ world = new ManualWorld(), entriesMax, forwarded }: ProofFixtureOptions = {}) {
    this.world = world
    const now = () => world.now()
    const random = (bytes: number) => world.random(bytes)
    this.#forwarded = { origins: [origin], host: '127.0.0.1:8080', address: '127.0.0.1', ...forwarded }
    const nonceKey = random(32)
    this.nonces = new Nonces({ now, key: nonceKey })
    this.replays = new ReplayCache({ now, random, ...(entriesMax !== undefined && { entriesMax }) })
    this.proofs = new Proofs({ now, nonces: this.nonces, replays: this.replays, keys: this.keys })
    const current = makeSigningKey((bytes) => new Uint8Array(hkdfSync('sha256', 'signing key', '', '', bytes)))
    this.signingKeys = { current, find: (kid) => (kid === current.kid ? current : undefined) }
    this.tokens = new Tokens({ now, random, keys: () => this.signingKeys, issuer: 'device-data-backend' })
    const [key, otherKey] = [makeKeyPair(), makeKeyPair()]
    this.context = {
      method,
      path,
      origin,
      nowS: () => Math.floor(world.now() / 1000),
      nonce: () => this.nonces.current,
      key,
      otherKey,
      nonces: {
        old: new Nonces({ now: () => world.now() - 660_000, key: nonceKey }).current,
        earlierStart: new Nonces({ now, key: random(32) }).current,
      },
      tokens: {} as ProofContext['tokens'],
    }
  }

  /** Checks a request as the server does, but does not load the caller. */
  async answer({ query = '', headers }: ProofRequestText): Promise<Answer> {
    const replyHeaders = new Map<string, string>()
    const sent: Record<string, string[]> = {}
    for (const [name, value] of headers) sent[name.toLowerCase()] = [...(sent[name.toLowerCase()] ?? []), value]
    const addReplyHeader = (name: string, value: string) => void replyHeaders.set(name.toLowerCase(), value)
    const request = requestWith(sent, { method, path, query, forwarded: this.#forwarded, addReplyHeader })
    const refusal = await refusalOf(this.#authenticate(request))
    const nonce = replyHeaders.get('dpop-nonce')
    return { refusal: refusal && { ...refusal, ...(nonce !== undefined && { hasNonce: true }) }, nonce }
  }

  async #authenticate(request: AuthenticationRequest): Promise<void> {
    const [, scheme = '', token = ''] = /^(\S+) +(.*)$/.exec(request.header('authorization')) ?? []
    if (scheme.toLowerCase() === 'bearer') {
      const reading = await this.tokens.read(token)
      if (reading.token?.jkt !== undefined) throw schemeProblem()
      this.#checkActive(reading, 'Bearer')
      return
    }
    const proof = await this.proofs.check(request, token)
    const reading = await this.tokens.read(token)
    if (reading.token && reading.token.jkt !== proof.jkt) throw proofProblem('key mismatch')
    this.proofs.checkUnused(proof)
    this.#checkActive(reading, 'DPoP')
    this.proofs.use(proof)
  }

  #checkActive({ token, fault }: TokenReading, scheme: 'Bearer' | 'DPoP'): void {
    if (fault) throw tokenProblem(fault, scheme)
    if (token?.session === endedSession) throw tokenProblem('session over', scheme)
  }
}

async function refusalOf(task: Promise<void>): Promise<Refusal | undefined> {
  try {
    await task
    return undefined
  } catch (error) {
    if (!(error instanceof Problem)) throw error
    const { 'WWW-Authenticate': challenge, 'Retry-After': retryAfter } = error.headers ?? {}
    return {
      status: error.kind.status,
      error: error.message,
      ...(challenge !== undefined && { challenge }),
      ...(retryAfter !== undefined && { hasRetryAfter: true }),
    }
  }
}

/** The id of the only session that is over. */
const endedSession = 'Ended11111'
const lifetimeMs = 600_000
const [tenant, user, session] = ['default', 'User111111', 'Session111']

/** Valid tokens, and tokens with each kind of fault. */
async function sampleTokens(of: {
  readonly tokens: Tokens
  readonly world: ManualWorld
  readonly signingKey: SigningKey
  readonly key: KeyPair
  readonly otherKey: KeyPair
}): Promise<ProofContext['tokens']> {
  const { tokens, world, signingKey, key, otherKey } = of
  const { grants } = everything
  const access = (more: { jkt?: string; session?: string }) =>
    tokens.issueAccess({ tenant, user, session, number: 1, roles: ['admin'], grants, lifetimeMs, ...more })

  world.spend(-2 * lifetimeMs)
  const expired = await access({ jkt: key.jkt })
  world.spend(2 * lifetimeMs)
  const bound = await access({ jkt: key.jkt })
  const [header, claims] = [decodeProtectedHeader(bound), decodeJwt(bound)]
  return {
    bound,
    unbound: await access({}),
    otherBound: await access({ jkt: otherKey.jkt }),
    ended: await access({ jkt: key.jkt, session: endedSession }),
    expired,
    refresh: await tokens.issueBasicRefresh({ tenant, user, session, number: 1, endsAt: world.now() + lifetimeMs }),
    secondFactor: await tokens.issueSecondFactor({
      tenant,
      user,
      version: 1,
      jkt: key.jkt,
      isEnrolling: false,
      lifetimeMs,
    }),
    plainType: signJws({ ...header, typ: 'JWT' }, claims, signingKey.privateKey),
    unknownKid: signJws({ ...header, kid: 'unknown' }, claims, signingKey.privateKey),
    foreign: signJws(header, claims, makeKeyPair().privateKey),
  }
}
