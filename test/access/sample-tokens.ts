import { decodeJwt, decodeProtectedHeader } from 'jose'
import type { SigningKey } from '#access/signing-keys'
import type { Tokens } from '#access/tokens'
import { everything } from '#model/scope'
import { type KeyPair, makeKeyPair } from '#test/access/key-pair'
import { signJws } from '#test/access/proof-draft'
import type { ProofContext } from '#test/access/wrong-proof'
import type { ManualWorld } from '#test/runtime/manual-world'

/** The id of the only session that is over. */
export const endedSession = 'Ended11111'
const lifetimeMs = 600_000
const [tenant, user, session] = ['default', 'User111111', 'Session111']

/** Valid tokens, and tokens with each kind of fault. */
export async function sampleTokens(of: {
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
