import { administrator, basic } from '#bench/harness/identity'
import type { HttpAnswer } from '#bench/http'
import type { Workload } from '#bench/proof/workloads/expected-state'

/** The keys that sign tokens, rotated as often as a server allows: once a minute. */

const path = '/iam/signing-keys'
const slot = 'signing key'
const unknownContent = 'another'

interface ListedKey {
  readonly kid: string
  readonly retiresAt?: number
}

/**
 * The key of an acknowledged rotation signs every later token. Earlier keys stay published unchanged, and the tokens
 * that they signed stay valid, because tokens do not expire during the proof.
 */
export function signingKeysWorkload(): Workload {
  const answered = new Set<string>()
  /** By `kid`, oldest first: the published key, and a token that it signed. */
  const known = new Map<string, { readonly x: string; readonly token: string }>()
  const onAnswer = ({ text }: HttpAnswer) => {
    const { kid } = JSON.parse(text) as ListedKey
    answered.add(kid)
    return kid
  }
  return {
    name: 'signing keys',
    slots: [slot],
    pauseMs: 200,
    // The last rotation was less than a minute ago.
    busyStatuses: [409],
    nextChange: () => ({ method: 'POST', path, content: unknownContent, onAnswer, isSentOnce: true }),
    async observe(api, entries) {
      const rows = await api.must<readonly ListedKey[]>('GET', path)
      const { keys } = await api.must<{ keys: readonly { kid: string; x: string }[] }>('GET', '/.well-known/jwks.json')
      const [signing, ...others] = rows.filter(({ retiresAt }) => retiresAt === undefined)
      if (!signing || others.length > 0) throw new Error(`${signing ? others.length + 1 : 0} keys sign`)
      const all = [...known.keys()]
      const last = entries.get(slot)?.observed?.content ?? ''
      // A copy may be older than the newest keys.
      for (const kid of api.isCopy ? all.slice(0, Math.max(0, all.indexOf(last))) : all) {
        const { x, token } = known.get(kid) as { x: string; token: string }
        const isListed = rows.some((row) => row.kid === kid)
        if (!isListed || keys.find((key) => key.kid === kid)?.x !== x) throw new Error(`${kid} is gone or was replaced`)
        const { status } = await api.ask('GET', '/iam/me', { headers: { authorization: `Bearer ${token}` } })
        if (status !== 200) throw new Error(`a token that ${kid} signed is answered ${status}`)
      }
      if (api.isCopy || !known.has(signing.kid)) {
        const headers = { authorization: basic(administrator) }
        const { token } = await api.must<{ token: string }>('GET', '/iam/token', { headers })
        const by = JSON.parse(Buffer.from(token.split('.')[0] ?? '', 'base64url').toString()) as { kid: string }
        const x = keys.find(({ kid }) => kid === signing.kid)?.x
        if (by.kid !== signing.kid || x === undefined)
          throw new Error(`${signing.kid} signs, and a token is of ${by.kid}`)
        if (!api.isCopy) known.set(signing.kid, { x, token })
      }
      const isAnswered = answered.has(signing.kid)
      // The server made the first key by itself.
      if (rows.length === 1 && !isAnswered) return new Map()
      return new Map([[slot, { content: isAnswered ? signing.kid : unknownContent }]])
    },
  }
}
