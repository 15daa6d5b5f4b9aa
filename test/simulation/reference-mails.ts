import type { Grant } from '#model/scope'
import { mayRead } from '#test/simulation/reference-filter'

/** A plain reference implementation of §2.6, contract 5.6 and 5.7: the contents of mails and their permitted receivers. */

/** A mail or a line of a digest: its subject, as the templates of the simulation write it. */
export interface Notification {
  readonly language: string
  readonly name: string
  readonly device: string
  readonly value: string
  /** Unix ms. */
  readonly time: number
}

export type Cause = 'counter' | 'heater' | 'status' | 'alarm'

export type Need = readonly [what: string, isMet: (grants: readonly Grant[]) => boolean]

const languages = ['en', 'de']

/** The template of all mails: the same text in each language. */
export const template = {
  locales: Object.fromEntries(
    languages.map((language) => [
      language,
      {
        subject: `${language}|{{function}}|{{device}}|{{value}}|{{time}}`,
        text: '{{function}} of {{deviceIdentifier}}, note {{meta.note}}.',
        ...(language === 'en' && { html: '<p>{{value}}</p>' }),
      },
    ]),
  ),
}

export function notificationIn(subject: string): Notification {
  const [language = '', name = '', device = '', value = '', time] = subject.split('|')
  return { language, name, device, value, time: Number(time) }
}

/** The device's note in the text of a mail; empty: none. */
export function noteIn(text: string): string {
  return /note (\w*)\./.exec(text)?.[1] ?? ''
}

export interface ReadDigest {
  readonly notifications: readonly Notification[]
  /** By the function's name: the number of further events. */
  readonly more: ReadonlyMap<string, number>
}

export function digestIn(text: string): ReadDigest {
  const notifications: Notification[] = []
  const more = new Map<string, number>()
  let name = ''
  for (const line of text.split('\n')) {
    const [, subject] = /^ {2}\S+T\S+Z (.*)$/.exec(line) ?? []
    const [, others] = /^ {2}(?:and )?(\d+)(?: more|, not listed)$/.exec(line) ?? []
    if (subject !== undefined) notifications.push(notificationIn(subject))
    else if (others !== undefined) more.set(name, Number(others))
    else if (line !== '') name = line
  }
  return { notifications, more }
}

/** The language for a user with this preference. */
export function languageOf(locale: string): string {
  const language = locale.slice(0, 2)
  return languages.includes(language) ? language : 'en'
}

/** All permissions that are needed to subscribe to a resource bound to these devices; `*` for all devices. */
export function needsOfSubscribing(bound: readonly string[]): readonly Need[] {
  return bound.flatMap((device): readonly Need[] => [
    [`functions of ${device}`, (grants) => mayRead(grants, 'functions', device)],
    [`services of ${device}`, (grants) => mayRead(grants, 'service', device)],
  ])
}

/** All permissions that are needed to be notified about one device. */
export function needsOfNotification(bound: readonly string[], device: string, cause: Cause): readonly Need[] {
  return [
    ['notifications', (grants) => mayRead(grants, 'notifications')],
    needOfCause(device, cause),
    ...needsOfSubscribing(bound),
  ]
}

/** All permissions that an author needs to send a webhook about one device. */
export function needsOfSending(device: string, cause: Cause): readonly Need[] {
  return [[`functions of ${device}`, (grants) => mayRead(grants, 'functions', device)], needOfCause(device, cause)]
}

function needOfCause(device: string, cause: Cause): Need {
  const isMet: Need[1] = (grants) => {
    if (cause === 'alarm') return mayRead(grants, 'alarms', device)
    if (cause === 'status') return mayRead(grants, 'meta', device)
    return mayRead(grants, 'service', device, cause)
  }
  return [`${cause} of ${device}`, isMet]
}

interface Hour {
  readonly from: number
  readonly count: number
}

const hourMs = 3_600_000

/**
 * The number of mails to a subscriber in an hour, which begins with the first mail after the previous hour. A mail sent in
 * the last moment of a process may or may not be counted.
 */
export class Hours {
  readonly #limit: number
  #possible: readonly Hour[] = [{ from: Number.NEGATIVE_INFINITY, count: 0 }]
  #beforeLast = this.#possible

  constructor(limit: number) {
    this.#limit = limit
  }

  /** A mail was accepted at that time, Unix ms. False: it is one too many. */
  take(now: number): boolean {
    this.#beforeLast = this.#possible
    this.#possible = this.#possible
      .map(({ from, count }) => (now < from + hourMs ? { from, count: count + 1 } : { from: now, count: 1 }))
      .filter(({ count }) => count <= this.#limit)
    return this.#possible.length > 0
  }

  lastMayBeForgotten(): void {
    this.#possible = [...this.#possible, ...this.#beforeLast]
  }
}
