import { expect } from 'vitest'
import { climate, temperature } from '#test/blackbox/sensor'
import { answerOf, type SignedInUser } from '#test/blackbox/signed-in-user'
import { until } from '#test/blackbox/until'

/** Requests for functions, templates, subscriptions and the outbox. */

export interface NamedResource {
  readonly name: string
  readonly resourceIdentifier: string
}

export interface Subscription {
  readonly topic: string
  readonly type: string
  readonly locale: string
  readonly resourceIdentifier: string
  readonly createdBy: string
  readonly createdAt: number
}

export interface Outbox {
  readonly waiting: { readonly requests: number; readonly subscribers: number }
  readonly sent: number
  readonly digests: number
  readonly digested: number
  readonly failures: readonly { readonly reason: string; readonly count: number; readonly lastAt: number }[]
  readonly transport: { readonly kind: string; readonly state: string; readonly lastError?: string }
}

const graph = {
  nodes: [
    { id: 'heat', type: 'trigger', on: 'property', serviceIdentifier: climate, propId: temperature },
    { id: 'hot', type: 'condition', logic: { '>': [{ var: 'value' }, 30] } },
    { id: 'mail', type: 'email', template: 'heat' },
  ],
  edges: [
    ['heat', 'hot'],
    ['hot', 'mail'],
  ],
}

const template = {
  locales: {
    en: { subject: '{{deviceIdentifier}} {{value}}', text: '{{function}}: {{value}}, was {{previous}}' },
    de: { subject: '{{deviceIdentifier}} auf {{value}}', text: '{{function}}: {{value}}, vorher {{previous}}' },
  },
}

export async function putTemplate(person: SignedInUser): Promise<void> {
  expect((await person.put('/templates/heat', template)).status).toBe(200)
}

/**
 * Creates a function that sends a mail for each temperature above 30 of any device. `more` has fields of the body.
 */
export async function makeFunction(person: SignedInUser, more: object = {}): Promise<NamedResource> {
  const body = { name: 'Heat', binding: {}, graph, ...more }
  const answer = await person.post('/functions', body)
  expect([answer.status, answer.text]).toEqual([201, expect.any(String)])
  return answer.json as NamedResource
}

export const pathOf = ({ resourceIdentifier }: NamedResource) =>
  `/functions/${resourceIdentifier.slice('crn#function:'.length)}`

/** Returns the path of the subscription. */
export async function subscribe(person: SignedInUser, fn: NamedResource, more: object = {}): Promise<string> {
  const body = { topic: fn.resourceIdentifier, type: 'email', locale: 'en', ...more }
  const answer = await person.post('/notifications/subscribe', body)
  expect(answerOf(answer)).toEqual([201, { resourceIdentifier: expect.stringMatching(/^crn#subscription:\w{9,16}$/) }])
  return (answer.headers.get('location') ?? '').slice('/api/v1'.length)
}

export async function subscriptionsOf(person: SignedInUser): Promise<readonly Subscription[]> {
  const answer = await person.get('/notifications/subscribe')
  expect(answer.status).toBe(200)
  return answer.json as Subscription[]
}

async function outboxOf(admin: SignedInUser): Promise<Outbox> {
  const answer = await admin.get('/notifications/outbox')
  expect(answer.status).toBe(200)
  return answer.json as Outbox
}

/** Waits until the outbox has these values. */
export async function untilOutbox(admin: SignedInUser, expected: object): Promise<Outbox> {
  let seen: Outbox | undefined
  return until(
    async () => {
      seen = await outboxOf(admin)
      return matches(seen, expected) && seen
    },
    () => `${JSON.stringify(expected)} in the outbox, which has ${JSON.stringify(seen)}`,
  )
}

function matches(seen: object, expected: object): boolean {
  try {
    expect(seen).toMatchObject(expected)
    return true
  } catch {
    return false
  }
}
