import type { HttpAnswer } from '#bench/http'
import { ProvingKey } from '#bench/load/proofs'
import type { Found, LedgerEntry, LedgerKind, Wish } from '#bench/proof/clerks/ledger'
import { slotsOf } from '#bench/proof/clerks/named'
import { firstPassword, sessionIn } from '#bench/proof/clerks/people-kinds'
import type { ProofApi } from '#bench/proof/clerks/proof-api'
import type { SeededRandom } from '#bench/random'

/** Sessions that are bound to a key (DPoP): begun, renewed, and ended in each of the ways there are. */

export const boundSeats = slotsOf('bound-seat', 3)

interface Pair {
  readonly accessToken: string
  readonly refreshToken: string
}

/** One session, after so many renewals. */
interface Held extends Pair {
  readonly session: string
  readonly renewals: number
  /** Of the renewal before the last one: good no more, for nobody. */
  readonly usedUp: string | undefined
  readonly before: string | undefined
}

/** Less than the 10 s in which a used refresh token gives its successor again. Contract 2, Refresh. */
const repeatMs = 7_000

/**
 * A refresh token that was answered is good for one renewal behind every kill, for it is what each session that outlived a
 * kill is used for first. One whose answer was lost gives its successor for a while. One that was used before ends its session,
 * and of a session that ended nothing is good.
 */
export function boundSessionsKind(): LedgerKind {
  const seats = new Map(boundSeats.map((slot) => [slot, new Seat(slot)]))
  const seatOf = (slot: string) => seats.get(slot) as Seat
  return {
    name: 'bound sessions',
    slots: boundSeats,
    // Some renewals fit into each life.
    pauseMs: 40,
    async begin(api) {
      const nonce = await nonceAt(api)
      for (const seat of seats.values()) seat.begin({ api, nonce })
    },
    wish: (slot, before, _, random) => seatOf(slot).wish(before, random),
    async look(api, entries) {
      const nonce = await nonceAt(api)
      const found = new Map<string, Found>()
      for (const [slot, entry] of entries) {
        const held = await seatOf(slot).look({ api, nonce }, entry)
        if (held !== undefined) found.set(slot, { held })
      }
      return found
    },
  }
}

interface Place {
  readonly api: ProofApi
  readonly nonce: string
}

class Seat {
  readonly #name: string
  readonly #key = new ProvingKey()
  /** By what the books say of it. */
  readonly #held = new Map<string, Held>()
  #last: Held | undefined
  #place: Place | undefined
  /** Nothing but a renewal says whether its refresh token is good. */
  #isUntried = false
  /** A renewal that nobody answered in time to ask again. */
  #isUnsure = false
  #renewedAt = 0

  constructor(name: string) {
    this.#name = name
  }

  begin(place: Place): void {
    this.#place = place
  }

