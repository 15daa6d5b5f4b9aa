import type { Writable } from 'node:stream'
import { destination, type Logger, pino } from 'pino'
import { PinoPretty } from 'pino-pretty'

/** No child loggers: pino writes their bindings without redacting secrets. */
export type Log = Pick<Logger, 'fatal' | 'error' | 'warn' | 'info' | 'debug' | 'trace' | 'isLevelEnabled' | 'flush'>

/** Keys whose values are redacted at any depth; compared in lower case, without `-` and `_`. */
const secretKeys: ReadonlySet<string> = new Set([
  'authorization',
  'proxyauthorization',
  'dpop',
  'cookie',
  'cookies',
  'setcookie',
  'xapikey',
  'apikey',
  'password',
  'secret',
  'token',
  'accesstoken',
  'refreshtoken',
  'ticket',
  'code',
  'current',
  'recoverycodes',
  'otpauthuri',
  'provisioningkey',
  'operatortoken',
])

/** The key `key` has many uses. A text of at least this length under this key may be a secret. */
const keyCharactersMin = 32

/** Deeper values are redacted: the server itself logs no deeper values. */
const depthMax = 8
const redacted = '[redacted]'

export interface LogOptions {
  readonly level: string
  /** Coloured lines for people; otherwise one JSON object per line. */
  readonly isPretty: boolean
  /** Default: standard output. Written synchronously, so that the last lines before a crash are not lost. */
  readonly stream?: Writable
}

/** The log. Redacts secrets by key, and tickets in paths, also in messages and stacks. */
export function createLog({ level, isPretty, stream }: LogOptions): Log {
  const target = stream ?? destination({ dest: 1, sync: true })
  const options = {
    level,
    base: null,
    formatters: { level: (label: string) => ({ level: label }), log: (fields: object) => redactFields(fields) },
    hooks: { streamWrite: redactPath },
  }
  return pino(options, isPretty ? PinoPretty({ sync: true, destination: target, colorize: true }) : target)
}

/**
 * Redacts the ticket in `/api/v1/events/<ticket>` anywhere in a text, also in misspelled forms of this path.
 * `/api/v1/events/ticket` is the route that issues tickets, and stays.
 */
export function redactPath(text: string): string {
  return text
    .replace(/(\/api\/v1\/events\/)(?!ticket(?![\w-]))[^\s/?#"'\\]+/g, `$1${redacted}`)
    .replace(/(\/events\/+)[\w-]{32}(?![\w.-])/gi, `$1${redacted}`)
}

function redactFields(fields: object, depth = 0): Record<string, unknown> {
  const entries = Object.entries(fields).map(([key, value]) => [
    key,
    isSecret(key, value) ? redacted : redactValue(value, depth),
  ])
  return Object.fromEntries(entries)
}

/** Only plain records and lists are searched: errors keep their class, and so their stack. */
function redactValue(value: unknown, depth: number): unknown {
  if (typeof value !== 'object' || value === null) return value
  if (depth === depthMax) return '[deeper]'
  if (Array.isArray(value)) return value.map((item) => redactValue(item, depth + 1))
  const prototype: unknown = Object.getPrototypeOf(value)
  return prototype === Object.prototype || prototype === null ? redactFields(value, depth + 1) : value
}

/** Numbers under `code` are close codes and statuses; a secret code is a text. */
function isSecret(key: string, value: unknown): boolean {
  const name = key.toLowerCase().replace(/[-_]/g, '')
  if (name === 'key') return typeof value === 'string' && value.length >= keyCharactersMin
  return value !== undefined && secretKeys.has(name) && !(name === 'code' && typeof value === 'number')
}
