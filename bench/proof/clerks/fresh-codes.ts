import { basic } from '#bench/harness/identity'
import type { HttpAnswer } from '#bench/http'
import { type Found, type LedgerEntry, type LedgerKind, madeIdOf, type Wish } from '#bench/proof/clerks/ledger'
import { foundIn, slotsOf } from '#bench/proof/clerks/named'
import { firstPassword, nobody, signUpPath } from '#bench/proof/clerks/people-kinds'
import type { ProofApi } from '#bench/proof/clerks/proof-api'
import type { SeededRandom } from '#bench/random'

/** Codes for another password: made by the administrator, replaced, and used. */

export const forgetfulPeople = slotsOf('forgetful', 2)

/** Of all that are dead: those that are looked at. */
const deadMax = 3

/** What is so of somebody while nothing is under way. */
interface Standing {
  readonly password: string
  /** Good once; undefined: there is none, or nobody heard it. */
  readonly code: string | undefined
  /** Codes that were used or replaced. */
  readonly dead: readonly string[]
  /** Of a session that ended when a code was used. */
  readonly ended: string | undefined
}

const atFirst: Standing = { password: firstPassword, code: undefined, dead: [], ended: undefined }

/**
 * The code that was answered last is good for one other password: until then the old one lets in, from then on the new one
 * alone, and sessions of before are over. A code that was used or replaced is good for nothing, behind every kill.
 */
export function freshCodesKind(): LedgerKind {
  const people = new Map(forgetfulPeople.map((slot) => [slot, new ForgetfulPerson(slot)]))
  const personOf = (slot: string) => people.get(slot) as ForgetfulPerson
  return {
    name: 'fresh codes',
    slots: forgetfulPeople,
    pauseMs: 150,
    wish: (slot, before, number, random) => personOf(slot).wish(before, number, random),
    look: (api, entries) => foundIn(entries, (slot, entry) => personOf(slot).look(api, entry)),
  }
}

class ForgetfulPerson {
  readonly #name: string
  /** By what the books say of it. */
  readonly #standings = new Map<string, Standing>()
  /** A session that is there. */
  #token: string | undefined
  /** Only by being used a code shows that it is good. */
  #isUntried = false

  constructor(name: string) {
    this.#name = name
  }

  wish(found: Found | undefined, number: number, random: SeededRandom): Wish {
    const standing = this.#standingOf(found?.held)
    const { code } = standing
    const words = `${this.#name} ${number}`
    const choice = this.#isUntried ? 3 : random.below(6)
    const [dead] = standing.dead.slice(-1)
    if (dead !== undefined && choice === 0) return { ...this.#signUp(dead, number), held: found?.held, refusal: 401 }
    if (code === undefined || choice === 1) return this.#fresh(standing, words)
    this.#isUntried = false
    const ended = this.#token ?? standing.ended
    const password = passwordOf(number)
    this.#standings.set(words, { password, code: undefined, dead: [...standing.dead, code].slice(-deadMax), ended })
    return { ...this.#signUp(code, number), held: words, heard: () => this.#changed() }
  }

  /** What the books are to say. @throws when something is good that must not be, or the other way round */
  async look(api: ProofApi, { found, pending }: LedgerEntry): Promise<Found | undefined> {
    if (!found && !pending) return undefined
    const before = this.#standingOf(found?.held)
    const held = pending && String(pending.wish.held)
    const after = held === undefined ? undefined : this.#standings.get(held)
    const isNew = after !== undefined && (await this.#mayEnter(api, before, after))
    if (!after) await this.#mayEnter(api, before)
    // Of a code that nobody heard nobody can say whether it is there: from then on none is known.
    const hasLanded = isNew || after?.password === before.password
    const standing = (hasLanded && after) || before
    if (isNew) this.#changed()
    // In a copy it may be of another moment than what was heard since.
    const { dead, ended } = api.isCopy && pending ? before : standing
    for (const code of dead) await this.#mustBeDead(api, code)
    if (ended !== undefined) await this.#mustBeOver(api, ended)
    if (api.isCopy && !pending && standing.code !== undefined) await this.#mustBeGood(api, standing.code)
    if (!api.isCopy) this.#isUntried = true
    const { resourceIdentifier } = await api.must<Row>('GET', `/iam/users/${this.#name}`)
    const id = madeIdOf(resourceIdentifier)
    const words = hasLanded ? held : found?.held
    return words === undefined ? undefined : { held: words, ...(id !== undefined && { id }) }
  }

  #standingOf(words: string | undefined): Standing {
    return (words !== undefined && this.#standings.get(words)) || atFirst
  }

  /** The code before is dead from then on. */
  #fresh(standing: Standing, words: string): Wish {
    this.#standings.set(words, { ...standing, code: undefined })
    const dead = standing.code === undefined ? standing.dead : [...standing.dead, standing.code].slice(-deadMax)
    const heard = ({ text }: HttpAnswer) => {
      this.#standings.set(words, { ...standing, dead, code: (JSON.parse(text) as { code: string }).code })
    }
    return { method: 'POST', path: `/iam/users/${this.#name}/code`, held: words, heard, isOnceOnly: true }
  }

  #signUp(code: string, number: number) {
    const body = { name: this.#name, code, password: passwordOf(number) }
    return { method: 'POST', path: signUpPath, headers: nobody, body, isOnceOnly: true } as const
  }

  #changed(): void {
    this.#token = undefined
  }

  /** Whether another password lets in. @throws when it is not one of them alone */
  async #mayEnter(api: ProofApi, before: Standing, after: Standing = before): Promise<boolean> {
    const good: string[] = []
    for (const password of new Set([before.password, after.password])) {
      const headers = { authorization: basic({ name: this.#name, password }) }
      const { status, text } = await api.ask('GET', '/iam/token', { headers })
      if (status !== 200) continue
      good.push(password)
      if (!api.isCopy) this.#token = (JSON.parse(text) as { token: string }).token
    }
    if (good.length !== 1) throw new Error(`${good.length} passwords of ${this.#name} are good`)
    return good[0] !== before.password
  }

  async #mustBeDead(api: ProofApi, code: string): Promise<void> {
    const { status } = await this.#redeem(api, code)
    if (status !== 401) throw new Error(`${this.#name}: a code that was used or replaced was answered ${status}`)
  }

  async #mustBeGood(api: ProofApi, code: string): Promise<void> {
    const { status } = await this.#redeem(api, code)
    if (status !== 201) throw new Error(`${this.#name}: a code that was not used was answered ${status}`)
  }

  #redeem(api: ProofApi, code: string): Promise<HttpAnswer> {
    const body = { name: this.#name, code, password: 'nobody has this password' }
    return api.ask('POST', signUpPath, { headers: nobody, body })
  }

  async #mustBeOver(api: ProofApi, token: string): Promise<void> {
    const { status } = await api.ask('GET', '/iam/me', { headers: { authorization: `Bearer ${token}` } })
    if (status !== 401) throw new Error(`${this.#name}: a session that a fresh code ended was answered ${status}`)
  }
}

interface Row {
  readonly resourceIdentifier: string
}

function passwordOf(number: number): string {
  return `password ${number}`
}
