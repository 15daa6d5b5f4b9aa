import { createPublicKey, type JsonWebKey, verify } from 'node:crypto'
import { administrator, basic } from '#bench/harness/identity'
import type { LedgerEntry, LedgerKind } from '#bench/proof/clerks/ledger'
import type { ProofApi } from '#bench/proof/clerks/proof-api'

/** The keys that tokens are signed with, rotated as often as a server allows: once a minute. */

const path = '/iam/signing-keys'
const slot = 'signing key'

/** Times in Unix ms. */
interface ShownKey {
  readonly kid: string
  readonly createdAt: number
  /** Absent: it signs. */
  readonly retiresAt?: number
}

type PublishedKey = JsonWebKey & { readonly kid: string }

/** What was seen of a key first, and a token that it signed. */
interface Known {
  readonly x: string
  retiresAt: number | undefined
  token: string | undefined
}

/**
 * A key that a rotation was answered with signs what is signed from then on. Those before it stay in the public set, the
 * same as they were, until the last token that they signed has ended, and these tokens are good.
 */
export function signingKeysKind(): LedgerKind {
  const answered = new Set<string>()
  /** In the order in which they were made. */
  const known = new Map<string, Known>()

  /** Those that must be there by the books. */
  function wantedIn(api: ProofApi, { found }: LedgerEntry): readonly string[] {
    const all = [...known.keys()]
    return api.isCopy ? all.slice(0, Math.max(0, all.indexOf(found?.held ?? ''))) : all
  }

  return {
    name: 'signing keys',
    slots: [slot],
    pauseMs: 200,
    // The last rotation is younger than a minute.
    busy: [409],
    unknown: 'another',
    wish: () => ({
      method: 'POST',
      path,
      held({ text }) {
        const { kid } = JSON.parse(text) as ShownKey
        answered.add(kid)
        return kid
      },
      isOnceOnly: true,
    }),
    async look(api, entries) {
      const rows = await api.rows<ShownKey>(path)
      const { keys } = await api.must<{ keys: readonly PublishedKey[] }>('GET', '/.well-known/jwks.json')
      const [signing, ...others] = rows.filter(({ retiresAt }) => retiresAt === undefined)
      if (!signing || others.length > 0) throw new Error(`${signing ? others.length + 1 : 0} keys sign`)
      for (const kid of wantedIn(api, entries.get(slot) as LedgerEntry)) {
        const row = rows.find((each) => each.kid === kid)
        const published = keys.find((each) => each.kid === kid)
        if (!row || !published) throw new Error(`${kid} is ${row ? 'not published' : 'gone'}`)
        await mustBelieve(api, row, published, known.get(kid) as Known)
      }
      await mustSign(api, signing.kid, keys, (token) => {
        if (api.isCopy) return false
        for (const { kid, retiresAt } of [...rows].sort((a, b) => a.createdAt - b.createdAt)) {
          const before = known.get(kid)
          const x = String(keys.find((each) => each.kid === kid)?.x)
          known.set(kid, { x, token: before?.token, retiresAt: before?.retiresAt ?? retiresAt })
        }
        const own = known.get(signing.kid) as Known
        const isFirst = own.token === undefined
        own.token ??= token
        return isFirst
      })
      // The one that the server made for itself.
      if (rows.length === 1 && !answered.has(signing.kid)) return new Map()
      return new Map([[slot, { held: answered.has(signing.kid) ? signing.kid : 'another' }]])
    },
  }
}

/** It is the key that it was, and what it signed before is good. */
async function mustBelieve(
  api: ProofApi,
  { kid, retiresAt }: ShownKey,
  published: PublishedKey,
  { x, retiresAt: retiredAt, token }: Known,
): Promise<void> {
  if (published.x !== x) throw new Error(`${kid} is another key than before`)
  if (retiredAt !== undefined && retiresAt !== retiredAt)
    throw new Error(`${kid} was to retire at ${retiredAt}, and is at ${retiresAt}`)
  if (token === undefined) return
  if (retiresAt !== undefined && retiresAt < expiryOf(token))
    throw new Error(`${kid} retires ${expiryOf(token) - retiresAt} ms before what it signed ends`)
  if (!isSignedBy(published, token)) throw new Error(`a token of ${kid} is not signed by what is published as that`)
  const { status } = await api.ask('GET', '/iam/me', { headers: { authorization: `Bearer ${token}` } })
  if (status !== 200) throw new Error(`a token that ${kid} signed is answered ${status}`)
}

/** Whoever signs in now gets a token of this key. `keep`: whether the session is to stay. */
async function mustSign(
  api: ProofApi,
  kid: string,
  keys: readonly PublishedKey[],
  keep: (token: string) => boolean,
): Promise<void> {
  const { token } = await api.must<{ token: string }>('GET', '/iam/token', {
    headers: { authorization: basic(administrator) },
  })
  const { kid: by } = partOf<{ kid: string }>(token, 0)
  const published = keys.find((each) => each.kid === kid)
  if (by !== kid || !published || !isSignedBy(published, token))
    throw new Error(`${kid} signs by the list, and a new token is of ${by}`)
  if (!keep(token)) await api.must('POST', '/auth/logout', { headers: { authorization: `Bearer ${token}` } })
}

/** ES256: RFC 7515, appendix A.3. */
function isSignedBy(key: PublishedKey, token: string): boolean {
  const [header, payload, signature = ''] = token.split('.')
  return verify(
    'sha256',
    Buffer.from(`${header}.${payload}`),
    { key: createPublicKey({ key, format: 'jwk' }), dsaEncoding: 'ieee-p1363' },
    Buffer.from(signature, 'base64url'),
  )
}

/** Unix ms. */
function expiryOf(token: string): number {
  return partOf<{ exp: number }>(token, 1).exp * 1000
}

function partOf<Part>(token: string, place: 0 | 1): Part {
  return JSON.parse(Buffer.from(token.split('.')[place] ?? '', 'base64url').toString()) as Part
}
