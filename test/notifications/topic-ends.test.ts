import { afterEach, describe, expect, test } from 'vitest'
import { mailFunction } from '#test/actors/acting-tenant'
import { DeliveryFixture } from '#test/notifications/delivery-fixture'

let fixture: DeliveryFixture
afterEach(() => fixture.close())

const names = Array.from({ length: 7 }, (_, index) => `u${index}`)

async function open(): Promise<void> {
  fixture = await DeliveryFixture.open()
  await fixture.putTemplate()
  for (const fn of ['F', 'G']) {
    await fixture.putFunction(fn)
    for (const name of names) await fixture.subscribe(name, fn)
  }
}

/** `<user> <subscription>` of each `unsubscribed` event. */
function ended(): string[] {
  return fixture.runtime.events
    .flatMap(({ event }) => (event.kind === 'unsubscribed' ? [`${event.user} ${event.subscription}`] : []))
    .sort()
}

const allOfF = names.map((name) => `crn#user:${name} ${name}-F`)

async function expectEnded(): Promise<void> {
  await fixture.advance(10_000)
  expect(await fixture.entries('topic')).toEqual(names.map((name) => `G/${name}/${name}-G`))
  expect(await fixture.entries('ending')).toEqual([])
  for (const name of names) {
    expect(fixture.subscriber(name).subscriptions.map(({ id }) => id)).toEqual([`${name}-G`])
  }
  expect(fixture.deliveries.countOf('default', 'F')).toBe(0)
}

describe('deleting a function', () => {
  test('ends all its subscriptions with an event each, and no others', async () => {
    await open()
    await fixture.askTenant({ type: 'delete_function', id: 'F' })
    await expectEnded()
    expect(ended()).toEqual(allOfF)
  })

  test('ends the subscriptions of two functions deleted at the same time, and drops pending requests', async () => {
    await open()
    for (let value = 0; value < 3; value++) fixture.requestSoon(value, 'G')
    const both = ['F', 'G'].map((id) => fixture.askTenant({ type: 'delete_function', id }))
    await Promise.all(both)
    await fixture.advance(10_000)
    expect(await fixture.entries('topic')).toEqual([])
    expect(await fixture.entries('ending')).toEqual([])
    expect(await fixture.entries('delivering')).toEqual([])
    expect(ended()).toHaveLength(14)
  })

  test('is stored until the last of many subscriptions has ended', async () => {
    fixture = await DeliveryFixture.open()
    await fixture.putFunction('F')
    const many = Array.from({ length: 100 }, (_, index) => `u${index}`)
    await Promise.all(many.map((name) => fixture.subscribe(name)))
    const row = fixture.runtime.journal.indexKey('default', 'ending', 'F')
    const left: number[] = []
    const { journal } = fixture.runtime
    const write = journal.write.bind(journal)
    journal.write = (commit) => {
      if (commit.records.get(row) === null) left.push(many.length - ended().length)
      return write(commit)
    }
    await fixture.askTenant({ type: 'delete_function', id: 'F' })
    await fixture.advance(10_000)
    expect(left).toEqual([0])
    expect(await fixture.entries('ending')).toEqual([])
  })

  test('is retried after a failed write', async () => {
    await open()
    await fixture.askTenant({ type: 'put_function', id: 'H', isNew: true, body: mailFunction, author: 'crn#user:u0' })
    await fixture.subscribe('u0', 'H')
    await fixture.askTenant({ type: 'delete_function', id: 'H' })
    fixture.faults.next = { fail: 'full', reachedDisk: false }
    void fixture.askTenant({ type: 'delete_function', id: 'F' }).catch(() => {})
    await fixture.advance(60_000)
    if (fixture.views.storedOf('default', 'F')) await fixture.askTenant({ type: 'delete_function', id: 'F' })
    await expectEnded()
  })
})
