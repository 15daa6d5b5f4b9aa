import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import type { WebhookNode } from '#model/graph'
import { type Grant, scopeOf } from '#model/scope'
import { deliveriesOf, type WebhookAnswer } from '#model/webhook'
import { ann } from '#test/actors/acting-tenant'
import { DeliveryFixture } from '#test/notifications/delivery-fixture'

const second = 1_000
const minute = 60 * second
const hour = 60 * minute

let fixture: DeliveryFixture
beforeEach(async () => {
  fixture = await DeliveryFixture.open()
  await fixture.putWebhook()
})
afterEach(() => fixture.close())

const posts = () => fixture.receivers.posts
const idsOf = () => posts().map(({ headers }) => headers['webhook-id'])
const valuesOf = (from = 0) =>
  posts()
    .slice(from)
    .map(({ body }) => JSON.parse(body).data.value)
const results = (fn = 'F') => [...fixture.delivery(fn).results.values()]
const resultsInShort = (fn = 'F') => results(fn).map(({ status, result, attempts }) => [status, result, attempts])

function answers(...all: WebhookAnswer[]): void {
  fixture.receivers.onPost = () => all.shift() ?? 204
}

async function expectIdle(): Promise<void> {
  expect(fixture.delivery().webhooks.size).toBe(0)
  expect(await fixture.entries('delivering')).toEqual([])
  expect(fixture.webhooks.waitingCount).toBe(0)
}

/** Makes these receivers answer only when the returned function is called. */
function hold(isHeld: (url: string) => boolean = () => true): (answer?: WebhookAnswer) => void {
  const held: ((answer: WebhookAnswer) => void)[] = []
  fixture.receivers.onPost = ({ url }) =>
    isHeld(url) ? new Promise<WebhookAnswer>((resolve) => held.push(resolve)) : 204
  return (answer = 204) => {
    for (const release of held) release(answer)
  }
}

test('a webhook is sent once, with the data as it is now', async () => {
  await fixture.addDevice('A', { site: 'north' })
  await fixture.callWebhook(31)
  await fixture.advance()
  expect(posts().map(({ url }) => url)).toEqual(['https://a.example/hook'])
  expect(JSON.parse(posts()[0]?.body ?? '').data).toEqual({
    function: 'Told',
    device: 'A',
    service: 'svc',
    property: '0x0001',
    value: 31,
    meta: { site: 'north' },
  })
  expect(results()).toEqual([
    {
      ...{ id: idsOf()[0], node: 'hook', status: 'DELIVERED', result: 204, attempts: 1 },
      time: expect.any(Number),
    },
  ])
  expect(fixture.webhooks.attempts).toEqual({ ok: 1, refused: 0, unanswered: 0 })
  await expectIdle()
})

describe('a webhook that fails is tried again', () => {
  test('after 5 s, 30 s, 2 min, 10 min, 1 h and then hourly for 24 h, under the same id', async () => {
    const times: number[] = []
    fixture.receivers.onPost = () => {
      times.push(fixture.world.now())
      return times.length % 2 === 0 ? 500 : 'timeout'
    }
    await fixture.callWebhook(1)
    for (let count = 0; count < 27; count++) await fixture.advance(hour)
    const pauses = times.slice(1).map((time, index) => Math.round((time - (times[index] as number)) / second))
    expect(pauses).toEqual([5, 30, 120, 600, 3_600, ...Array.from({ length: 24 }, () => 3_600)])
    expect(new Set(idsOf()).size).toBe(1)
    expect(resultsInShort()).toEqual([['FAILED', 500, 30]])
    await expectIdle()
  })

  test('until it is accepted; others are not delayed', async () => {
    answers(500, 204, 'connection', 204)
    await fixture.callWebhook(1)
    await fixture.advance(second)
    await fixture.callWebhook(2)
    await fixture.advance(second)
    expect(valuesOf()).toEqual([1, 2])
    await fixture.advance(4 * second)
    expect([...fixture.delivery().webhooks.values()].map(({ attempts, result }) => [attempts, result])).toEqual([
      [2, 'connection'],
    ])
    await fixture.advance(30 * second)
    expect(valuesOf()).toEqual([1, 2, 1, 1])
    expect(resultsInShort()).toEqual([
      ['DELIVERED', 204, 1],
      ['DELIVERED', 204, 3],
    ])
    await expectIdle()
  })

  test('at its time, also after a restart', async () => {
    answers(500)
    await fixture.callWebhook(1)
    await fixture.advance(second)
    fixture = await fixture.restart()
    await fixture.advance(3 * second)
    expect(posts()).toHaveLength(1)
    await fixture.advance(2 * second)
    expect(posts()).toHaveLength(2)
    await expectIdle()
  })

  test('and again when the process dies before the result is stored', async () => {
    const release = hold()
    await fixture.callWebhook(1)
    await fixture.advance()
    expect(posts()).toHaveLength(1)
    fixture = await fixture.restart()
    release()
    fixture.receivers.onPost = () => 204
    await fixture.advance()
    expect(new Set(idsOf()).size).toBe(1)
    expect(posts()).toHaveLength(2)
    await expectIdle()
  })

  test.each([true, false])(
    'but not when only the write of the result failed (the write reached the disk: %s)',
    async (reachedDisk) => {
      const release = hold()
      await fixture.callWebhook(1)
      await fixture.advance()
      fixture.faults.next = { fail: 'full', reachedDisk }
      release()
      await fixture.advance(minute)
      expect(posts()).toHaveLength(1)
      await expectIdle()
    },
  )
})

