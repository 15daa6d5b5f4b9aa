import type { Writable } from 'node:stream'
import { destination, type Logger, pino } from 'pino'
import { PinoPretty } from 'pino-pretty'

/** What may be said. No children: pino writes their bindings as they are, past what takes the secrets out. */
export type Log = Pick<Logger, 'fatal' | 'error' | 'warn' | 'info' | 'debug' | 'trace' | 'isLevelEnabled' | 'flush'>

/** Keys whose values are never written, at any depth; compared in lower case, without `-` and `_`. */
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

/** `key` names many things; as long a text under it opens something. */
const keyCharactersMin = 32

/** A log line is written by us: deeper than this it is not meant to be read. */
const depthMax = 8
const redacted = '[redacted]'

export interface LogOptions {
  readonly level: string
  /** For people: coloured lines. Otherwise a JSON object a line. */
  readonly isPretty: boolean
  /** Default: standard output. Written synchronously, so that the last words before a death are not lost. */
  readonly stream?: Writable
}

/** The log. Secrets are taken out of it by key, tickets by path, also out of messages and stacks. */
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
 * Takes the ticket out of `/api/v1/events/<ticket>`, wherever that stands in a text, and what looks like one out of paths
 * that were meant to be this one. `/api/v1/events/ticket` is the route that gives tickets out, not a ticket.
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

/** Only what is written as a record or list is looked through: errors keep their class, and so their stack. */
function redactValue(value: unknown, depth: number): unknown {
  if (typeof value !== 'object' || value === null) return value
  if (depth === depthMax) return '[deeper]'
  if (Array.isArray(value)) return value.map((item) => redactValue(item, depth + 1))
  const prototype: unknown = Object.getPrototypeOf(value)
  return prototype === Object.prototype || prototype === null ? redactFields(value, depth + 1) : value
}

/** Numbers under `code` are close codes and statuses; a code that opens something is text. */
function isSecret(key: string, value: unknown): boolean {
  const name = key.toLowerCase().replace(/[-_]/g, '')
  if (name === 'key') return typeof value === 'string' && value.length >= keyCharactersMin
  return value !== undefined && secretKeys.has(name) && !(name === 'code' && typeof value === 'number')
}
