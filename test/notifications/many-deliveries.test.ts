import { afterEach, describe, expect, test } from 'vitest'
import { DeliveryFixture } from '#test/notifications/delivery-fixture'

const hour = 3_600_000

let fixture: DeliveryFixture
afterEach(() => fixture.close())

async function open(names: readonly string[], mailsPerHourMax = 60): Promise<void> {
  fixture = await DeliveryFixture.openSubscribed(names, mailsPerHourMax)
}

describe('many requests', () => {
  test('visit each subscriber about once a second', async () => {
    const names = Array.from({ length: 300 }, (_, index) => `u${index}`)
    await open(names, 2)
    let visits = 0
    const { registry } = fixture.runtime.system
    const peek = registry.peek.bind(registry)
    registry.peek = (address) => {
      if (address.kind === 'subscriber' && address.id === 'u0') visits++
      return peek(address)
    }
    for (let second = 0; second < 5; second++) {
      for (let value = 0; value < 10; value++) await fixture.request(value)
      await fixture.advance(1_000)
    }
    // Two mails are sent, and then the subscriber waits.
    expect(visits).toBeLessThan(20)
    await fixture.advance(20_000)
    expect(fixture.arrived.length).toBe(600)
    expect(new Set(fixture.arrived.map(({ id }) => id)).size).toBe(600)
  })

  test('send at most a hundred mails a second', async () => {
    await open(Array.from({ length: 300 }, (_, index) => `u${index}`))
    await fixture.request(1)
    await fixture.advance(1_000)
    expect(fixture.arrived.length).toBeLessThanOrEqual(110)
    expect(fixture.arrived.length).toBeGreaterThan(50)
    await fixture.advance(3_000)
    expect(fixture.arrived.length).toBe(300)
  })

  test.each([
    { where: 'ten mails a second while the loop is busy', share: 0.5, most: 21, least: 11 },
    { where: 'four mails a second while the loop is overloaded', share: 0.9, most: 9, least: 5 },
  ])('send at most $where', async ({ share, most, least }) => {
    await open(Array.from({ length: 60 }, (_, index) => `u${index}`))
    fixture.world.busyShare = share
    await fixture.request(1)
    await fixture.advance(2_000)
    expect(fixture.arrived.length).toBeLessThanOrEqual(most)
    expect(fixture.arrived.length).toBeGreaterThanOrEqual(least)
    fixture.world.busyShare = 0.1
    // Mails that are already scheduled go first.
    await fixture.advance(30_000)
    expect(fixture.arrived.length).toBe(60)
  })

  test('send each of many mails once under a high limit', async () => {
    await open(['ann'], 100_000)
    for (let value = 0; value < 300; value++) fixture.requestSoon(value)
    await fixture.advance(10_000)
    expect(new Set(fixture.subjects).size).toBe(300)
    expect(fixture.subjects).toHaveLength(300)
    await fixture.expectIdle()
  })

  test('above the stored maximum are only counted', async () => {
    await open(['ann'], 1)
    for (let value = 0; value < 1_000; value++) fixture.requestSoon(value)
    await fixture.world.settle()
    expect(fixture.delivery().requests.size).toBe(256)
    for (let count = 0; count < 100_000; count++) fixture.views.overflows.add('default', 'F', 1)
    const commits = fixture.runtime.commits.length
    await fixture.advance(1_000)
    expect(fixture.runtime.commits.length - commits).toBeLessThan(20)
    expect(fixture.delivery().head.seq).toBe(101_000)
    await fixture.advance(2 * hour)
    const { sent, digested } = fixture.tally
    expect(sent + digested).toBe(101_000)
    await fixture.expectIdle()
  })
})
