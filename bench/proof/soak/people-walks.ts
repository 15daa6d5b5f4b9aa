import { Dashboard } from '#bench/dashboard'
import { basic, bringIn, readToken } from '#bench/harness/identity'
import type { HttpAnswer } from '#bench/http'
import { ProvingKey } from '#bench/load/proofs'
import { currentNonce, loginOf } from '#bench/load/sign-ins'
import { stay, type Walk, type WalkPlace } from '#bench/proof/soak/walks'

/** People who come and go: accounts, sessions of both schemes, dashboards that stall, lose their connection and resume. */

const liveMsMax = 20_000

/** Somebody is invited, signs up, looks round and is deleted. */
export const newcomer: Walk = {
  name: 'accounts',
  atOnce: 1,
  pauseMs: 2_000,
  async go(place, number) {
    const { api, port } = place
    const name = `newcomer-${number}`
    const who = await bringIn(port, api.authorization, { name, role: 'viewer', email: `${name}@soak.example` })
    const headers = { authorization: basic(who) }
    const { token } = await api.must<{ token: string }>('GET', '/iam/token', { headers })
    const authorization = `Bearer ${token}`
    await api.must('GET', '/iam/me', { headers: { authorization } })
    await api.must('DELETE', `/iam/users/${name}`)
    const { status } = await api.ask('GET', '/iam/me', { headers: { authorization } })
    if (status !== 401) throw new Error(`${name} is deleted, and was answered ${status}`)
  },
}

/** A dashboard that reads, hears, stalls, loses its connection and resumes; its session ends under it, or behind it. */
export const visitor: Walk = {
  name: 'dashboards',
  atOnce: 6,
  pauseMs: 500,
  async go(place, number) {
    const { api, url, random } = place
    const authorization = await visitorToken(place)
    const isNarrow = random.next() < 0.7
    const dashboard = new Dashboard({
      ...{ url, authorization, from: random.next() < 0.3 ? 'state' : 'now', isFolding: false, backoffMsMax: 300 },
      ...(isNarrow && { query: { devices: `F${number % 5}-CLIMATE-000000` } }),
    })
    dashboard.start()
    try {
      await live(dashboard, place)
      for (let left = 2 + random.below(6); left > 0; left--) {
        const tried = random.next()
        if (tried < 0.4) dashboard.stall()
        else if (tried < 0.7) dashboard.cut()
        await stay(place, random.between(300, 3_000))
        dashboard.unstall()
        await live(dashboard, place)
      }
      // Under an open socket, now and then: it is closed.
      if (random.next() < 0.5) dashboard.stop()
      await api.must('POST', '/auth/logout', { headers: { authorization } })
      await stay(place, 200)
    } finally {
      dashboard.stop()
    }
    if (dashboard.faultCount > 0) throw new Error(dashboard.faults.join('; '))
  },
}

/** A session that is bound to a key: used, renewed, and ended or left alone. */
export const boundSession: Walk = {
  name: 'DPoP sessions',
  atOnce: 2,
  pauseMs: 1_000,
  async go(place, number) {
    const session = await BoundSession.begin(place, number)
    for (let left = place.random.below(4); left > 0 && !place.isOver(); left--) {
      await session.use('GET', '/iam/me')
      await stay(place, place.random.between(0, 500))
    }
    if (place.random.next() < 0.5) await session.renew()
    // Else it ends by itself.
    if (place.random.next() < 0.6) await session.use('POST', '/auth/logout')
  },
}

const visitorName = 'visitor'
/** More than one, as each may have a hundred sessions. */
const boundPeople = 5
/** Of all of them: a browser comes again with the key it has. */
const keys = Array.from({ length: 20 }, () => new ProvingKey())

/** Who these walks are gone by. */
export async function bringPeople({ api, port }: WalkPlace): Promise<void> {
  const names = [visitorName, ...Array.from({ length: boundPeople }, (_, at) => `bound-${at}`)]
  for (const name of names)
    await bringIn(port, api.authorization, { name, role: 'viewer', email: `${name}@soak.example` })
}

/** He signs in; for `Authorization`. */
export async function visitorToken({ port }: WalkPlace): Promise<string> {
  return `Bearer ${await readToken(port, { name: visitorName, password: `password of ${visitorName}` })}`
}

interface Pair {
  readonly accessToken: string
  readonly refreshToken: string
}

class BoundSession {
  readonly #place: WalkPlace
  readonly #key: ProvingKey
  #nonce: string
  #pair: Pair

  private constructor(place: WalkPlace, key: ProvingKey, nonce: string, pair: Pair) {
    this.#place = place
    this.#key = key
    this.#nonce = nonce
    this.#pair = pair
  }

  static async begin(place: WalkPlace, number: number): Promise<BoundSession> {
    const { api, port } = place
    const nonce = await currentNonce(port)
    const name = `bound-${number % boundPeople}`
    const key = keys[number % keys.length] as ProvingKey
    const { proof, body } = loginOf({ name, password: `password of ${name}` }, { port, nonce }, key)
    const headers = { authorization: '', dpop: proof }
    const pair = await api.must<Pair>('POST', '/auth/login', { headers, body: JSON.parse(body) as object })
    return new BoundSession(place, key, nonce, pair)
  }

  async use(method: string, path: string): Promise<void> {
    await this.#ask(method, path, { token: this.#pair.accessToken })
  }

  async renew(): Promise<void> {
    const { refreshToken } = this.#pair
    this.#pair = JSON.parse((await this.#ask('POST', '/auth/token', { body: { refreshToken } })).text) as Pair
  }

  /** Once more with the server's latest nonce, where that was another. */
  async #ask(method: string, path: string, asked: { token?: string; body?: object }, tries = 2): Promise<HttpAnswer> {
    const { api, url } = this.#place
    const { token, body } = asked
    const subject = { method, url: `${url}/api/v1${path}`, nonce: this.#nonce, ...(token !== undefined && { token }) }
    const answer = await api.ask(method, path, {
      headers: { authorization: token === undefined ? '' : `DPoP ${token}`, dpop: this.#key.proof(subject) },
      ...(body && { body }),
    })
    const told = answer.headers['dpop-nonce']
    if (typeof told === 'string') this.#nonce = told
    if (answer.status < 300) return answer
    if (tries > 1 && answer.text.includes('use_dpop_nonce')) return this.#ask(method, path, asked, tries - 1)
    throw new Error(`${method} ${path} was answered ${answer.status} ${answer.text.slice(0, 200)}`)
  }
}

async function live(dashboard: Dashboard, place: WalkPlace): Promise<void> {
  const end = performance.now() + liveMsMax
  while (!dashboard.isLive && !place.isOver()) {
    if (performance.now() > end) throw new Error(`a dashboard is not let in within ${liveMsMax / 1000} s`)
    await stay(place, 20)
  }
}
