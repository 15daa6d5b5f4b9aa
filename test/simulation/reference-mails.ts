import type { Grant } from '#model/scope'
import { mayRead } from '#test/simulation/reference-filter'

/** §2.6, contract 5.6 and 5.7 once more, written as plainly as can be: what mails say, and who may be told it. */

/** What a mail, or a line of a digest, says: its subject, as our templates have it. */
export interface Told {
  readonly language: string
  /** The function's name. */
  readonly name: string
  readonly device: string
  readonly value: string
  /** Unix ms. */
  readonly time: number
}

/** What is told of what. */
export type Cause = 'counter' | 'heater' | 'status' | 'alarm'

export type Need = readonly [what: string, isMet: (grants: readonly Grant[]) => boolean]

const languages = ['en', 'de']

/** The same words in each of them. */
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

export function toldIn(subject: string): Told {
  const [language = '', name = '', device = '', value = '', time] = subject.split('|')
  return { language, name, device, value, time: Number(time) }
}

/** What somebody recorded about the device, as far as it is in the text. */
export function noteIn(text: string): string {
  return /note (\w*)\./.exec(text)?.[1] ?? ''
}

export interface ReadDigest {
  readonly told: readonly Told[]
  /** By the function's name: how many others there were. */
  readonly more: ReadonlyMap<string, number>
}

export function digestIn(text: string): ReadDigest {
  const told: Told[] = []
  const more = new Map<string, number>()
  let name = ''
  for (const line of text.split('\n')) {
    const [, subject] = /^ {2}\S+T\S+Z (.*)$/.exec(line) ?? []
    const [, others] = /^ {2}(?:and )?(\d+)(?: more|, not listed)$/.exec(line) ?? []
    if (subject !== undefined) told.push(toldIn(subject))
    else if (others !== undefined) more.set(name, Number(others))
    else if (line !== '') name = line
  }
  return { told, more }
}

/** Which language somebody gets who wants this one. */
export function languageOf(locale: string): string {
  const language = locale.slice(0, 2)
  return languages.includes(language) ? language : 'en'
}

/** To subscribe to something bound to these devices; `*` stands for all. Each must be met, whatever meets it. */
export function needsOfSubscribing(bound: readonly string[]): readonly Need[] {
  return bound.flatMap((device): readonly Need[] => [
    [`functions of ${device}`, (grants) => mayRead(grants, 'functions', device)],
    [`services of ${device}`, (grants) => mayRead(grants, 'service', device)],
  ])
}

/** To be told something of one device. */
export function needsOfHearing(bound: readonly string[], device: string, cause: Cause): readonly Need[] {
  const isCauseMet: Need[1] = (grants) => {
    if (cause === 'alarm') return mayRead(grants, 'alarms', device)
    if (cause === 'status') return mayRead(grants, 'meta', device)
    return mayRead(grants, 'service', device, cause)
  }
  return [
    ['notifications', (grants) => mayRead(grants, 'notifications')],
    [`${cause} of ${device}`, isCauseMet],
    ...needsOfSubscribing(bound),
  ]
}

interface Hour {
  readonly from: number
  readonly count: number
}

const hourMs = 3_600_000

/**
 * How many mails somebody gets in an hour, which begins with the first one behind the hour before. Of a mail that left in the
 * last moment of a process nobody knows whether it counts: then both may be so.
 */
export class Hours {
  readonly #limit: number
  #possible: readonly Hour[] = [{ from: Number.NEGATIVE_INFINITY, count: 0 }]
  #beforeLast = this.#possible

  constructor(limit: number) {
    this.#limit = limit
  }

  /** One was taken at that time, Unix ms. False: it is one too many. */
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
