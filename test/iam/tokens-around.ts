import { type JsonObject, readPart, signJws } from '#iam/jws'
import type { SigningKey } from '#iam/signing-key'
import type { Tokens } from '#iam/tokens'
import { everything } from '#model/scope'
import { type KeyPair, makeKeyPair } from '#test/iam/key-pair'
import type { Ground } from '#test/iam/wrong-proof'
import type { ManualWorld } from '#test/runtime/manual-world'

/** The one session that is over. */
export const endedSession = 'Ended11111'
const lifetimeMs = 600_000
const [tenant, user, session] = ['default', 'User111111', 'Session111']

/** A good token, and every one that is not as good as it looks. */
export function tokensAround(of: {
  readonly tokens: Tokens
  readonly world: ManualWorld
  readonly signingKey: SigningKey
  readonly key: KeyPair
  readonly otherKey: KeyPair
}): Ground['tokens'] {
  const { tokens, world, signingKey, key, otherKey } = of
  const { grants } = everything
  const access = (more: { jkt?: string; session?: string }) =>
    tokens.issueAccess({ tenant, user, session, number: 1, roles: ['admin'], grants, lifetimeMs, ...more })

  world.spend(-2 * lifetimeMs)
  const expired = access({ jkt: key.jkt })
  world.spend(2 * lifetimeMs)
  const bound = access({ jkt: key.jkt })
  const [header, claims] = bound.split('.').slice(0, 2).map(readPart) as [JsonObject, JsonObject]
  return {
    bound,
    unbound: access({}),
    otherBound: access({ jkt: otherKey.jkt }),
    ended: access({ jkt: key.jkt, session: endedSession }),
    expired,
    refresh: tokens.issueBasicRefresh({ tenant, user, session, number: 1, endsAt: world.now() + lifetimeMs }),
    secondFactor: tokens.issueSecondFactor({ tenant, user, version: 1, jkt: key.jkt, isEnrolling: false, lifetimeMs }),
    plainType: signJws({ ...header, typ: 'JWT' }, claims, signingKey.privateKey),
    unknownKid: signJws({ ...header, kid: 'unknown' }, claims, signingKey.privateKey),
    foreign: signJws(header, claims, makeKeyPair().privateKey),
  }
}
