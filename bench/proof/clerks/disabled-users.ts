import { basic } from '#bench/harness/identity'
import type { HttpAnswer } from '#bench/http'
import { type Found, type LedgerEntry, type LedgerKind, madeIdOf, type Wish } from '#bench/proof/clerks/ledger'
import { foundIn, slotsOf } from '#bench/proof/clerks/named'
import { firstPassword, nobody, signUpPath } from '#bench/proof/clerks/people-kinds'
import type { ProofApi } from '#bench/proof/clerks/proof-api'
import type { SeededRandom } from '#bench/random'

/** Users who are disabled and enabled again, and what that ends. */

export const barredPeople = slotsOf('barred', 2)

/** Of all that are over: those that are looked at. */
const overMax = 2

interface Pair {
  readonly token: string
  readonly refreshToken: string
}

/** What is so of somebody while nothing is under way. */
interface Standing {
  readonly state: 'active' | 'disabled'
  /** Another one with each change of state, in the same request. */
  readonly email: string | undefined
  readonly session: Pair | undefined
  readonly code: string | undefined
  /** Of before he was disabled. */
  readonly ended: readonly Pair[]
  readonly dead: readonly string[]
}

const atFirst: Standing = {
  ...{ state: 'active', email: undefined },
  ...{ session: undefined, code: undefined, ended: [], dead: [] },
}

/**
 * Whoever was disabled is not let in, and nothing that he had is good: neither his sessions nor a code for another password,
 * also when he is enabled again. Then his password is good.
 */
export function disabledUsersKind(): LedgerKind {
  const people = new Map(barredPeople.map((slot) => [slot, new BarredPerson(slot)]))
  const personOf = (slot: string) => people.get(slot) as BarredPerson
  return {
    name: 'disabled users',
    slots: barredPeople,
    pauseMs: 120,
    wish: (slot, before, number, random) => personOf(slot).wish(before, number, random),
    look: (api, entries) => foundIn(entries, (slot, entry) => personOf(slot).look(api, entry)),
  }
}

class BarredPerson {
  readonly #name: string
  /** By what the books say of it. */
  readonly #standings = new Map<string, Standing>()

  constructor(name: string) {
    this.#name = name
  }

  wish(found: Found | undefined, number: number, random: SeededRandom): Wish {
    const standing = this.#standingOf(found?.held)
    const words = `${this.#name} ${number}`
    const choice = random.below(4)
    const email = `${this.#name}.${number}@proof.example`
    if (standing.state === 'disabled') {
      if (choice > 0) return this.#edit({ ...standing, state: 'active', email }, words)
      return { ...this.#signIn(), held: found?.held, refusal: 401 }
    }
    if (!standing.session) {
      // Whatever is written of him next may make up for a code that is good again.
      const [dead] = standing.dead.slice(-1)
      if (dead !== undefined && choice < 2) return { ...this.#redeem(dead), held: found?.held, refusal: 401 }
      const heard = ({ text }: HttpAnswer) => {
        this.#standings.set(words, { ...standing, session: JSON.parse(text) as Pair })
      }
      return { ...this.#signIn(), held: words, heard }
    }
    if (standing.code === undefined && choice === 0) return this.#fresh(standing, words)
    return this.#edit({ ...disabled(standing), email }, words)
  }

  /** What the books are to say. @throws when something is good that must not be, or the other way round */
  async look(api: ProofApi, { found, pending }: LedgerEntry): Promise<Found | undefined> {
    if (!found && !pending) return undefined
    const row = await api.must<Row>('GET', `/iam/users/${this.#name}`)
    const before = this.#standingOf(found?.held)
    const held = pending && String(pending.wish.held)
    const after = pending?.wish.method === 'PATCH' ? this.#standingOf(held) : undefined
    const isAfter = after !== undefined && isSame(after, row)
    const standing = isAfter ? after : before
    if (!isSame(standing, row)) return { held: `${row.state} as ${row.email}` }
    await this.#mustStand(api, standing)
    const words = isAfter ? held : found?.held
    const id = madeIdOf(row.resourceIdentifier)
    return words === undefined ? undefined : { held: words, ...(id !== undefined && { id }) }
  }

  #standingOf(words: string | undefined): Standing {
    return (words !== undefined && this.#standings.get(words)) || atFirst
  }

  #edit(after: Standing, words: string): Wish {
    this.#standings.set(words, after)
    const { state, email } = after
    return { method: 'PATCH', path: `/iam/users/${this.#name}`, body: { state, email }, held: words }
  }

  #fresh(standing: Standing, words: string): Wish {
    const heard = ({ text }: HttpAnswer) => {
      this.#standings.set(words, { ...standing, code: (JSON.parse(text) as { code: string }).code })
    }
    return { method: 'POST', path: `/iam/users/${this.#name}/code`, held: words, heard, isOnceOnly: true }
  }

  #signIn() {
    const headers = { authorization: basic({ name: this.#name, password: firstPassword }) }
    return { method: 'GET', path: '/iam/token?scope=offline', headers, isOnceOnly: true } as const
  }

  #redeem(code: string) {
    const body = { name: this.#name, code, password: 'nobody has this password' }
    return { method: 'POST', path: signUpPath, headers: nobody, body, isOnceOnly: true } as const
  }

  async #mustStand(api: ProofApi, { state, session, ended, dead }: Standing): Promise<void> {
    const { method, path, headers } = this.#signIn()
    await this.#must(state === 'active' ? 200 : 401, `with his password, ${state}`, api.ask(method, path, { headers }))
    if (session) await this.#must(200, 'by a session that is there', askAs(api, session.token))
    for (const { token, refreshToken } of ended) {
      await this.#must(401, 'by a session of before', askAs(api, token))
      const asking = { headers: nobody, body: { refreshToken } }
      await this.#must(401, 'by a refresh token of before', api.ask('POST', refreshPath, asking))
    }
    for (const code of dead) {
      const { method, path, ...asking } = this.#redeem(code)
      await this.#must(401, 'by a code of before', api.ask(method, path, asking))
    }
  }

  async #must(wanted: number, how: string, asked: Promise<HttpAnswer>): Promise<void> {
    const { status } = await asked
    if (status !== wanted) throw new Error(`${this.#name} was answered ${status} ${how}`)
  }
}

interface Row {
  readonly state: string
  readonly email?: string
  readonly resourceIdentifier: string
}

const refreshPath = '/iam/token?grant_type=refresh_token'

function disabled({ session, code, ended, dead }: Standing): Standing {
  return {
    ...{ state: 'disabled', email: undefined, session: undefined, code: undefined },
    ended: [...ended, ...(session ? [session] : [])].slice(-overMax),
    dead: [...dead, ...(code === undefined ? [] : [code])].slice(-overMax),
  }
}

function isSame({ state, email }: Standing, row: Row): boolean {
  return row.state === state && row.email === email
}

function askAs(api: ProofApi, token: string): Promise<HttpAnswer> {
  return api.ask('GET', '/iam/me', { headers: { authorization: `Bearer ${token}` } })
}
