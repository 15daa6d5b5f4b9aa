import { describe, expect, test } from 'vitest'
import { DeliveryStage } from '#test/notifications/delivery-stage'

/**
 * Two requests to three people, and a process that dies at one moment of it: before a mail is taken, while it is, behind
 * that. The one after it goes on.
 */

const names = ['ann', 'ben', 'cat']

/** Runs so many tasks and timers, and what each leads to at once; false when nothing was left before. */
async function steps(room: DeliveryStage, count: number): Promise<boolean> {
  const { world } = room
  const until = world.monotonic() + 3_000
  for (let done = 0; done < count; done++) {
    await new Promise((told) => setImmediate(told))
    if (world.step()) continue
    const waitMs = world.nextTimerMs
    if (waitMs === undefined || world.monotonic() + waitMs > until) return false
    world.spend(waitMs)
    world.fire()
  }
  await new Promise((told) => setImmediate(told))
  return true
}

/** Taken some moments after it was handed over, and answered some later. */
function slowly(room: DeliveryStage): () => Promise<void> {
  const moment = () => new Promise<void>((resolve) => room.world.soon(resolve))
  return async () => {
    await moment()
    await moment()
  }
}

/** A mail that arrives and of which nobody hears for some moments. */
function arriving(room: DeliveryStage): void {
  const before = slowly(room)
  const send = room.mail.send.bind(room.mail)
  room.mail.send = async (message) => {
    await before()
    await send(message)
    await before()
  }
}

async function opened(): Promise<DeliveryStage> {
  const room = await DeliveryStage.open()
  await room.putTemplate()
  await room.putFunction()
  for (const name of names) await room.subscribe(name)
  arriving(room)
  return room
}

function timesOf(room: DeliveryStage): number[] {
  const times = new Map<string, number>()
  for (const { id } of room.arrived) times.set(id, (times.get(id) ?? 0) + 1)
  return [...times.values()]
}

async function expectRest(room: DeliveryStage): Promise<void> {
  await room.pass(10_000)
  expect([...room.delivery().requests]).toEqual([])
  expect(await room.entries('delivering')).toEqual([])
  expect(room.stage.bugs).toEqual([])
}

describe.each([0, 1])('killed at each step, with %i of the writes in flight on the disk', (writesKept) => {
  test('each mail arrives, at most once more than once, and that for one of each at most', async () => {
    let kills = 0
    let repeated = 0
    for (let count = 0; ; count++) {
      const first = await opened()
      first.requestSoon(1)
      first.requestSoon(2)
      const isRunning = await steps(first, count)
      // Of what was not stored nobody has to hear.
      const room = await first.restart(writesKept)
      await room.pass(10_000)
      const requests = room.delivery().head.seq
      const subjects = new Set(room.subjects)
      for (const name of names) {
        for (let value = 1; value <= requests; value++)
          expect(subjects).toContain(`${name}@example.com: It is ${value}`)
      }
      const times = timesOf(room)
      expect(times).toHaveLength(requests * names.length)
      expect(Math.max(...times)).toBeLessThanOrEqual(2)
      expect(times.filter((each) => each === 2).length).toBeLessThanOrEqual(names.length)
      repeated += times.filter((each) => each === 2).length
      await expectRest(room)
      kills++
      await room.close()
      if (!isRunning) break
    }
    // The kills fell into the flight of mails too.
    expect(kills).toBeGreaterThan(20)
    expect(repeated).toBeGreaterThan(0)
  })
})

test('killed again and again in the flight of the same mail, it arrives once for each', async () => {
  let room = await opened()
  room.mail.send = async () => {
    await new Promise(() => {})
  }
  await room.request(1)
  for (let kills = 0; kills < 3; kills++) {
    await room.pass()
    room = await room.restart()
    arriving(room)
    const send = room.mail.send
    // It arrives, and nobody hears of it.
    room.mail.send = async (message) => {
      await send(message)
      await new Promise(() => {})
    }
  }
  room = await room.restart()
  await expectRest(room)
  for (const count of timesOf(room)) expect(count).toBeLessThanOrEqual(4)
  expect(timesOf(room)).toHaveLength(3)
  await room.close()
})

test('killed behind a digest before that is stored, the same one is sent once more', async () => {
  let room = await DeliveryStage.open(1)
  await room.putTemplate()
  await room.putFunction()
  await room.subscribe('ann')
  for (let value = 1; value <= 5; value++) await room.request(value)
  const send = room.mail.send.bind(room.mail)
  room.mail.send = async (message) => {
    await send(message)
    await new Promise(() => {})
  }
  await room.pass(3_600_000 + 3_000)
  room = await room.restart()
  await expectRest(room)
  expect(room.subjects).toEqual([
    'ann@example.com: It is 1',
    'ann@example.com: 4 notifications',
    'ann@example.com: 4 notifications',
  ])
  expect(new Set(room.arrived.map(({ id }) => id)).size).toBe(2)
  expect(room.tally).toMatchObject({ sent: 1, digests: 1, digested: 4 })
  await room.close()
})

test('of failed writes, whenever they come, nobody loses a mail', async () => {
  for (let count = 0; count < 30; count++) {
    const room = await opened()
    await room.request(1)
    await steps(room, count)
    room.faults.next = { fail: 'full', reachedDisk: count % 2 === 0 }
    await room.pass(60_000)
    room.faults.next = undefined
    expect(new Set(room.subjects).size).toBe(3)
    // What was on its way is remembered over it.
    expect(room.arrived).toHaveLength(3)
    await expectRest(room)
    expect(room.tally.sent).toBe(3)
    await room.close()
  }
})
