import type { Grant } from '#model/scope'
import { Participant } from '#test/simulation/participant'
import type { Participants } from '#test/simulation/participants'
import { mayDo } from '#test/simulation/reference-filter'
import { needsOfSubscribing } from '#test/simulation/reference-mails'
import { Register, unordered } from '#test/simulation/register'
import { idIn } from '#test/simulation/simulated-alarms'
import type { KnownFunction } from '#test/simulation/simulated-functions'
import type { Person } from '#test/simulation/simulated-person'
import type { SimulatedRequest, SimulatedServer } from '#test/simulation/simulated-server'

export interface KnownSubscription {
  readonly id: string
  /** The resource name of the owner. */
  readonly account: string
  readonly function: string
  /** Null: ended. */
  readonly locale: Register<string | null>
}

/** `GET /notifications/subscribe`. */
export interface ReadSubscription {
  readonly resourceIdentifier: string
  readonly topic: string
  readonly locale: string
  readonly createdBy: string
}

type Parts = Pick<Participants, 'requests' | 'people' | 'alarms' | 'functions'>

const locales = ['en', 'de', 'de-CH', 'fr']

/** Users who subscribe and unsubscribe: directly, in the name of others, or by a link in a mail. §2.6 */
export class SimulatedSubscribers extends Participant<Parts> {
  readonly #known = new Map<string, KnownSubscription>()
  /** Owners, by subscription id. */
  readonly #owners = new Map<string, string>()
  /** The users who received the end of a subscription whose owner was not known yet. */
  #receivedEnds: { readonly account: string; readonly id: string }[] = []

  override moveTo(server: SimulatedServer): void {
    super.moveTo(server)
    for (const { locale } of this.#known.values()) locale.lost(this.witness.moment)
  }

  get there(): readonly KnownSubscription[] {
    return [...this.#known.values()].filter(({ locale }) => locale.certain !== null)
  }

  by(id: string): KnownSubscription | undefined {
    return this.#known.get(id)
  }

  /** Subscribes root to the permanent functions. */
  async begin(): Promise<void> {
    const { functions, people } = this.parts
    for (const { id } of functions.lasting) {
      const { body } = await this.server.call('subscribe', { as: people.root, body: bodyOf(id, 'en') })
      this.#learn(idIn(JSON.parse(body).resourceIdentifier), people.root, id, 'en')
    }
  }

  act(): void {
    const tried = this.random.next()
    const known = this.random.pick(this.there.filter(({ account }) => account !== this.parts.people.root))
    if (known && tried < 0.25) this.#setLocale(known)
    else if (known && tried < 0.42) this.#end(known)
    else for (let left = tried < 0.9 ? 1 : 3; left > 0; left--) this.#subscribe()
  }

  /** A user follows the link in a mail. */
  followLink(url: string): void {
    const { pathname, searchParams } = new URL(url)
    const id = pathname.slice(pathname.lastIndexOf('/') + 1)
    const known = this.#known.get(id)
    if (known?.account === this.parts.people.root) return
    this.parts.requests.ask({
      name: 'unsubscribeByLink',
      request: { parameters: { subscriptionId: id }, query: Object.fromEntries(searchParams) },
      sent: (attempt) => {
        const changed = known && this.changing(known.locale, null, attempt)
        return (outcome) => {
          const { status, refused } = outcome
          if (refused === undefined && status !== 204) this.witness.report(`${url} answers ${status}`)
          changed?.(outcome)
        }
      },
    })
  }

  /** An event of a subscription goes to its owner. */
  checkReceived(person: Person, account: string, event: Readonly<Record<string, unknown>>): void {
    const id = idIn(String(event.resourceIdentifier))
    const { createdBy } = event.payload as { createdBy?: string }
    if (createdBy !== undefined) this.#owners.set(id, createdBy)
    const owner = this.#owners.get(id)
    if (owner === undefined) this.#receivedEnds.push({ account, id })
    else if (owner !== account) this.witness.report(`${person.name} receives an event of ${owner}'s subscription ${id}`)
  }

  /** All subscriptions, as the API shows them to their owners. */
  async listed(): Promise<readonly ReadSubscription[]> {
    const { people } = this.parts
    const accounts = people.accounts.filter((account) => account !== undefined)
    const lists = accounts.map(async (as): Promise<readonly ReadSubscription[]> => {
      const rows = JSON.parse((await this.server.call('listSubscriptions', { as })).body) as ReadSubscription[]
      for (const { createdBy } of rows) if (createdBy !== as) this.witness.report(`${as} is shown ${createdBy}'s`)
      return rows
    })
    return (await Promise.all(lists)).flat()
  }

  /** Reads the final state of everything. For a server at rest. */
  async settle(): Promise<readonly ReadSubscription[]> {
    const { people, functions } = this.parts
    const listed = await this.listed()
    const there = new Map(listed.map((entry) => [idIn(entry.resourceIdentifier), entry]))
    for (const [id, known] of this.#known) {
      const entry = there.get(id)
      const isOver = !people.isThere(known.account) || functions.by(known.function)?.now.certain === null
      if (isOver && !entry) this.#known.delete(id)
      else known.locale.found(entry?.locale ?? null, this.witness.moment)
    }
    for (const [id, { createdBy, topic, locale }] of there)
      if (!this.#known.has(id)) this.#learn(id, createdBy, idIn(topic), locale)
    this.#checkReceivedEnds()
    this.#checkOnce(listed)
    return listed
  }

  #checkReceivedEnds(): void {
    for (const { account, id } of this.#receivedEnds) {
      const owner = this.#owners.get(id)
      if (owner !== undefined && owner !== account)
        this.witness.report(`${account} received the end of ${owner}'s subscription ${id}`)
    }
    this.#receivedEnds = []
  }

  #checkOnce(listed: readonly ReadSubscription[]): void {
    const pairs = listed.map(({ createdBy, topic }) => `${createdBy} to ${topic}`)
    const twice = pairs.find((pair, place) => pairs.indexOf(pair) < place)
    if (twice !== undefined) this.witness.report(`subscribed twice: ${twice}`)
  }

  #learn(id: string, account: string, fn: string, locale: string): void {
    const register = new Register<string | null>(locale, { ...unordered, moment: this.witness.moment })
    this.#known.set(id, { id, account, function: fn, locale: register })
    this.#owners.set(id, account)
  }

