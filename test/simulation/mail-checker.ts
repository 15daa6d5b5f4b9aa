import type { MailMessage, MailRefused } from '#notifications/mail'
import type { Participants } from '#test/simulation/participants'
import { mayRead } from '#test/simulation/reference-filter'
import {
  digestIn,
  Hours,
  languageOf,
  type Notification,
  needsOfNotification,
  noteIn,
  notificationIn,
} from '#test/simulation/reference-mails'
import type { Version } from '#test/simulation/register'
import { idIn } from '#test/simulation/simulated-alarms'
import type { MailWatcher } from '#test/simulation/simulated-mail'
import { rootAddress } from '#test/simulation/simulated-people'
import type { KnownSubscription } from '#test/simulation/simulated-subscribers'
import type { Witness } from '#test/simulation/witness'

type Parts = Pick<Participants, 'people' | 'alarms' | 'functions' | 'subscribers'>

/** A mail that was handed over, whose result may not be stored yet. */
interface Open {
  readonly id: string
  isTaken: boolean
}

/**
 * Checks all mails when they are handed over and when they arrive. The receiver must be permitted at the time of
 * hand-over; each mail arrives once, except after a crash, a broken connection or a temporary refusal; and the hourly
 * limit is kept. Contract 5.7.
 */
export class MailChecker implements MailWatcher {
  readonly #witness: Witness
  readonly #parts: Parts
  readonly #perHourMax: number
  readonly #now: () => number
  /** The arrivals, by Message-ID. */
  readonly #arrived = new Map<string, MailMessage[]>()
  /** The number of permitted duplicates, by Message-ID. */
  readonly #again = new Map<string, number>()
  readonly #open = new Map<string, Open>()
  readonly #hours = new Map<string, Hours>()
  readonly #refusedAt = new Set<string>()
  readonly #notifications = new Map<string, Notification>()
  /** The keys of notifications, without their times. */
  readonly #notifiedAtAnyTime = new Set<string>()
  readonly #links: string[] = []
  /** The number of mails that were accepted, according to the answer. */
  takenCount = 0
  /** The number of accepted mails whose sender died, maybe before it stored the result. */
  forgottenCount = 0

  constructor(witness: Witness, parts: Parts, perHourMax: number, now: () => number) {
    this.#witness = witness
    this.#parts = parts
    this.#perHourMax = perHourMax
    this.#now = now
  }

  get links(): readonly string[] {
    return this.#links
  }

  get notifications(): Iterable<Notification> {
    return this.#notifications.values()
  }

  wasNotified(address: string, notification: Omit<Notification, 'language' | 'time'>): boolean {
    return this.#notifiedAtAnyTime.has(keyOf(address, notification))
  }

  /** The notifications of one address, each once. */
  notificationsTo(address: string): readonly Notification[] {
    return [...this.#notifications].flatMap(([key, notification]) =>
      key.startsWith(`${address} `) ? [notification] : [],
    )
  }

  /** The number of a function's requests that an address received only as a count. */
  countedTo(address: string, name: string): number {
    let count = 0
    for (const messages of this.#arrived.values()) {
      const message = messages.at(-1)
      if (message?.to === address && isDigest(message)) count += digestIn(message.text).more.get(name) ?? 0
    }
    return count
  }

  wasRefusedAt(address: string): boolean {
    return this.#refusedAt.has(address)
  }

  handed(message: MailMessage): void {
    const { to, id, subject, text } = message
    const open = this.#open.get(to)
    // An address gets one mail at a time: a mail with another id shows that the result of the previous mail is stored.
    if (open?.id !== id) this.#open.set(to, { id, isTaken: false })
    this.#checkOwner(message)
    if (isDigest(message)) {
      this.#witness.count('digest')
      for (const notification of digestIn(text).notifications) this.#check(message, notification)
    } else {
      this.#witness.count('mail')
      const notification = notificationIn(subject)
      this.#check(message, notification)
      this.#checkLanguage(message, notification)
      this.#checkNote(message, notification)
    }
  }

  arrived(message: MailMessage): void {
    const { id, to, text, subject } = message
    this.#arrived.set(id, [...(this.#arrived.get(id) ?? []), message])
    if (message.unsubscribe) this.#links.push(message.unsubscribe.url)
    const all = isDigest(message) ? digestIn(text).notifications : [notificationIn(subject)]
    for (const notification of all) {
      const key = keyOf(to, notification)
      this.#notifiedAtAnyTime.add(key)
      this.#notifications.set(`${key} ${notification.time}`, notification)
    }
  }

