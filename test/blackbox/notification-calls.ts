import { expect } from 'vitest'
import { answerOf, type Person } from '#test/blackbox/people'
import { climate, temperature } from '#test/blackbox/sensor'
import { until } from '#test/blackbox/until'

/** Functions, templates and subscriptions of these tests, and what becomes of their mails. */

export interface Fn {
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
    { id: 'tell', type: 'email', template: 'heat' },
  ],
  edges: [
    ['heat', 'hot'],
    ['hot', 'tell'],
  ],
}

const words = {
  locales: {
    en: { subject: '{{deviceIdentifier}} {{value}}', text: '{{function}}: {{value}}, was {{previous}}' },
    de: { subject: '{{deviceIdentifier}} auf {{value}}', text: '{{function}}: {{value}}, vorher {{previous}}' },
  },
}

export async function putWords(who: Person): Promise<void> {
  expect((await who.put('/templates/heat', words)).status).toBe(200)
}

/** Sends a mail for each temperature above 30, of all devices; `more` changes the body. */
export async function makeFunction(who: Person, more: object = {}): Promise<Fn> {
  const body = { name: 'Heat', binding: {}, graph, ...more }
  const answer = await who.post('/functions', body)
  expect([answer.status, answer.text]).toEqual([201, expect.any(String)])
  return answer.json as Fn
}

export const pathOf = ({ resourceIdentifier }: Fn) => `/functions/${resourceIdentifier.slice('crn#function:'.length)}`

/** The path of what was made. */
export async function subscribe(who: Person, fn: Fn, more: object = {}): Promise<string> {
  const body = { topic: fn.resourceIdentifier, type: 'email', locale: 'en', ...more }
  const answer = await who.post('/notifications/subscribe', body)
  expect(answerOf(answer)).toEqual([201, { resourceIdentifier: expect.stringMatching(/^crn#subscription:\w{9,16}$/) }])
  return (answer.headers.get('location') ?? '').slice('/api/v1'.length)
}

export async function subscriptionsOf(who: Person): Promise<readonly Subscription[]> {
  const answer = await who.get('/notifications/subscribe')
  expect(answer.status).toBe(200)
  return answer.json as Subscription[]
}

async function outboxOf(admin: Person): Promise<Outbox> {
  const answer = await admin.get('/notifications/outbox')
  expect(answer.status).toBe(200)
  return answer.json as Outbox
}

/** Until it shows all of this. */
export async function untilOutbox(admin: Person, shown: object): Promise<Outbox> {
  let seen: Outbox | undefined
  return until(
    async () => {
      seen = await outboxOf(admin)
      return isShown(seen, shown) && seen
    },
    () => `${JSON.stringify(shown)} in the outbox, there is ${JSON.stringify(seen)}`,
  )
}

/** Until nobody waits for anything. */
export function untilAllTold(admin: Person): Promise<Outbox> {
  return untilOutbox(admin, { waiting: { requests: 0, subscribers: 0 } })
}

function isShown(seen: object, shown: object): boolean {
  try {
    expect(seen).toMatchObject(shown)
    return true
  } catch {
    return false
  }
}