  #subscribe(): void {
    const { people, functions } = this.parts
    // Now and then an existing subscription.
    const before = this.random.next() < 0.2 ? this.random.pick(this.there) : undefined
    const person = people.persons.find(({ account }) => account === before?.account) ?? this.random.pick(people.persons)
    const fn = (before && functions.by(before.function)) ?? this.random.pick(functions.there)
    // The subscriptions of a deleted user could not be ended.
    if (!person || !fn || person.isBusy || !person.isThere) return
    const locale = this.random.pick(locales) ?? 'en'
    const session = this.random.pick([...person.sessions].filter(({ isBegun }) => isBegun))
    const isOwnRequest = session !== undefined && this.random.next() < 0.5
    const by: SimulatedRequest = isOwnRequest ? { authorization: session.authorization } : { as: person.account }
    this.parts.requests.ask({
      name: 'subscribe',
      request: { ...by, body: bodyOf(fn.id, locale) },
      isOnce: !isOwnRequest,
      sent: ({ isFirst }) => {
        const requestedAt = this.witness.moment
        return ({ status, body, refused }) => {
          if (isOwnRequest && isFirst) this.#checkAnswer(person, fn, requestedAt, refused ?? status)
          if (status !== 201) return
          const id = idIn(JSON.parse(body).resourceIdentifier)
          // Not for a retry, because the subscription may have ended since; nor for the user's own request, because that
          // may be by an earlier account.
          if (isFirst && !isOwnRequest && !this.#known.has(id)) this.#learn(id, person.account, fn.id, locale)
        }
      },
    })
  }

  /** Checks the answer against the user's permissions. */
  #checkAnswer(person: Person, fn: KnownFunction, from: number, answer: number | string): void {
    const { alarms } = this.parts
    const versions = fn.now.since(from)
    const [version] = versions
    if (versions.length !== 1 || !version?.value) return
    const what = () => `${person.name} subscribes to ${fn.plan.name}`
    const mayAsk = (grants: readonly Grant[]) => mayDo(grants, 'notifications', ['create'])
    if (answer === 201) {
      for (const [need, isMet] of needsOfSubscribing(alarms.surelyBound(version.value, from)))
        this.witness.check(() => `${what()} without ${need}`, person.grounds(from, isMet))
    } else if (answer === 'forbidden') {
      const { devices, groups } = version.value
      const bound = [...(devices ?? []), ...alarms.possiblyBound(version.value, from)]
      const needs = needsOfSubscribing(devices || groups ? bound : ['*']).map(([, isMet]) => isMet)
      if (![mayAsk, ...needs].some((isMet) => person.mayLack(from, isMet)))
        this.witness.report(`${what()} is refused, and permitted`)
    }
    this.witness.count(`subscribing answered ${answer}`)
  }

  #setLocale(known: KnownSubscription): void {
    const locale = this.random.pick(locales) ?? 'en'
    this.parts.requests.ask({
      name: 'updateSubscription',
      request: { as: known.account, parameters: { subscriptionId: known.id }, body: { locale } },
      sent: (attempt) => this.changing(known.locale, locale, attempt),
    })
  }

  #end(known: KnownSubscription): void {
    this.parts.requests.ask({
      name: 'unsubscribe',
      request: { as: known.account, parameters: { subscriptionId: known.id } },
      sent: (attempt) => this.changing(known.locale, null, attempt),
    })
  }
}

function bodyOf(fn: string, locale: string): object {
  return { topic: `crn#function:${fn}`, type: 'email', locale }
}
