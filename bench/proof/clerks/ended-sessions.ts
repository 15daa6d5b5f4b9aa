import { basic } from '#bench/harness/identity'
import type { HttpAnswer } from '#bench/http'
import { ProvingKey } from '#bench/load/proofs'
import { nonceAt } from '#bench/proof/clerks/bound-sessions'
import type { Found, LedgerEntry, LedgerKind, Wish } from '#bench/proof/clerks/ledger'
import { foundIn, slotsOf } from '#bench/proof/clerks/named'
import { firstPassword, nobody, sessionIn } from '#bench/proof/clerks/people-kinds'
import type { ProofApi } from '#bench/proof/clerks/proof-api'
import type { SeededRandom } from '#bench/random'

/** All sessions of somebody, of both schemes, ended at once: by the administrator, or from one of them (`?all=true`). */

export const signedOutPeople = slotsOf('signed-out', 2)

/** Then they are ended. */
const sessionsMax = 4
/** Of all that are over: those that are looked at. */
const overMax = 4

/** Of somebody's sessions, while nothing is under way. */
interface Standing {
  readonly sessions: readonly Session[]
  readonly over: readonly Session[]
}

const atFirst: Standing = { sessions: [], over: [] }

/**
 * Once it was answered that all sessions are over, nothing that any of them had is good, behind every kill: neither an access
 * token nor a refresh token, also where that was renewed. What is begun behind it is there, and can be renewed. Where nobody
 * answered, all are over or none.
 */
export function endedSessionsKind(): LedgerKind {
  const people = new Map(signedOutPeople.map((slot) => [slot, new SignedOutPerson(slot)]))
  const personOf = (slot: string) => people.get(slot) as SignedOutPerson
  return {
    name: 'ends of all sessions',
    slots: signedOutPeople,
    async begin(api) {
      const nonce = await nonceAt(api)
      for (const person of people.values()) person.begin({ api, nonce })
    },
    wish: (slot, before, number, random) => personOf(slot).wish(before, number, random),
    async look(api, entries) {
      const nonce = await nonceAt(api)
      return foundIn(entries, (slot, entry) => personOf(slot).look({ api, nonce }, entry))
    },
  }
}

interface Place {
  readonly api: ProofApi
  readonly nonce: string
}

class SignedOutPerson {
  readonly #name: string
  readonly #key = new ProvingKey()
  /** By what the books say of it. */
  readonly #standings = new Map<string, Standing>()
  #place: Place | undefined

  constructor(name: string) {
    this.#name = name
  }

  begin(place: Place): void {
    this.#place = place
  }