describe('a receiver that answers 410', () => {
  const nodeOf = () => fixture.views.storedOf('default', 'F')?.graph.nodes[1] as WebhookNode

  test('gets nothing more until the node is enabled', async () => {
    answers(410)
    await fixture.callWebhook(1)
    await fixture.advance()
    expect(nodeOf()).toMatchObject({ url: 'https://a.example/hook', enabled: false })
    await fixture.callWebhook(2)
    await fixture.advance()
    expect(posts()).toHaveLength(1)
    expect(resultsInShort()).toEqual([
      ['FAILED', 410, 1],
      ['FAILED', 'disabled', 0],
    ])
    await fixture.putWebhook()
    await fixture.callWebhook(3)
    await fixture.advance()
    expect(valuesOf()).toEqual([1, 3])
  })

  test('does not disable a node that meanwhile has another URL', async () => {
    const release = hold()
    await fixture.callWebhook(1)
    await fixture.advance()
    await fixture.putWebhook('https://b.example/hook')
    release(410)
    await fixture.advance()
    expect(nodeOf()).not.toHaveProperty('enabled')
  })
})

describe('the access of the author counts when a webhook is sent', () => {
  const grant = (devices: string[], services = ['svc'], permissions: Grant['permissions'] = both): Grant => {
    return { devices, services, permissions }
  }
  const both: Grant['permissions'] = { functions: ['read'], service: ['read'] }

  test.each<[string, Grant[], WebhookAnswer]>([
    ['everything in the webhook', [grant(['A'])], 204],
    ['another device', [grant(['B'])], 'forbidden'],
    ['another service', [grant(['A'], ['other'])], 'forbidden'],
    ['no functions', [grant(['A'], ['svc'], { service: ['read'] })], 'forbidden'],
    ['nothing', [], 'forbidden'],
  ])('with access to %s', async (_, grants, result) => {
    fixture.setRecipient(ann.slice('crn#user:'.length), { scope: scopeOf(grants) })
    await fixture.addDevice('A', { site: 'north' })
    await fixture.callWebhook(1)
    await fixture.advance()
    expect(results().map((each) => each.result)).toEqual([result])
    // Metadata needs a right of its own.
    for (const { body } of posts()) expect(JSON.parse(body).data.meta).toEqual({})
  })

  test.each([
    ['is disabled', () => fixture.putFunction('F', { enabled: false })],
    ['is bound to other devices', () => fixture.putFunction('F', { binding: { devices: ['B'] } })],
  ])('and nothing is sent when the function %s', async (_, change) => {
    answers(500)
    await fixture.callWebhook(1)
    await fixture.advance()
    await change()
    await fixture.advance(minute)
    expect(posts()).toHaveLength(1)
    expect(resultsInShort()).toEqual([['FAILED', 'unbound', 1]])
  })

  test('and no webhook is left when the function is deleted', async () => {
    answers(500)
    await fixture.callWebhook(1)
    await fixture.advance()
    await fixture.askTenant({ type: 'delete_function', id: 'F' })
    await fixture.advance(minute)
    expect(posts()).toHaveLength(1)
    expect(results()).toEqual([])
    await expectIdle()
  })
})

