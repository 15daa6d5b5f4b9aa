import { TOTP } from 'otpauth'
import type { HttpAnswer } from '#bench/http'
import { ProvingKey } from '#bench/load/proofs'
import { nonceAt } from '#bench/proof/clerks/bound-sessions'
import { type Found, type LedgerEntry, type LedgerKind, madeIdOf, type Wish } from '#bench/proof/clerks/ledger'
import { slotsOf } from '#bench/proof/clerks/named'
import { firstPassword, nobody, signUpPath } from '#bench/proof/clerks/people-kinds'
import type { ProofApi } from '#bench/proof/clerks/proof-api'
import type { SeededRandom } from '#bench/random'

/** One-time codes: set up, used, stood in for by recovery codes, taken away, and reset by a fresh code. */

export const codedPeople = slotsOf('coded', 3)

/** As the server counts them. RFC 6238 §5.2. */
const stepMs = 30_000
/** A request may take so long. */
const slackMs = 5_000
/** The third wrong code makes wait. Contract 2, Second factor. */
const wrongMax = 2
/** Of all that are good, and of all that are over: those that are looked at. */
const tokensMax = 3
/** So that a login goes on offering them. */
const recoveryLeftMin = 3
/** A bit less than a login waits for its second factor. */
const halfwayMs = 240_000

/** What is so of somebody while nothing is under way. */
interface Standing {
  /** `step`: of the last code that counts as used. It is good no more, and neither is any before it. */
  readonly totp: { readonly secret: string; readonly step: number } | undefined
  /** Recovery codes that are left; none if nobody heard them. */
  readonly recovery: readonly string[]
  /** The last of either sort that was taken, the later one behind. */
  readonly used: readonly Used[]
  /** Access tokens of sessions that are there. He goes on with the last one. */
  readonly tokens: readonly string[]
  /** Access tokens of sessions that ended with a change of his factors. */
  readonly ended: readonly string[]
}

interface Used {
  readonly which: 'totp' | 'recovery'
  readonly code: string
  /** Unix ms: from then on it would be refused in any case. */
  readonly until: number
}

const withoutFactor: Standing = { totp: undefined, recovery: [], used: [], tokens: [], ended: [] }

/**
 * A one-time code or a recovery code that was taken is good no more, behind every kill; the secret that was set up is the one
 * that is asked for, at every sign-in, until it is taken away or reset; and each of these ends the other sessions.
 */
export function secondFactorsKind(): LedgerKind {
  const people = new Map(codedPeople.map((slot) => [slot, new CodedPerson(slot)]))
  const personOf = (slot: string) => people.get(slot) as CodedPerson
  return {
    name: 'second factors',
    slots: codedPeople,
    async begin(api) {
      const nonce = await nonceAt(api)
      for (const person of people.values()) person.begin({ api, nonce })
    },
    wish: (slot, before, number, random) => personOf(slot).wish(before, number, random),
    async look(api, entries) {
      const found = new Map<string, Found>()
      if ([...entries.values()].every((entry) => !entry.found && !entry.pending)) return found
      const place = { api, nonce: await nonceAt(api) }
      for (const [slot, entry] of entries) {
        const there = await personOf(slot).look(place, entry)
        if (there) found.set(slot, there)
      }
      return found
    },
  }
}

interface Place {
  readonly api: ProofApi
  readonly nonce: string
}

interface Row {
  readonly twoFactor: readonly string[]
  readonly resourceIdentifier: string
}

class CodedPerson {
  readonly #name: string
  readonly #key = new ProvingKey()
  /** By what the books say of it. */
  readonly #standings = new Map<string, Standing>()
  #place: Place | undefined
  /** A secret that is told and not in force yet: the server has it in memory alone. */
  #offered: string | undefined
  /** What a login answered that waits for its second factor; good until the factors change. */
  #halfway: { readonly token: string; readonly until: number } | undefined
  /** With it his factors go. */
  #resetCode: string | undefined
  /** Recovery codes that were to confirm something: taken or not, nobody knows. */
  readonly #shown = new Set<string>()
  /** Wrong codes since the last reset. */
  #wrong = 0
  /** Nothing but a code of it says that a secret is the one. */
  #isUntried = false

  constructor(name: string) {
    this.#name = name
  }

  begin(place: Place): void {
    this.#place = place
    this.#offered = undefined
  }

