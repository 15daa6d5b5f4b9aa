import { createHmac } from 'node:crypto'
import { version } from '#model/version'
import { keyOfWebhookSecret, type StoredWebhook } from '#model/webhook'
import { type RunContext, webhookDataOf } from '#notifications/mail-data'
import type { WebhookPost } from '#notifications/webhook-sender'

/**
 * The request of one attempt, in the form of https://www.standardwebhooks.com: the signature covers the id, the time of
 * the attempt and the body. `now` in Unix ms. Contract 12.
 */
export function webhookPostOf(
  webhook: StoredWebhook,
  surroundings: RunContext,
  to: { readonly url: string; readonly secret: string },
  now: number,
): WebhookPost {
  const { id, at, cause } = webhook
  const body = JSON.stringify({
    type: `${cause.on}.changed`,
    timestamp: new Date(at).toISOString(),
    data: webhookDataOf(webhook, surroundings),
  })
  const seconds = Math.floor(now / 1_000)
  const signature = createHmac('sha256', keyOfWebhookSecret(to.secret))
    .update(`${id}.${seconds}.${body}`)
    .digest('base64')
  const headers = {
    'content-type': 'application/json',
    'user-agent': `device-data-backend/${version}`,
    'webhook-id': id,
    'webhook-timestamp': String(seconds),
    'webhook-signature': `v1,${signature}`,
  }
  return { url: to.url, headers, body }
}
