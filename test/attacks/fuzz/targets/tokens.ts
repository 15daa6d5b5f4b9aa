import { hkdfSync, sign } from 'node:crypto'
import { base64urlOf } from '#access/secret-text'
import { makeSigningKey, type SigningKey } from '#access/signing-keys'
import { Tokens } from '#access/tokens'
import { isServerMadeId, isTenantIdentifier } from '#model/identifier'
import { everything } from '#model/scope'
import { expectThat, seedsOf, type Target } from '#test/attacks/fuzz/target'

/** Reads access, refresh and second-factor tokens, also with a valid signature. */

const nowMs = 1_790_000_000_000
const key = keyFor('server')
const { kid: jkt } = keyFor('client')
const keys = { current: key, find: (kid: string) => (kid === key.kid ? key : undefined) }

/** Tokens with an empty cache, so that each token is read for the first time. */
function freshTokens(): Tokens {
  return new Tokens({
    now: () => nowMs,
    random: bytesFor('ids'),
    keys: () => keys,
    issuer: 'device-data-backend',
  })
}

const [tenant, user, session, lifetimeMs] = ['default', 'User111111', 'Session111', 600_000]
const made = freshTokens()
const { grants } = everything
const issued = await Promise.all([
  made.issueAccess({ tenant, user, session, number: 1, roles: ['admin'], grants, lifetimeMs, jkt }),
  made.issueAccess({ tenant, user, session, number: 0, roles: [], grants: [], lifetimeMs }),
  made.issueBasicRefresh({ tenant, user, session, number: 1, endsAt: nowMs + lifetimeMs }),
  made.issueSecondFactor({ tenant, user, version: 1, jkt, isEnrolling: false, lifetimeMs }),
])

export const seeds = seedsOf(...issued, ...issued.map(unsigned))

/** Checks that reading never throws. */
export const fuzz: Target['fuzz'] = async (bytes) => {
  const text = signedText(bytes, key)
  const tokens = freshTokens()
  const { token, fault } = await tokens.read(text)
  const refresh = await tokens.readBasicRefresh(text)
  const factor = await tokens.readSecondFactor(text, jkt)
  const taken = [fault === undefined ? token : undefined, refresh, factor].filter((each) => each !== undefined)
  expectThat(taken.length < 2, 'a token is good for one use')
  for (const each of taken) expectThat(isTenantIdentifier(each.tenant), 'a token belongs to a tenant')
  for (const each of [token, refresh]) expectThat(!each || isServerMadeId(each.session), 'a token belongs to a session')
  return taken.length > 0 ? 'accepted' : 'refused'
}

/** Header and claims without the signature. */
function unsigned(text: string): string {
  const [header = '', claims = ''] = text.split('.')
  return [header, claims].map((part) => Buffer.from(part, 'base64url').toString()).join('\n')
}

/** Deterministic bytes for a name. */
function bytesFor(name: string): (bytes: number) => Uint8Array {
  return (bytes) => new Uint8Array(hkdfSync('sha256', name, '', '', bytes))
}

function keyFor(name: string): SigningKey {
  return makeSigningKey(bytesFor(name))
}

/**
 * The bytes as a JSON Web Signature, with one character for each byte. If they contain a line break, the parts before
 * and after the first one become header and claims with a valid signature. Mutation would never make such a text.
 */
function signedText(bytes: Uint8Array, { privateKey }: SigningKey): string {
  const all = Buffer.from(bytes)
  const end = all.indexOf('\n')
  if (end < 0) return all.toString('latin1')
  const signed = `${base64urlOf(all.subarray(0, end))}.${base64urlOf(all.subarray(end + 1))}`
  const signature = sign('sha256', Buffer.from(signed), { key: privateKey, dsaEncoding: 'ieee-p1363' })
  return `${signed}.${base64urlOf(signature)}`
}
