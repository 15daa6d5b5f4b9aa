import { createHmac } from 'node:crypto'
import type { Entry } from '#model/entry'
import type { StoredFunction } from '#model/function'
import type { WebhookNode } from '#model/graph'
import type { Scope } from '#model/scope'
import { version } from '#model/version'
import { keyOfWebhookSecret, type StoredWebhook, type WebhookFault } from '#model/webhook'
import { type RunContext, runContextOf, webhookDataOf } from '#notifications/mail-data'
import { maySend } from '#notifications/recipient-access'
import type { WebhookPost } from '#notifications/webhook-sender'
import type { FunctionViews } from '#rules/function-views'
import type { System } from '#runtime/system'

export interface PreparationParts {
  readonly system: System<Entry>
  readonly functions: Pick<FunctionViews, 'storedOf' | 'membersOf'>
  /** The current permissions. `author`: the resource name of a user or an API key. */
  readonly scopeOf: (tenant: string, author: string) => Scope
  /** Undefined if the secret cannot be read. */
  readonly secretOf: (tenant: string, fn: string, node: string, stored: StoredFunction) => string | undefined
}

interface Prepared {
  readonly post: WebhookPost
  readonly node: WebhookNode
  /** Whether everything that the decision was based on is unchanged. */
  readonly isStillAllowed: () => boolean
}

/** The request of the webhook, or the reason why the webhook must not be sent. @throws Problem `storage` */
export function preparedOf(
  { system, functions, scopeOf, secretOf }: PreparationParts,
  { tenant, function: fn }: { readonly tenant: string; readonly function: string },
  webhook: StoredWebhook,
): Prepared | WebhookFault {
  const stored = functions.storedOf(tenant, fn)
  if (!stored) return 'unbound'
  const scope = scopeOf(tenant, stored.updatedBy)
  const membersOf = (group: string) => functions.membersOf(tenant, group)
  const fault = maySend({ scope, function: stored, membersOf }, webhook)
  if (fault) return fault
  const node = nodeOf(stored, webhook.node)
  if (!node || node.enabled === false) return 'disabled'
  const secret = secretOf(tenant, fn, node.id, stored)
  if (secret === undefined) return 'secret'
  const surroundings = runContextOf(system, { tenant, scope, membersOf }, stored.name, webhook)
  const members = (stored.groups ?? []).map(membersOf)
  return {
    post: webhookPostOf(webhook, surroundings, { url: node.url, secret }, system.world.now()),
    node,
    isStillAllowed: () =>
      functions.storedOf(tenant, fn) === stored &&
      scopeOf(tenant, stored.updatedBy).fingerprint === scope.fingerprint &&
      (stored.groups ?? []).every((group, place) => membersOf(group) === members[place]),
  }
}

export function nodeOf(stored: StoredFunction | undefined, id: string): WebhookNode | undefined {
  return stored?.graph.nodes.find((node): node is WebhookNode => node.type === 'webhook' && node.id === id)
}

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