  taken(message: MailMessage): void {
    const { to, id } = message
    const open = this.#open.get(to)
    if (open?.id === id) open.isTaken = true
    this.takenCount++
    const hours = this.#hours.get(this.#keyOf(to)) ?? new Hours(this.#perHourMax)
    this.#hours.set(this.#keyOf(to), hours)
    if (!hours.take(this.#now())) this.#witness.report(`${to} gets more than ${this.#perHourMax} mails in an hour`)
  }

  refused({ id, to }: MailMessage, { kind }: MailRefused): void {
    this.#witness.count(`mail refused: ${kind}`)
    if (kind === 'recipient' || kind === 'message') this.#refusedAt.add(to)
    else this.#mayComeAgain(id)
  }

  senderDied(): void {
    for (const [to, { id, isTaken }] of this.#open) {
      this.#mayComeAgain(id)
      if (!isTaken) continue
      this.forgottenCount++
      this.#hours.get(this.#keyOf(to))?.lastMayBeForgotten()
    }
    this.#open.clear()
  }

  /** Call when the results of all mails are stored: checks how often each arrived. */
  settle(): void {
    this.#open.clear()
    for (const [id, messages] of this.#arrived) {
      const countMax = 1 + (this.#again.get(id) ?? 0)
      const [first] = messages
      if (messages.length > countMax)
        this.#witness.report(`${first?.to} got ${messages.length} times, and not ${countMax}: ${first?.subject}`)
    }
  }

  #mayComeAgain(id: string): void {
    this.#again.set(id, (this.#again.get(id) ?? 0) + 1)
  }

  #keyOf(address: string): string {
    const { person, account } = this.#parts.people.addressed(address) ?? {}
    return `${person?.name} ${account}`
  }

  /** The link of a mail must end one of the receiver's subscriptions. */
  #checkOwner({ to, unsubscribe }: MailMessage): void {
    const known = this.#subscriptionBy(unsubscribe?.url)
    if (!known) return
    const isThere = known.locale.since(this.#witness.moment).some(({ value }) => value !== null)
    if (!isThere) this.#witness.report(`${to} gets a mail by ${known.id}, which has ended`)
    const isOwn = unsubscribe?.url.includes(`user=${idIn(known.account)}&`)
    if (!isOwn) this.#witness.report(`${to} gets a mail by ${known.id}, which is ${known.account}'s`)
  }

  /** Checks that all conditions for the notification hold at this moment. */
  #check({ to }: MailMessage, { name, device, value }: Notification): void {
    const { people, functions, alarms } = this.#parts
    const { moment } = this.#witness
    const what = () => `${to} gets a mail that ${device} has ${value}, by ${name}`
    const fn = functions.named(name)
    // The creation of the function was never answered.
    if (!fn) return
    this.#checkBy(what, functions.notifyingVersions(fn, device, moment))
    if (to === rootAddress) return
    const { person } = people.addressed(to) ?? {}
    if (!person) {
      this.#witness.report(`${to} belongs to no user, and gets mails`)
      return
    }
    this.#checkBy(() => `${what()}, elsewhere`, holding(person.address.since(moment), to))
    this.#checkBy(() => `${what()}, disabled`, holding(person.state.since(moment), 'active'))
    const [version, ...others] = fn.now.since(moment)
    const bound = version?.value && others.length === 0 ? alarms.surelyBound(version.value, moment) : []
    for (const [need, isMet] of needsOfNotification(bound, device, fn.plan.cause))
      this.#witness.check(() => `${what()}, without ${need}`, person.grounds(moment, isMet))
  }

  #checkBy(what: () => string, versions: readonly Version<unknown>[]): void {
    this.#witness.check(
      what,
      versions.map((version) => [version]),
    )
  }

  #checkLanguage({ to, unsubscribe }: MailMessage, { language }: Notification): void {
    const versions = this.#subscriptionBy(unsubscribe?.url)?.locale.since(this.#witness.moment) ?? []
    const possible = versions.flatMap(({ value }) => (value === null ? [] : [languageOf(value)]))
    if (possible.length > 0 && !possible.includes(language))
      this.#witness.report(`${to} gets a mail in ${language}, and not in ${possible.join(' or ')}`)
  }

  /** Metadata of a device is sent only to users who may read it. */
  #checkNote({ to, text }: MailMessage, { device }: Notification): void {
    const { person } = this.#parts.people.addressed(to) ?? {}
    if (!person || noteIn(text) === '') return
    this.#witness.count('metadata in a mail')
    const grounds = person.grounds(this.#witness.moment, (grants) => mayRead(grants, 'meta', device))
    this.#witness.check(() => `${to} reads the note of ${device}`, grounds)
  }

  #subscriptionBy(url = ''): KnownSubscription | undefined {
    const [, id = ''] = /\/unsubscribe\/(\w+)\?/.exec(url) ?? []
    return this.#parts.subscribers.by(id)
  }
}

function holding<T>(versions: readonly Version<T>[], wanted: T): readonly Version<T>[] {
  return versions.filter(({ value }) => value === wanted)
}

function keyOf(address: string, { name, device, value }: Omit<Notification, 'language' | 'time'>): string {
  return `${address} ${name} ${device} ${value}`
}

function isDigest({ subject }: MailMessage): boolean {
  return /^\d+ notifications?$/.test(subject)
}
