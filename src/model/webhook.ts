import { z } from 'zod'
import type { RunData } from '#model/delivery'
import { Timestamp } from '#model/identifier'

/** Webhooks of functions, in the form of https://www.standardwebhooks.com. Contract 12. */

/**
 * Limits for the waiting deliveries of a tenant. Above either limit, the oldest deliveries are dropped, except those
 * with a request in progress. Bytes are those of the JSON, approximately.
 */
export const waitingWebhooksMax = 10_000
export const waitingBytesMax = 64 * 1024 * 1024

/** Maximum number of deliveries of a function that can be read: the latest ones. */
const deliveriesShown = 100

const urlCharactersMax = 2_048

/** The URL of a webhook. It must not contain credentials: every reader of the function would see them. */
export const WebhookUrl = z
  .string()
  .max(urlCharactersMax)
  .refine(isWebhookUrl, 'must be a URL such as https://example.com/hook, without user, password and #')

function isWebhookUrl(text: string): boolean {
  if (/[\s\\#\p{Cc}]/u.test(text) || !URL.canParse(text)) return false
  const { protocol, username, password } = new URL(text)
  return /^https?:$/.test(protocol) && username === '' && password === ''
}

const secretStart = 'whsec_'
const secretBytes = { min: 24, max: 64 }
const newSecretBytes = 32

export const WebhookSecret = z
  .string()
  .refine(isWebhookSecret, `must be ${secretStart} and ${secretBytes.min} to ${secretBytes.max} bytes in base64`)

function isWebhookSecret(text: string): boolean {
  const match = /^whsec_([A-Za-z0-9+/]{1,88}={0,2})$/.exec(text)
  const [, encoded = ''] = match ?? []
  const bytes = Buffer.from(encoded, 'base64')
  // Only canonical Base64: libraries read other forms differently.
  return bytes.length >= secretBytes.min && bytes.length <= secretBytes.max && bytes.toString('base64') === encoded
}

export function newWebhookSecret(random: (byteCount: number) => Uint8Array): string {
  return secretStart + Buffer.from(random(newSecretBytes)).toString('base64')
}

export function keyOfWebhookSecret(secret: string): Uint8Array {
  return Buffer.from(secret.slice(secretStart.length), 'base64')
}

const minute = 60_000
const hour = 60 * minute
const firstDelaysMs = [5_000, 30_000, 2 * minute, 10 * minute, hour]
const hourlyAttempts = 24

/** Maximum ms between attempts. */
export const retryDelayMsMax = hour

/** Ms until the next attempt after this number of failed attempts; undefined: there is no further attempt. */
export function retryDelayMs(attempts: number): number | undefined {
  if (attempts > firstDelaysMs.length + hourlyAttempts) return undefined
  return firstDelaysMs[attempts - 1] ?? hour
}

/** A delivery that is not finished. Times are Unix ms. */
export interface StoredWebhook extends RunData {
  /** The `webhook-id`, the same at every attempt. */
  readonly id: string
  readonly node: string
  readonly attempts: number
  readonly nextAt: number
  /** The result of the last attempt: the HTTP status, or a reason. Null: none yet. */
  readonly result: WebhookAnswer | null
}

/** A status of HTTP, or why there is none. */
export type WebhookAnswer = number | WebhookFault

const webhookFaults = [
  /** No complete answer in time. */
  'timeout',
  'connection',
  'dns',
  'tls',
  /** The host has only addresses that are private, loopback or link-local. */
  'address',
  /** The function is deleted or disabled, or no longer bound to the device. */
  'unbound',
  /** The node was changed or disabled. */
  'disabled',
  /** The author of the function is not allowed to read the event. */
  'forbidden',
  /** The stored secret cannot be read with this `identity.key`. */
  'secret',
  /** Too many webhooks of the tenant were waiting. */
  'overflow',
  /** The function, or all functions of the tenant together, requested too many webhooks. */
  'rate',
] as const
export type WebhookFault = (typeof webhookFaults)[number]

/** A finished delivery. */
export interface WebhookResult extends Pick<StoredWebhook, 'id' | 'node' | 'attempts' | 'result'> {
  readonly status: 'DELIVERED' | 'FAILED' | 'DROPPED'
  /** When the delivery ended, or the last of the dropped webhooks was dropped, Unix ms. */
  readonly time: number
  /** The number of webhooks that were dropped in a row; the id is that of the first one. */
  readonly count?: number
}

/** Webhooks that are dropped after a pause of this length are counted in another row. */
const dropsApartMs = 60_000

/** The change that adds a result: the row to write, and the id of a row to delete. */
export function resultsWith(
  results: ReadonlyMap<string, WebhookResult>,
  added: WebhookResult,
): { readonly row: WebhookResult; readonly removed?: string } {
  const rows = [...results.values()]
  if (added.status === 'DROPPED') {
    const before = lastDropOf(rows.filter(({ node, result }) => node === added.node && result === added.result))
    if (before && added.time - before.time < dropsApartMs) {
      return { row: { ...before, time: added.time, count: (before.count ?? 1) + (added.count ?? 1) } }
    }
  }
  if (rows.length < deliveriesShown) return { row: added }
  const drops = lastDropOf(rows)
  const others = rows.filter((row) => row !== drops)
  const { id } = others.reduce((one, other) => (other.time < one.time ? other : one))
  return { row: added, removed: id }
}

/** The latest row of dropped webhooks. This row is always listed: otherwise deliveries would soon displace it. */
function lastDropOf<Row extends Pick<WebhookDelivery, 'status' | 'time'>>(rows: Iterable<Row>): Row | undefined {
  let last: Row | undefined
  for (const row of rows) if (row.status === 'DROPPED' && (!last || row.time >= last.time)) last = row
  return last
}

/**
 * A delivery as the API returns it: without its content. `time`: while the delivery waits, the time of the event;
 * afterwards, the time at which the delivery ended.
 */
export const WebhookDelivery = z.object({
  id: z.string(),
  node: z.string(),
  status: z.enum(['WAITING', 'DELIVERED', 'FAILED', 'DROPPED']),
  time: Timestamp,
  attempts: z.int(),
  httpStatus: z.int().optional(),
  reason: z.enum(webhookFaults).optional(),
  nextAt: Timestamp.optional(),
  /** The number of webhooks that were dropped in a row. */
  count: z.int().optional(),
})
export type WebhookDelivery = Readonly<z.infer<typeof WebhookDelivery>>

/** The latest deliveries, the latest first, and always the latest row of dropped webhooks. */
export function deliveriesOf(
  waiting: Iterable<StoredWebhook>,
  results: Iterable<WebhookResult>,
): readonly WebhookDelivery[] {
  const shown: WebhookDelivery[] = [
    ...[...waiting].map(({ id, node, at, attempts, result, nextAt }) => {
      return { id, node, status: 'WAITING' as const, time: at, attempts, ...answerFields(result), nextAt }
    }),
    ...[...results].map(({ result, ...row }) => ({ ...row, ...answerFields(result) })),
  ]
  shown.sort((one, other) => other.time - one.time)
  const drops = lastDropOf(shown)
  if (!drops || shown.indexOf(drops) < deliveriesShown) return shown.slice(0, deliveriesShown)
  return [...shown.slice(0, deliveriesShown - 1), drops]
}

function answerFields(result: WebhookAnswer | null): Pick<WebhookDelivery, 'httpStatus' | 'reason'> {
  if (result === null) return {}
  return typeof result === 'number' ? { httpStatus: result } : { reason: result }
}