  wish(found: Found | undefined, number: number, random: SeededRandom): Wish {
    const standing = this.#standingOf(found?.held)
    const words = `${this.#name} ${number}`
    const [token] = standing.tokens.slice(-1)
    if (!standing.totp)
      return token === undefined ? this.#logIn(standing, words) : this.#setUp(found, standing, token, words)
    if (this.#resetCode !== undefined) return this.#reset(standing, this.#resetCode, words)
    const choice = this.#isUntried ? 1 : random.below(8)
    if (choice === 0 || this.#wrong >= wrongMax) return this.#askReset(found)
    if (!this.#halfway || performance.now() > this.#halfway.until) return this.#logIn(standing, words, found)
    return (
      this.#use(standing, this.#halfway.token, choice, words) ?? this.#remove(standing, String(token), words, random)
    )
  }

  /** What the books are to say. @throws when something is good that must not be, or the other way round */
  async look(place: Place, { found, pending }: LedgerEntry): Promise<Found | undefined> {
    if (!found && !pending) return undefined
    const { api } = place
    const row = await api.must<Row>('GET', `/iam/users/${this.#name}`)
    const before = this.#standingOf(found?.held)
    const wanted = pending && String(pending.wish.held)
    const after = wanted === undefined ? undefined : this.#standings.get(wanted)
    const isOn = row.twoFactor.includes('totp')
    // Whether a code was taken shows when it comes again: by then it is taken in any case.
    const isUse = pending?.wish.method === 'POST' && usePaths.includes(pending.wish.path)
    if (isUse && !api.isCopy) await this.#showAgain(place, pending.wish)
    const hasLanded = isUse
      ? !api.isCopy
      : after !== undefined && !!after.totp !== !!before.totp && !!after.totp === isOn
    const standing = (hasLanded && after) || before
    if (isOn !== !!standing.totp) throw new Error(`${this.#name}: one-time codes are ${isOn ? 'on' : 'off'}`)
    if (hasLanded) this.#changed(before, standing)
    await (api.isCopy ? this.#lookAtCopy(place, standing, pending !== undefined) : this.#mustStand(place, standing))
    const held = hasLanded ? wanted : found?.held
    const id = madeIdOf(row.resourceIdentifier)
    return held === undefined ? undefined : { held, ...(id !== undefined && { id }) }
  }

  #standingOf(words: string | undefined): Standing {
    return (words !== undefined && this.#standings.get(words)) || withoutFactor
  }

  /** The whole way in where there is no factor; else half of it, which changes nothing. */
  #logIn(standing: Standing, words: string, found?: Found): Wish {
    const isWhole = !standing.totp
    const heard = (answer: HttpAnswer) => {
      const { accessToken, token } = JSON.parse(answer.text) as Partial<Signed>
      if (isWhole) this.#standings.set(words, { ...standing, tokens: [String(accessToken)] })
      else this.#halfway = { token: String(token), until: performance.now() + halfwayMs }
    }
    const body = { email: this.#name, password: firstPassword }
    return {
      ...this.#asked('POST', '/auth/login', body),
      held: isWhole ? words : found?.held,
      heard: this.#also(heard),
    }
  }

  /** A secret is told, which changes nothing; a code of it puts it in force. */
  #setUp(found: Found | undefined, standing: Standing, token: string, words: string): Wish {
    const secret = this.#offered
    if (secret === undefined) {
      const heard = ({ text }: HttpAnswer) => {
        this.#offered = (JSON.parse(text) as { secret: string }).secret
      }
      const asked = this.#asked('POST', `${base}/totp/enroll`, { password: firstPassword }, token)
      return { ...asked, held: found?.held, heard: this.#also(heard) }
    }
    const step = stepNow()
    const after: Standing = {
      ...{ totp: { secret, step }, recovery: [], used: [usedAt(secret, step)] },
      ...{ tokens: [token], ended: overFrom(standing, token) },
    }
    this.#standings.set(words, after)
    const heard = ({ text }: HttpAnswer) => {
      const recovery = (JSON.parse(text) as { recoveryCodes: string[] }).recoveryCodes
      this.#standings.set(words, { ...after, recovery })
      this.#changed(standing, after)
    }
    const asked = this.#asked('POST', `${base}/totp/activate`, { code: codeOf(secret, step) }, token)
    return { ...asked, held: words, heard: this.#also(heard) }
  }

  /** The second half of a login, by a code that was not used yet; undefined where something else is chosen, or none is there. */
  #use(standing: Standing, token: string, choice: number, words: string): Wish | undefined {
    const { totp, recovery } = standing
    const own = recovery.length > recoveryLeftMin ? this.#ownOf(recovery) : undefined
    if (totp && choice < 4 && totp.step <= stepNow()) {
      const step = Math.max(totp.step + 1, stepNow())
      return this.#signIn(token, usedAt(totp.secret, step), words, { ...standing, totp: { ...totp, step } })
    }
    if (choice > 5 || own === undefined) return undefined
    const used = { which: 'recovery', code: own, until: Number.POSITIVE_INFINITY } as const
    return this.#signIn(token, used, words, { ...standing, recovery: recovery.filter((code) => code !== own) })
  }

  #signIn(token: string, now: Used, words: string, before: Standing): Wish {
    const { which, code } = now
    const after = { ...before, used: [...before.used.filter((each) => each.which !== which), now] }
    this.#standings.set(words, after)
    const heard = ({ text }: HttpAnswer) => {
      this.#isUntried = false
      const { accessToken } = JSON.parse(text) as Signed
      this.#standings.set(words, { ...after, tokens: [...after.tokens, accessToken].slice(-tokensMax) })
    }
    const asked = this.#asked('POST', `${base}/${which}`, { token, code })
    return { ...asked, held: words, heard: this.#also(heard) }
  }

  /** Confirmed by a password, or by a recovery code, which is used up by that. */
  #remove(standing: Standing, token: string, words: string, random: SeededRandom): Wish {
    this.#isUntried = false
    const code = random.below(2) === 0 ? this.#ownOf(standing.recovery) : undefined
    if (code !== undefined) this.#shown.add(code)
    const after = { ...withoutFactor, tokens: [token], ended: overFrom(standing, token) }
    this.#standings.set(words, after)
    const heard = () => this.#changed(standing, after)
    const asked = this.#asked(
      'DELETE',
      `${base}/totp`,
      code === undefined ? { password: firstPassword } : { code },
      token,
    )
    return { ...asked, held: words, heard: this.#also(heard) }
  }

  /** Changes nothing until the code is used. */
  #askReset(found: Found | undefined): Wish {
    const heard = ({ text }: HttpAnswer) => {
      this.#resetCode = (JSON.parse(text) as { code: string }).code
    }
    const path = `/iam/users/${this.#name}/code`
    return { method: 'POST', path, body: { resetTwoFactor: true }, held: found?.held, heard, isOnceOnly: true }
  }

  #reset(standing: Standing, code: string, words: string): Wish {
    const after = { ...withoutFactor, ended: overFrom(standing) }
    this.#standings.set(words, after)
    const body = { name: this.#name, code, password: firstPassword }
    const heard = () => this.#changed(standing, after)
    return { method: 'POST', path: signUpPath, headers: nobody, body, held: words, heard, isOnceOnly: true }
  }

  /** What was for the factors of before. */
  #changed(before: Standing, after: Standing): void {
    if (!!before.totp === !!after.totp) return
    this.#halfway = undefined
    this.#offered = undefined
    if (this.#resetCode === undefined || after.totp || after.tokens.length > 0) return
    this.#resetCode = undefined
    this.#wrong = 0
  }

  async #showAgain(place: Place, { path, body }: Wish): Promise<void> {
    const answer = await this.#ask(place, 'POST', path, body)
    if (answer.status === 401 && answer.text.includes('invalid code')) this.#wrong++
    else if (answer.status !== 200)
      throw new Error(`${this.#name}: ${path} was answered ${answer.status} ${answer.text.slice(0, 100)}`)
  }

  async #mustStand(place: Place, standing: Standing): Promise<void> {
    const token = await this.#mustSignIn(place, standing)
    this.#isUntried = true
    this.#halfway = token === undefined ? undefined : { token, until: performance.now() + halfwayMs }
    const used = lastOf(standing)
    if (token === undefined || !used || this.#wrong >= wrongMax) return
    this.#wrong++
    await this.#mustBeUsed(place, token, used)
  }

  /** There nobody goes on with what is used up. */
  async #lookAtCopy(place: Place, standing: Standing, isPending: boolean): Promise<void> {
    const token = await this.#mustSignIn(place, standing)
    if (token === undefined || !standing.totp || isPending) return
    const { totp, recovery } = standing
    const code = this.#ownOf(recovery)
    if (totp.step <= stepNow())
      await this.#mustBeGood(place, { token, code: codeOf(totp.secret, stepNow() + 1) }, 'totp')
    if (code !== undefined) await this.#mustBeGood(place, { token, code }, 'recovery')
    const used = lastOf(standing)
    if (used) await this.#mustBeUsed(place, token, used)
  }

