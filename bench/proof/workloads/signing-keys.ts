import { createPublicKey, type JsonWebKey, verify } from 'node:crypto'
import { administrator, basic } from '#bench/harness/identity'
import type { Workload } from '#bench/proof/workloads/expected-state'
import type { ProofApi } from '#bench/proof/workloads/proof-api'

/** The keys that sign tokens, rotated as often as a server allows: once a minute. */

const path = '/iam/signing-keys'
const slot = 'signing key'
const unknownContent = 'another'

/** Times in Unix ms. */
interface ListedKey {
  readonly kid: string
  readonly createdAt: number
  /** Absent: it signs. */
  readonly retiresAt?: number
}

type PublishedKey = JsonWebKey & { readonly kid: string }

/** A key as it was seen first, and a token that it signed. */
interface KnownKey {
  readonly x: string
  retiresAt: number | undefined
  token: string | undefined
}

/**
 * The key of an acknowledged rotation signs every later token. The keys before it stay published unchanged until the last
 * token that they signed has expired, and these tokens are good.
 */
export function signingKeysWorkload(): Workload {
  const answered = new Set<string>()
  /** Oldest first. */
  const known = new Map<string, KnownKey>()
  return {
    name: 'signing keys',
    slots: [slot],
    pauseMs: 200,
    // The last rotation is younger than a minute.
    busyStatuses: [409],
    unknownContent,
    nextChange: () => ({
      method: 'POST',
      path,
      content({ text }) {
        const { kid } = JSON.parse(text) as ListedKey
        answered.add(kid)
        return kid
      },
      isSentOnce: true,
    }),
    async observe(api, entries) {
      const rows = await api.rows<ListedKey>(path)
      const { keys } = await api.must<{ keys: readonly PublishedKey[] }>('GET', '/.well-known/jwks.json')
      const [signing, ...others] = rows.filter(({ retiresAt }) => retiresAt === undefined)
      if (!signing || others.length > 0) throw new Error(`${signing ? others.length + 1 : 0} keys sign`)
      const all = [...known.keys()]
      const last = entries.get(slot)?.observed?.content ?? ''
      // A copy may be older than the newest keys.
      for (const kid of api.isCopy ? all.slice(0, Math.max(0, all.indexOf(last))) : all) {
        const row = rows.find((each) => each.kid === kid)
        const published = keys.find((each) => each.kid === kid)
        if (!row || !published) throw new Error(`${kid} is ${row ? 'not published' : 'gone'}`)
        await mustBeSame(api, row, published, known.get(kid) as KnownKey)
      }
      const token = await tokenOf(api, signing.kid, keys)
      const isTokenKept = !api.isCopy && known.get(signing.kid)?.token === undefined
      if (!isTokenKept) await api.must('POST', '/auth/logout', { headers: { authorization: `Bearer ${token}` } })
      if (!api.isCopy) {
        for (const { kid, retiresAt } of [...rows].sort((a, b) => a.createdAt - b.createdAt)) {
          const before = known.get(kid)
          const x = String(keys.find((each) => each.kid === kid)?.x)
          known.set(kid, { x, token: before?.token, retiresAt: before?.retiresAt ?? retiresAt })
        }
        const own = known.get(signing.kid) as KnownKey
        own.token ??= token
      }
      const isAnswered = answered.has(signing.kid)
      // The server made the first key by itself.
      if (rows.length === 1 && !isAnswered) return new Map()
      return new Map([[slot, { content: isAnswered ? signing.kid : unknownContent }]])
    },
  }
}

/** The key has not changed, and what it signed is good. */
async function mustBeSame(
  api: ProofApi,
  { kid, retiresAt }: ListedKey,
  published: PublishedKey,
  known: KnownKey,
): Promise<void> {
  const { x, token } = known
  if (published.x !== x) throw new Error(`${kid} is another key than before`)
  if (known.retiresAt !== undefined && retiresAt !== known.retiresAt)
    throw new Error(`${kid} was to retire at ${known.retiresAt}, and is at ${retiresAt}`)
  if (token === undefined) return
  const expiresAt = partOf<{ exp: number }>(token, 1).exp * 1000
  if (retiresAt !== undefined && retiresAt < expiresAt)
    throw new Error(`${kid} retires ${expiresAt - retiresAt} ms before a token that it signed expires`)
  if (!isSignedBy(published, token)) throw new Error(`a token of ${kid} is not signed by the published key`)
  const { status } = await api.ask('GET', '/iam/me', { headers: { authorization: `Bearer ${token}` } })
  if (status !== 200) throw new Error(`a token that ${kid} signed is answered ${status}`)
}

/** A new token. @throws when another key signed it */
async function tokenOf(api: ProofApi, kid: string, keys: readonly PublishedKey[]): Promise<string> {
  const headers = { authorization: basic(administrator) }
  const { token } = await api.must<{ token: string }>('GET', '/iam/token', { headers })
  const { kid: by } = partOf<{ kid: string }>(token, 0)
  const published = keys.find((each) => each.kid === kid)
  if (by !== kid || !published || !isSignedBy(published, token))
    throw new Error(`${kid} signs by the list, and a new token is of ${by}`)
  return token
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

function partOf<Part>(token: string, place: 0 | 1): Part {
  return JSON.parse(Buffer.from(token.split('.')[place] ?? '', 'base64url').toString()) as Part
}
