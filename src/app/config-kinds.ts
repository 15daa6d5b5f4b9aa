import { nextTime } from '#firmware/cron'
import { senderOf } from '#model/mail-address'
import { anonymousName, NewUserName } from '#model/user'

/** What a setting can take: said in words, and read. `read` answers `undefined` for what it does not take. */
export interface Kind<T> {
  readonly takes: string
  read(text: string): T | undefined
}

/** A whole number of some unit; the result is `scale` times it (`STREAM_RETENTION_MB` becomes bytes). */
export function wholeNumber(min: number, max: number, unit = '', scale = 1): Kind<number> {
  return {
    takes: `${min} to ${max}${unit && ` ${unit}`}`,
    read(text) {
      if (!/^\s*\d{1,15}\s*$/.test(text)) return undefined
      const value = Number(text)
      return value >= min && value <= max ? value * scale : undefined
    },
  }
}

const switchWords: ReadonlyMap<string, boolean> = new Map([
  ['1', true],
  ['true', true],
  ['on', true],
  ['0', false],
  ['false', false],
  ['off', false],
])

export const onOrOff: Kind<boolean> = {
  takes: 'on or off (also 1, 0, true, false)',
  read: (text) => switchWords.get(text.trim().toLowerCase()),
}

export function oneOf<const W extends string>(...words: readonly W[]): Kind<W> {
  return {
    takes: `one of ${words.join(', ')}`,
    read: (text) => words.find((word) => word === text.trim().toLowerCase()),
  }
}

export function matching(pattern: RegExp, takes: string): Kind<string> {
  return { takes, read: (text) => (pattern.test(text) ? text : undefined) }
}

export const accountName: Kind<string> = {
  takes: `1 to 64 printable characters without : and /, no space at either end, and not ${anonymousName}`,
  read: (text) => NewUserName.safeParse(text).data,
}

/** Five or six fields of cron that match some date: 30 February is refused. */
export const cronPattern: Kind<string> = {
  takes: 'a cron pattern of 5 or 6 fields that matches some date, such as 0 3 * * *',
  // From any moment: what comes within ten years comes again and again.
  read: (text) => (cronFields.test(text) && nextTime(text, 0) !== undefined ? text : undefined),
}

const cronFields = /^[\dA-Za-z*/,?#-]+( +[\dA-Za-z*/,?#-]+){4,5}$/

/** Parts separated by commas, each of which must be taken; none where there is no text. */
export function listOf<T>(item: Kind<T>, takes: string): Kind<readonly T[]> {
  return {
    takes,
    read(text) {
      const parts = text === '' ? [] : text.split(',')
      const values = parts.map((part) => item.read(part.trim()))
      return values.every((value) => value !== undefined) ? (values as readonly T[]) : undefined
    },
  }
}

/** An address to which paths are appended: nothing behind the path, no credentials, no slash at the end. */
export function baseUrl(protocols: readonly string[], takes: string): Kind<string> {
  return {
    takes,
    read(text) {
      const url = urlOf(text)
      if (!url || !protocols.includes(url.protocol) || text.includes('?') || text.includes('#')) return undefined
      if (url.username || url.password) return undefined
      return url.href.replace(/\/+$/, '')
    },
  }
}

/** An origin as browsers send it, to the letter: it is compared as text. */
export const webOrigin: Kind<string> = {
  takes: 'an origin such as https://app.example.com',
  read(text) {
    const url = urlOf(text)
    return url && ['http:', 'https:'].includes(url.protocol) && url.origin === text ? text : undefined
  },
}

/** Where mail is handed over; may hold a user and a password. Nothing else in it would be heard. */
export const smtpUrl: Kind<string> = {
  takes: 'smtp://[user:password@]host[:port] or smtps://…',
  read(text) {
    const url = urlOf(text)
    if (!url || !['smtp:', 'smtps:'].includes(url.protocol) || !url.hostname) return undefined
    if (/[?#]/.test(text) || !['', '/'].includes(url.pathname)) return undefined
    const credentials = [url.username, url.password]
    return credentials.every(isEscapedText) || credentials.every((part) => part === '') ? text : undefined
  },
}

/** Who mail is from. */
export const mailFrom: Kind<string> = {
  takes: 'an address such as devices@example.com or Devices <devices@example.com>',
  read: (text) => (senderOf(text) ? text : undefined),
}

function isEscapedText(part: string): boolean {
  try {
    return decodeURIComponent(part) !== ''
  } catch {
    return false
  }
}

function urlOf(text: string): URL | undefined {
  // The parser forgives spaces and line breaks; what is written in a configuration should be the address.
  return /[\s\\]/.test(text) || !URL.canParse(text) ? undefined : new URL(text)
}