  /** By his password, as far as that leads: the token for the second factor where there must be one. */
  async #mustSignIn(place: Place, { totp, tokens, ended }: Standing): Promise<string | undefined> {
    for (const token of tokens) await this.#mustBe(200, place, token)
    for (const token of ended) await this.#mustBe(401, place, token)
    const body = { email: this.#name, password: firstPassword }
    const { status, text } = await this.#ask(place, 'POST', '/auth/login', body)
    const { accessToken, token, methods = [] } = JSON.parse(text) as Partial<Signed>
    const isRight = totp ? token !== undefined && methods.join() === 'totp,recovery' : accessToken !== undefined
    if (status !== 200 || !isRight)
      throw new Error(
        `${this.#name} has ${totp ? 'a' : 'no'} second factor, and a login was answered ${status} ${text.slice(0, 100)}`,
      )
    return token
  }

  async #mustBeGood(place: Place, body: object, which: Used['which']): Promise<void> {
    const { status, text } = await this.#ask(place, 'POST', `${base}/${which}`, body)
    if (status !== 200)
      throw new Error(
        `${this.#name}: a code for ${which} that was not used was answered ${status} ${text.slice(0, 100)}`,
      )
  }

  async #mustBeUsed(place: Place, token: string, { which, code }: Used): Promise<void> {
    const path = `${base}/${which}`
    const { status, text } = await this.#ask(place, 'POST', path, { token, code })
    if (status !== 401 || !text.includes('invalid code'))
      throw new Error(`${this.#name}: a code that was used at ${path} was answered ${status} ${text.slice(0, 100)}`)
  }

  #ownOf(recovery: readonly string[]): string | undefined {
    return recovery.find((code) => !this.#shown.has(code))
  }

  async #mustBe(wanted: number, place: Place, token: string): Promise<void> {
    const path = '/iam/me'
    const headers = { authorization: `DPoP ${token}`, dpop: this.#proof(place, 'GET', path, token) }
    const { status } = await place.api.ask('GET', path, { headers })
    if (status === wanted) return
    throw new Error(`${this.#name}: a session that ${wanted === 200 ? 'is there' : 'ended'} was answered ${status}`)
  }

  #asked(method: string, path: string, body: object, token?: string) {
    const dpop = this.#proof(this.#place as Place, method, path, token)
    // Else Node says how long a body is, but not with DELETE.
    const length = String(Buffer.byteLength(JSON.stringify(body)))
    const authorization = token === undefined ? '' : `DPoP ${token}`
    const headers = { authorization, dpop, 'content-length': length }
    return { method, path, headers, body, isOnceOnly: true } as const
  }

  #ask(place: Place, method: string, path: string, body: Wish['body']): Promise<HttpAnswer> {
    const headers = { ...nobody, dpop: this.#proof(place, method, path) }
    return place.api.ask(method, path, { headers, ...(body && { body }) })
  }

  /** The next nonce comes with the answers. */
  #also(heard: (answer: HttpAnswer) => void): (answer: HttpAnswer) => void {
    return (answer) => {
      const told = answer.headers['dpop-nonce']
      if (this.#place && typeof told === 'string') this.#place = { ...this.#place, nonce: told }
      heard(answer)
    }
  }

  #proof({ api, nonce }: Place, method: string, path: string, token?: string): string {
    return this.#key.proof({ method, url: `${api.url}/api/v1${path}`, nonce, ...(token !== undefined && { token }) })
  }
}

interface Signed {
  readonly accessToken: string
  readonly token: string
  readonly methods: readonly string[]
}

const base = '/auth/2fa'
const usePaths = [`${base}/totp`, `${base}/recovery`]

/** What was taken last, of what would be good else. */
function lastOf({ totp, used }: Standing): Used | undefined {
  return totp && used.findLast(({ until }) => Date.now() < until - slackMs)
}

function usedAt(secret: string, step: number): Used {
  return { which: 'totp', code: codeOf(secret, step), until: (step + 2) * stepMs }
}

/** All others end. */
function overFrom({ tokens, ended }: Standing, kept?: string): readonly string[] {
  return [...ended, ...tokens.filter((token) => token !== kept)].slice(-tokensMax)
}

function stepNow(): number {
  return Math.floor(Date.now() / stepMs)
}

function codeOf(secret: string, step: number): string {
  return new TOTP({ secret }).generate({ timestamp: step * stepMs })
}
