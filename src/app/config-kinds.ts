import { nextTime } from '#firmware/schedule'
import { senderOf } from '#model/mail-address'
import { anonymousName, NewUserName } from '#model/user'
import { isAllowable } from '#notifications/webhook-addresses'

/** The values of a setting: a description, and a parser that returns `undefined` for any other value. */
export interface SettingKind<T> {
  readonly takes: string
  read(text: string): T | undefined
}

/** A whole number with a unit; the result is multiplied by `scale` (`STREAM_RETENTION_MB` becomes bytes). */
export function wholeNumber(min: number, max: number, unit = '', scale = 1): SettingKind<number> {
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

export const onOrOff: SettingKind<boolean> = {
  takes: 'on or off (also 1, 0, true, false)',
  read: (text) => switchWords.get(text.trim().toLowerCase()),
}

/** 0 is any free port. */
export const portOrOff: SettingKind<number | 'off'> = {
  takes: '0 to 65535, or off',
  read: (text) => (text.trim().toLowerCase() === 'off' ? 'off' : wholeNumber(0, 65_535).read(text)),
}

export function oneOf<const W extends string>(...words: readonly W[]): SettingKind<W> {
  return {
    takes: `one of ${words.join(', ')}`,
    read: (text) => words.find((word) => word === text.trim().toLowerCase()),
  }
}

export function matching(pattern: RegExp, takes: string): SettingKind<string> {
  return { takes, read: (text) => (pattern.test(text) ? text : undefined) }
}

export const accountName: SettingKind<string> = {
  takes: `1 to 64 printable characters without : and /, no space at either end, and not ${anonymousName}`,
  read: (text) => NewUserName.safeParse(text).data,
}

/** Five or six fields of cron that match at least one date: 30 February is refused. */
export const cronPattern: SettingKind<string> = {
  takes: 'a cron pattern of 5 or 6 fields that matches some date, such as 0 3 * * *',
  // The search may start at any time: a pattern that matches within ten years also matches later.
  read: (text) => (cronFields.test(text) && nextTime(text, 0) !== undefined ? text : undefined),
}

const cronFields = /^[\dA-Za-z*/,?#-]+( +[\dA-Za-z*/,?#-]+){4,5}$/

/** Parts separated by commas, each of this kind; an empty text is an empty list. */
export function listOf<T>(item: SettingKind<T>, takes: string): SettingKind<readonly T[]> {
  return {
    takes,
    read(text) {
      const parts = text === '' ? [] : text.split(',')
      const values = parts.map((part) => item.read(part.trim()))
      return values.every((value) => value !== undefined) ? (values as readonly T[]) : undefined
    },
  }
}

/** A URL to which paths are appended: no query or fragment, no credentials, no slash at the end. */
export function baseUrl(protocols: readonly string[], takes: string): SettingKind<string> {
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

/** An origin exactly as browsers send it, because it is compared as text. */
export const webOrigin: SettingKind<string> = {
  takes: 'an origin such as https://app.example.com',
  read(text) {
    const url = urlOf(text)
    return url && ['http:', 'https:'].includes(url.protocol) && url.origin === text ? text : undefined
  },
}

/** The mail server, with optional user and password. Any other part would be ignored, so it is refused. */
export const smtpUrl: SettingKind<string> = {
  takes: 'smtp://[user:password@]host[:port] or smtps://…',
  read(text) {
    const url = urlOf(text)
    if (!url || !['smtp:', 'smtps:'].includes(url.protocol) || !url.hostname) return undefined
    if (/[?#]/.test(text) || !['', '/'].includes(url.pathname)) return undefined
    const credentials = [url.username, url.password]
    return credentials.every(isEscapedText) || credentials.every((part) => part === '') ? text : undefined
  },
}

export const allowedReceiver: SettingKind<string> = {
  takes: 'a host, an address or a network such as 10.0.0.0/8',
  read: (text) => (isAllowable(text) ? text : undefined),
}

/** A server of NATS, with optional user and password. */
export const natsUrl: SettingKind<string> = {
  takes: 'nats://[user:password@]host[:port] or tls://…',
  read(text) {
    const url = urlOf(text)
    if (!url || !['nats:', 'tls:'].includes(url.protocol) || !url.hostname) return undefined
    return /[?#]/.test(text) || !['', '/'].includes(url.pathname) ? undefined : text
  },
}

/** The sender of mails. */
export const mailFrom: SettingKind<string> = {
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
  // The parser ignores spaces and line breaks; a configured URL must not contain them.
  return /[\s\\]/.test(text) || !URL.canParse(text) ? undefined : new URL(text)
}
