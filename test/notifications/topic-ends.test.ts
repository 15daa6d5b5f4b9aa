import { afterEach, describe, expect, test } from 'vitest'
import { told } from '#test/actors/acting-tenant'
import { DeliveryStage } from '#test/notifications/delivery-stage'

let room: DeliveryStage
afterEach(async () => {
  expect(room.stage.bugs).toEqual([])
  await room.close()
})

const names = Array.from({ length: 7 }, (_, index) => `u${index}`)

async function open(): Promise<void> {
  room = await DeliveryStage.open()
  await room.putTemplate()
  for (const fn of ['F', 'G']) {
    await room.putFunction(fn)
    for (const name of names) await room.subscribe(name, fn)
  }
}

/** `<user> <subscription>` of those that were said to have ended. */
function ended(): string[] {
  return room.stage.events
    .flatMap(({ event }) => (event.kind === 'unsubscribed' ? [`${event.user} ${event.subscription}`] : []))
    .sort()
}

const allOfF = names.map((name) => `crn#user:${name} ${name}-F`)

async function expectEnded(): Promise<void> {
  await room.pass(10_000)
  expect(await room.entries('topic')).toEqual(names.map((name) => `G/${name}/${name}-G`))
  expect(await room.entries('ending')).toEqual([])
  for (const name of names) {
    expect(room.subscriber(name).subscriptions.map(({ id }) => id)).toEqual([`${name}-G`])
  }
  expect(room.deliveries.countOf('default', 'F')).toBe(0)
}

describe('with a function end', () => {
  test('all subscriptions to it, each said to whose it is, and no others', async () => {
    await open()
    await room.tell({ type: 'delete_function', id: 'F' })
    await expectEnded()
    expect(ended()).toEqual(allOfF)
  })

  test('also those to one that ended at the same time, and of many requests that wait nothing is left', async () => {
    await open()
    for (let value = 0; value < 3; value++) room.requestSoon(value, 'G')
    const both = ['F', 'G'].map((id) => room.tell({ type: 'delete_function', id }))
    await Promise.all(both)
    await room.pass(10_000)
    expect(await room.entries('topic')).toEqual([])
    expect(await room.entries('ending')).toEqual([])
    expect(await room.entries('delivering')).toEqual([])
    expect(ended()).toHaveLength(14)
  })

  test('killed at each step, the next process ends what is left, and each is said once', async () => {
    for (let count = 0; count < 40; count += 3) {
      await open()
      void room.stage.system.ask(
        { kind: 'tenant', tenant: 'default', id: 'default' },
        { type: 'delete_function', id: 'F' },
      )
      for (let step = 0; step < count; step++) {
        room.world.step()
        await new Promise((told) => setImmediate(told))
      }
      const before = ended()
      room = await room.restart()
      await room.pass(10_000)
      const isDeleted = room.views.storedOf('default', 'F') === undefined
      if (isDeleted) {
        await expectEnded()
        // What died before anybody heard of it is in the stream, and is not said twice.
        expect(new Set([...before, ...ended()]).size).toBe(before.length + ended().length)
      } else expect([before, ended()]).toEqual([[], []])
    }
  })

  test('it is remembered until the last of many has ended', async () => {
    room = await DeliveryStage.open()
    await room.putFunction('F')
    const many = Array.from({ length: 100 }, (_, index) => `u${index}`)
    await Promise.all(many.map((name) => room.subscribe(name)))
    const row = room.stage.journal.indexKey('default', 'ending', 'F')
    const left: number[] = []
    const { journal } = room.stage
    const write = journal.write.bind(journal)
    journal.write = (commit) => {
      if (commit.records.get(row) === null) left.push(many.length - ended().length)
      return write(commit)
    }
    await room.tell({ type: 'delete_function', id: 'F' })
    await room.pass(10_000)
    expect(left).toEqual([0])
    expect(await room.entries('ending')).toEqual([])
  })

  test('a failed write is tried again', async () => {
    await open()
    await room.tell({ type: 'put_function', id: 'H', isNew: true, body: told, author: 'crn#user:u0' })
    await room.subscribe('u0', 'H')
    await room.tell({ type: 'delete_function', id: 'H' })
    room.faults.next = { fail: 'full', reachedDisk: false }
    void room.tell({ type: 'delete_function', id: 'F' }).catch(() => {})
    await room.pass(60_000)
    if (room.views.storedOf('default', 'F')) await room.tell({ type: 'delete_function', id: 'F' })
    await expectEnded()
  })
})