test('above the limit, the oldest webhook of the tenant is dropped and counted', async () => {
  fixture.receivers.onPost = () => 503
  await fixture.putWebhook('https://b.example', 'G')
  for (let value = 1; value <= 6; value++) await fixture.callWebhook(value)
  for (let value = 7; value <= 13; value++) await fixture.callWebhook(value, 'G')
  await fixture.advance(second)
  expect(results()).toMatchObject([{ status: 'DROPPED', result: 'overflow', attempts: 1, count: 3 }])
  expect([...fixture.delivery().webhooks.values()].map(({ value }) => value)).toEqual([4, 5, 6])
  expect(fixture.delivery('G').webhooks.size).toBe(7)
  expect(fixture.webhooks.ended.DROPPED).toBe(3)
  expect(fixture.webhooks.waitingCount).toBe(10)
})

test('webhooks above the rate are stored once a second, and stay in the list while others end', async () => {
  const dropped = async (count: number) => {
    fixture.views.overflows.add('default', 'F', count, 'hook')
    await fixture.advance(second)
  }
  await dropped(5)
  await dropped(2)
  await fixture.advance(minute)
  await dropped(40)
  for (let value = 0; value < 110; value++) {
    await fixture.callWebhook(value)
    await fixture.advance(second)
  }
  const { webhooks, results: ended } = fixture.delivery()
  expect(ended.size).toBe(100)
  const listed = deliveriesOf(webhooks.values(), ended.values())
  expect(listed.map(({ status, count }) => [status, count])).toEqual([
    ...Array.from({ length: 99 }, () => ['DELIVERED', undefined]),
    ['DROPPED', 40],
  ])
  expect(listed.at(-1)).toMatchObject({ node: 'hook', reason: 'rate', attempts: 0 })
})

test('a receiver that hangs delays no other one', async () => {
  await fixture.putWebhook('https://b.example/hook', 'G')
  const release = hold((url) => url.startsWith('https://a.'))
  for (let value = 1; value <= 5; value++) await fixture.callWebhook(value)
  await fixture.advance()
  expect(valuesOf()).toEqual([1])
  await fixture.callWebhook(6, 'G')
  await fixture.advance()
  expect(valuesOf(1)).toEqual([6])
  release()
  fixture.receivers.onPost = () => 204
  await fixture.advance()
  expect(valuesOf(2)).toEqual([2, 3, 4, 5])
  await expectIdle()
})

test('a function that is deleted during an attempt does not delay others with the same receiver', async () => {
  await fixture.putWebhook(undefined, 'G')
  const release = hold()
  await fixture.callWebhook(1)
  await fixture.advance()
  await fixture.callWebhook(2, 'G')
  await fixture.askTenant({ type: 'delete_function', id: 'F' })
  fixture.receivers.onPost = () => 204
  release()
  await fixture.advance()
  expect(valuesOf()).toEqual([1, 2])
  await expectIdle()
})

test('a stop waits for answers, and what is not answered is sent again after a start', async () => {
  const release = hold()
  await fixture.callWebhook(1)
  await fixture.advance()
  fixture.webhooks.stop()
  const settled = fixture.webhooks.whenStored(10 * second)
  await fixture.callWebhook(2)
  release()
  await fixture.advance()
  await settled
  expect(resultsInShort()).toEqual([['DELIVERED', 204, 1]])
  fixture.receivers.onPost = () => 204
  fixture = await fixture.restart()
  await fixture.advance()
  expect(valuesOf()).toEqual([1, 2])
})

test('stored webhooks are found in slices, and the start does not wait for them', async () => {
  fixture.receivers.onPost = () => 503
  const functions = ['E', 'D', 'C', 'B']
  for (const fn of functions) {
    await fixture.putWebhook(undefined, fn)
    await fixture.callWebhook(1, fn)
  }
  await fixture.advance(second)
  const { registry } = fixture.runtime.system
  const wake = registry.wake.bind(registry)
  let wokenInSlice = 0
  registry.wake = (address) => {
    if (address.kind === 'delivery') wokenInSlice++
    fixture.world.spend(2)
    return wake(address)
  }
  let longest = 0
  fixture.webhooks.reloaded()
  expect(fixture.webhooks.waitingCount).toBe(0)
  while (fixture.webhooks.waitingCount < functions.length) {
    wokenInSlice = 0
    fixture.world.step()
    await new Promise((resolve) => setImmediate(resolve))
    longest = Math.max(longest, wokenInSlice)
  }
  expect(longest).toBe(1)
})