  wish(found: Found | undefined, random: SeededRandom): Wish {
    const place = this.#place as Place
    if (!found) {
      const path = '/auth/login'
      const headers = { authorization: '', dpop: this.#proof(place, path) }
      const body = { email: this.#name, password: firstPassword }
      const held = (answer: HttpAnswer) => this.#keep(answer, undefined)
      return { method: 'POST', path, headers, body, held, isOnceOnly: true }
    }
    const held = this.#held.get(found.held) as Held
    if (this.#isUnsure) return this.#ended(held)
    const choice = this.#isUntried ? 0 : random.below(6)
    if (choice < 3) return this.#renewal(place, held)
    if (choice === 3 && held.usedUp !== undefined) return this.#replay(place, held.usedUp)
    if (choice === 4) return this.#ended(held)
    const path = '/auth/logout'
    const bound = { authorization: `DPoP ${held.accessToken}`, dpop: this.#proof(place, path, held.accessToken) }
    const headers = random.below(2) === 0 ? bound : { authorization: '', dpop: this.#proof(place, path) }
    const body = headers === bound ? {} : { body: { refreshToken: held.refreshToken } }
    return { method: 'POST', path, headers, ...body, held: undefined, isOnceOnly: true }
  }

  /** What the books are to say of it. @throws when something is good that must not be, or the other way round */
  async look(place: Place, { found, pending }: LedgerEntry): Promise<string | undefined> {
    if (place.api.isCopy) return this.#lookAtCopy(place, found, pending !== undefined)
    this.#isUntried = true
    if (!found) {
      if (this.#last) await this.#mustBeOver(place, this.#last)
      return undefined
    }
    const held = this.#held.get(found.held) as Held
    if (!(await this.#isGood(place, held))) {
      await this.#mustBeOver(place, held)
      return undefined
    }
    if (pending?.wish.path !== renewalPath || pending.wish.refusal !== undefined) return found.held
    // Later it would be taken for stolen if it was used.
    this.#isUnsure = performance.now() - this.#renewedAt > repeatMs
    if (this.#isUnsure) return found.held
    const answer = await this.#renew(place, held.refreshToken)
    if (answer.status !== 200) throw new Error(`${this.#name}: a renewal without an answer gave ${answer.status} again`)
    return this.#keep(answer, held)
  }

  /** There it may be used up: nobody goes on with it. */
  async #lookAtCopy(place: Place, found: Found | undefined, isPending: boolean): Promise<string | undefined> {
    const held = found && this.#held.get(found.held)
    if (!held || !(await this.#isGood(place, held))) return undefined
    if (isPending) return found.held
    const { status } = await this.#renew(place, held.refreshToken)
    if (status !== 200) throw new Error(`${this.#name}: the refresh token of ${found.held} was answered ${status}`)
    return found.held
  }

  #renewal(place: Place, held: Held): Wish {
    this.#renewedAt = performance.now()
    return {
      method: 'POST',
      path: renewalPath,
      headers: { authorization: '', dpop: this.#proof(place, renewalPath) },
      body: { refreshToken: held.refreshToken },
      held: textOf(this.#name, held.session, held.renewals + 1),
      heard: (answer) => void this.#keep(answer, held),
      isOnceOnly: true,
    }
  }

  /** Somebody shows what was used long ago. */
  #replay(place: Place, refreshToken: string): Wish {
    const headers = { authorization: '', dpop: this.#proof(place, renewalPath) }
    const asked = { method: 'POST', path: renewalPath, headers, body: { refreshToken } }
    return { ...asked, held: undefined, refusal: 401, isOnceOnly: true }
  }

  /** By the administrator, by its id. */
  #ended({ session }: Held): Wish {
    return { method: 'DELETE', path: `/iam/users/${this.#name}/sessions/${session}`, held: undefined }
  }

  #keep({ text, headers }: HttpAnswer, before: Held | undefined): string {
    const { accessToken, refreshToken } = JSON.parse(text) as Pair
    const session = sessionIn(accessToken)
    if (before && before.session !== session) throw new Error(`${this.#name}: ${before.session} became ${session}`)
    const renewals = before ? before.renewals + 1 : 0
    const own = { accessToken, refreshToken, session, renewals }
    const held: Held = { ...own, before: before?.refreshToken, usedUp: before?.before }
    const told = headers['dpop-nonce']
    if (this.#place && typeof told === 'string') this.#place = { ...this.#place, nonce: told }
    const words = textOf(this.#name, session, renewals)
    this.#held.set(words, held)
    this.#last = held
    this.#isUntried = false
    this.#isUnsure = false
    return words
  }

  async #isGood(place: Place, { accessToken: token }: Held): Promise<boolean> {
    const path = '/iam/me'
    const headers = { authorization: `DPoP ${token}`, dpop: this.#proof(place, path, token, 'GET') }
    const { status, text } = await place.api.ask('GET', path, { headers })
    if (status !== 200 && status !== 401) throw new Error(`${this.#name}: ${path} was answered ${status} ${text}`)
    return status === 200
  }

  /** Neither its access token nor its refresh tokens are good. */
  async #mustBeOver(place: Place, held: Held): Promise<void> {
    const isIn = await this.#isGood(place, held)
    const { status } = await this.#renew(place, held.refreshToken)
    if (isIn || status !== 401)
      throw new Error(`${this.#name}: ${held.session} is over, and its tokens are ${isIn ? 'good' : status}`)
  }

  #renew(place: Place, refreshToken: string): Promise<HttpAnswer> {
    const headers = { authorization: '', dpop: this.#proof(place, renewalPath) }
    return place.api.ask('POST', renewalPath, { headers, body: { refreshToken } })
  }

  #proof({ api, nonce }: Place, path: string, token?: string, method = 'POST'): string {
    return this.#key.proof({ method, url: `${api.url}/api/v1${path}`, nonce, ...(token !== undefined && { token }) })
  }
}

const renewalPath = '/auth/token'

function textOf(name: string, session: string, renewals: number): string {
  return `${name} ${session} ${renewals}`
}

/** The server tells it when it is asked in vain. */
export async function nonceAt(api: ProofApi): Promise<string> {
  const { headers } = await api.ask('POST', '/auth/login', { headers: { authorization: '' }, body: {} })
  const nonce = headers['dpop-nonce']
  if (typeof nonce !== 'string') throw new Error('the server told no nonce')
  return nonce
}