  wish(found: Found | undefined, number: number, random: SeededRandom): Wish {
    const place = this.#place as Place
    const standing = this.#standingOf(found?.held)
    const words = `${this.#name} ${number}`
    const { sessions } = standing
    // The one whose answer was lost says nothing for itself.
    const known = sessions.filter(({ token }) => token !== '')
    const isFull = sessions.length >= sessionsMax
    if (sessions.length === 0 || (!isFull && random.below(3) > 0)) return this.#signIn(place, standing, words, random)
    const over = [...standing.over, ...known].slice(-overMax)
    this.#standings.set(words, { sessions: [], over })
    const [one] = known.slice(-1)
    if (!one || random.below(3) > 0) return { method: 'DELETE', path: this.#path, held: words }
    const logout = '/auth/logout'
    const headers = one.headers(place, 'POST', logout)
    const heard = (answer: HttpAnswer) => this.#adopt(answer)
    return { method: 'POST', path: `${logout}?all=true`, headers, held: words, heard, isOnceOnly: true }
  }

  /** What the books are to say. @throws when something is good that must not be, or the other way round */
  async look(place: Place, { found, pending }: LedgerEntry): Promise<Found | undefined> {
    if (!found && !pending) return undefined
    const rows = await place.api.rows<{ id: string }>(this.#path)
    const there = rows.map(({ id }) => id)
    const words = pending && String(pending.wish.held)
    const before = this.#standingOf(found?.held)
    const after = words === undefined ? undefined : this.#after(words, before, there)
    const standing = [before, ...(after ? [after] : [])].find(({ sessions }) => areThese(sessions, there))
    if (!standing) return { held: `the sessions ${there.join(', ')}` }
    for (const session of standing.sessions) await session.mustBeThere(place)
    for (const session of standing.over) await session.mustBeOver(place)
    if (standing === after && words !== undefined) this.#standings.set(words, after)
    return standing === after && words !== undefined ? { held: words } : found
  }

  get #path(): string {
    return `/iam/users/${this.#name}/sessions`
  }

  /** The next nonce comes with the answers. */
  #adopt({ headers }: HttpAnswer): void {
    const told = headers['dpop-nonce']
    if (this.#place && typeof told === 'string') this.#place = { ...this.#place, nonce: told }
  }

  #standingOf(words: string | undefined): Standing {
    return (words !== undefined && this.#standings.get(words)) || atFirst
  }

  /** If what was asked for was done: the end of all, or one more, of which nobody heard. */
  #after(words: string, before: Standing, there: readonly string[]): Standing | undefined {
    const ended = this.#standings.get(words)
    if (ended) return ended
    const [id, ...others] = there.filter((each) => !before.sessions.some((session) => session.id === each))
    if (id === undefined || others.length > 0) return undefined
    return { ...before, sessions: [...before.sessions, new Session(this.#key, id)] }
  }

  #signIn(place: Place, standing: Standing, words: string, random: SeededRandom): Wish {
    const heard = (answer: HttpAnswer) => {
      this.#adopt(answer)
      const session = Session.of(this.#key, JSON.parse(answer.text) as Pair)
      this.#standings.set(words, { ...standing, sessions: [...standing.sessions, session] })
    }
    const own = { held: words, heard, isOnceOnly: true }
    if (random.below(2) === 0) {
      const headers = { authorization: basic({ name: this.#name, password: firstPassword }) }
      return { method: 'GET', path: '/iam/token?scope=offline', headers, ...own }
    }
    const path = '/auth/login'
    const headers = { ...nobody, dpop: proof(this.#key, place, 'POST', path) }
    return { method: 'POST', path, headers, body: { email: this.#name, password: firstPassword }, ...own }
  }
}

/** `token`: of the Basic scheme, `accessToken`: bound to a key. */
interface Pair {
  readonly token?: string
  readonly accessToken?: string
  readonly refreshToken: string
}

/** One session of either scheme; without tokens where nobody heard them. */
class Session {
  readonly id: string
  /** A refresh replaces both tokens. */
  token: string
  readonly #key: ProvingKey
  readonly #isBound: boolean
  /** Good once. */
  #refreshToken: string

  constructor(key: ProvingKey, id: string, token = '', { isBound = false, refreshToken = '' } = {}) {
    this.#key = key
    this.id = id
    this.token = token
    this.#isBound = isBound
    this.#refreshToken = refreshToken
  }

  static of(key: ProvingKey, { token, accessToken, refreshToken }: Pair): Session {
    const access = token ?? accessToken ?? ''
    return new Session(key, sessionIn(access), access, { isBound: token === undefined, refreshToken })
  }

  headers(place: Place, method: string, path: string): Record<string, string> {
    if (!this.#isBound) return { authorization: `Bearer ${this.token}` }
    return { authorization: `DPoP ${this.token}`, dpop: proof(this.#key, place, method, path, this.token) }
  }

  /** It is renewed; but not in a copy, of a moment when it may not have been renewed as often. */
  async mustBeThere(place: Place): Promise<void> {
    if (this.token === '') return
    this.#must(200, 'an access token', await this.#asked(place))
    if (place.api.isCopy) return
    const renewed = await this.#renewed(place)
    this.#must(200, 'a refresh token', renewed)
    const { token, accessToken, refreshToken } = JSON.parse(renewed.text) as Pair
    this.token = token ?? accessToken ?? ''
    this.#refreshToken = refreshToken
  }

  async mustBeOver(place: Place): Promise<void> {
    this.#must(401, 'an access token', await this.#asked(place))
    this.#must(401, 'a refresh token', await this.#renewed(place))
  }

  #asked(place: Place): Promise<HttpAnswer> {
    const path = '/iam/me'
    return place.api.ask('GET', path, { headers: this.headers(place, 'GET', path) })
  }

  #renewed(place: Place): Promise<HttpAnswer> {
    const body = { refreshToken: this.#refreshToken }
    if (!this.#isBound)
      return place.api.ask('POST', '/iam/token?grant_type=refresh_token&scope=offline', { headers: nobody, body })
    const path = '/auth/token'
    return place.api.ask('POST', path, { headers: { ...nobody, dpop: proof(this.#key, place, 'POST', path) }, body })
  }

  #must(wanted: number, what: string, { status }: HttpAnswer): void {
    if (status === wanted) return
    const state = wanted === 200 ? 'there' : 'over'
    throw new Error(`${what} of session ${this.id}, which is ${state}, was answered ${status}`)
  }
}

function proof(key: ProvingKey, { api, nonce }: Place, method: string, path: string, token?: string): string {
  return key.proof({ method, url: `${api.url}/api/v1${path}`, nonce, ...(token !== undefined && { token }) })
}

function areThese(sessions: readonly Session[], ids: readonly string[]): boolean {
  return sessions.length === ids.length && sessions.every(({ id }) => ids.includes(id))
}
