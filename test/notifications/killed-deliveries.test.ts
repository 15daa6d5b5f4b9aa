import { describe, expect, test } from 'vitest'
import { DeliveryFixture } from '#test/notifications/delivery-fixture'

/** Two requests for three subscribers, and a process that is killed at each step of their delivery. */

const names = ['ann', 'ben', 'cat']

/** Runs up to `count` tasks and timers; false if fewer were left. */
async function runSteps(fixture: DeliveryFixture, count: number): Promise<boolean> {
  const { world } = fixture
  const until = world.monotonic() + 3_000
  for (let done = 0; done < count; done++) {
    await new Promise((resolve) => setImmediate(resolve))
    if (world.step()) continue
    const waitMs = world.nextTimerMs
    if (waitMs === undefined || world.monotonic() + waitMs > until) return false
    world.spend(waitMs)
    world.fire()
  }
  await new Promise((resolve) => setImmediate(resolve))
  return true
}

/** Delays each mail before it arrives, and its answer after that. */
function delayMails(fixture: DeliveryFixture): void {
  const turn = () => new Promise<void>((resolve) => fixture.world.soon(resolve))
  const send = fixture.mail.send.bind(fixture.mail)
  fixture.mail.send = async (message) => {
    await turn()
    await turn()
    await send(message)
    await turn()
    await turn()
  }
}

async function opened(): Promise<DeliveryFixture> {
  const fixture = await DeliveryFixture.openSubscribed(names)
  delayMails(fixture)
  return fixture
}

function timesOf(fixture: DeliveryFixture): number[] {
  const times = new Map<string, number>()
  for (const { id } of fixture.arrived) times.set(id, (times.get(id) ?? 0) + 1)
  return [...times.values()]
}

describe.each([0, 1])('killed at each step, with %i of the writes in flight on the disk', (writesKept) => {
  test('each mail arrives once or twice, and twice at most once for each subscriber', async () => {
    let kills = 0
    let repeated = 0
    for (let count = 0; ; count++) {
      const first = await opened()
      first.requestSoon(1)
      first.requestSoon(2)
      const isRunning = await runSteps(first, count)
      // A request that was not stored needs no mail.
      const fixture = await first.restart(writesKept)
      await fixture.advance(10_000)
      const requests = fixture.delivery().head.seq
      const subjects = new Set(fixture.subjects)
      for (const name of names) {
        for (let value = 1; value <= requests; value++)
          expect(subjects).toContain(`${name}@example.com: It is ${value}`)
      }
      const times = timesOf(fixture)
      expect(times).toHaveLength(requests * names.length)
      expect(Math.max(...times)).toBeLessThanOrEqual(2)
      expect(times.filter((each) => each === 2).length).toBeLessThanOrEqual(names.length)
      repeated += times.filter((each) => each === 2).length
      await fixture.expectIdle(10_000)
      kills++
      await fixture.close()
      if (!isRunning) break
    }
    // Some kills came while mails were in flight.
    expect(kills).toBeGreaterThan(20)
    expect(repeated).toBeGreaterThan(0)
  })
})

test('killed three times while the same mail is in flight, it arrives once for each process', async () => {
  let fixture = await opened()
  fixture.mail.send = async () => {
    await new Promise(() => {})
  }
  await fixture.request(1)
  for (let kills = 0; kills < 3; kills++) {
    await fixture.advance()
    fixture = await fixture.restart()
    delayMails(fixture)
    const send = fixture.mail.send
    // The mail arrives, but its answer does not.
    fixture.mail.send = async (message) => {
      await send(message)
      await new Promise(() => {})
    }
  }
  fixture = await fixture.restart()
  await fixture.expectIdle(10_000)
  for (const count of timesOf(fixture)) expect(count).toBeLessThanOrEqual(4)
  expect(timesOf(fixture)).toHaveLength(3)
  await fixture.close()
})

test('killed before a sent digest is stored, the same digest is sent again', async () => {
  let fixture = await DeliveryFixture.openSubscribed(['ann'], 1)
  for (let value = 1; value <= 5; value++) await fixture.request(value)
  const send = fixture.mail.send.bind(fixture.mail)
  fixture.mail.send = async (message) => {
    await send(message)
    await new Promise(() => {})
  }
  await fixture.advance(3_600_000 + 3_000)
  fixture = await fixture.restart()
  await fixture.expectIdle(10_000)
  expect(fixture.subjects).toEqual([
    'ann@example.com: It is 1',
    'ann@example.com: 4 notifications',
    'ann@example.com: 4 notifications',
  ])
  expect(new Set(fixture.arrived.map(({ id }) => id)).size).toBe(2)
  expect(fixture.tally).toMatchObject({ sent: 1, digests: 1, digested: 4 })
  await fixture.close()
})

test('failed writes at any step lose no mail', async () => {
  for (let count = 0; count < 30; count++) {
    const fixture = await opened()
    await fixture.request(1)
    await runSteps(fixture, count)
    fixture.faults.next = { fail: 'full', reachedDisk: count % 2 === 0 }
    await fixture.advance(60_000)
    fixture.faults.next = undefined
    expect(new Set(fixture.subjects).size).toBe(3)
    // Mails in flight are not sent twice.
    expect(fixture.arrived).toHaveLength(3)
    await fixture.expectIdle(10_000)
    expect(fixture.tally.sent).toBe(3)
    await fixture.close()
  }
})
