import { afterEach, describe, expect, test } from 'vitest'
import { deliveryAddress } from '#actors/delivery/delivery'
import { MailRefused } from '#notifications/mail'
import { DeliveryFixture, requestOf } from '#test/notifications/delivery-fixture'

const minute = 60_000
const hour = 60 * minute

const nothingSent = { ok: 0, recipient: 0, message: 0, later: 0, transport: 0 }

let fixture: DeliveryFixture
afterEach(() => fixture.close())

async function open(names: readonly string[] = ['ann'], mailsPerHourMax = 60): Promise<void> {
  fixture = await DeliveryFixture.openSubscribed(names, mailsPerHourMax)
}

describe('a request becomes', () => {
  test('one mail to each subscriber, with the link to unsubscribe', async () => {
    await open(['ann', 'ben'])
    await fixture.addDevice('A', { site: 'north' })
    await fixture.putTemplate({
      locales: {
        en: { subject: '{{function}}: {{value}}', text: '{{meta.site}}' },
        de: { subject: '{{value}} ist es', text: 'Jetzt.' },
      },
    })
    await fixture.subscribe('cat', 'F', { locale: 'de-CH' })
    const date = fixture.world.now()
    await fixture.request(31)
    await fixture.expectIdle()
    expect([...fixture.subjects].sort()).toEqual([
      'ann@example.com: Told: 31',
      'ben@example.com: Told: 31',
      'cat@example.com: 31 ist es',
    ])
    expect(fixture.arrived.find(({ to }) => to === 'ann@example.com')).toEqual({
      id: expect.stringMatching(/^[0-9a-f]{32}@iot\.example$/),
      date,
      from: 'Devices <devices@iot.example>',
      to: 'ann@example.com',
      subject: 'Told: 31',
      text: 'north',
      listId: 'F.iot.example',
      unsubscribe: { url: 'https://iot.example/default/ann/ann-F', isOneClick: true },
    })
    expect(new Set(fixture.arrived.map(({ id }) => id)).size).toBe(3)
    expect(fixture.tally).toEqual({ sent: 3, digests: 0, digested: 0, failures: {} })
  })

  test('no mail to users who subscribed later, to another function, or have unsubscribed', async () => {
    await open(['ann', 'ben', 'cat'])
    await fixture.putFunction('G')
    await fixture.subscribe('dan', 'G')
    await fixture.unsubscribe('ben')
    await fixture.request(1)
    await fixture.subscribe('eve')
    await fixture.expectIdle()
    expect([...fixture.subjects].sort()).toEqual(['ann@example.com: It is 1', 'cat@example.com: It is 1'])
  })

  test('no mail, and is not stored, without subscribers', async () => {
    await open([])
    await fixture.request(1)
    await fixture.expectIdle()
    expect(fixture.arrived).toEqual([])
    expect(fixture.delivery().head.trimmed).toBe(1)
  })

  test('a mail only for subscriptions with their row in the index', async () => {
    await open(['ann', 'ben'])
    const { system, journal } = fixture.runtime
    system.gate.put(journal.indexKey('default', 'topic', 'F/zoe/zoe-F'), Uint8Array.of(1))
    system.gate.put(journal.indexKey('default', 'topic', 'F/ben/ben-F'), null)
    await fixture.request(1)
    await fixture.expectIdle()
    expect(fixture.subjects).toEqual(['ann@example.com: It is 1'])
  })

  test('mails in the order of the requests, one at a time', async () => {
    await open()
    await fixture.putFunction('G')
    await fixture.subscribe('ann', 'G')
    let underWay = 0
    fixture.onSend = async () => {
      expect(++underWay).toBe(1)
      await new Promise<void>((resolve) => fixture.world.after(50, resolve))
      underWay--
    }
    for (const [value, fn] of [
      [1, 'F'],
      [2, 'G'],
      [3, 'F'],
      [4, 'G'],
    ] as const) {
      await fixture.request(value, fn)
      await fixture.world.advance(10)
    }
    await fixture.advance()
    expect(fixture.subjects.map((subject) => subject.at(-1))).toEqual(['1', '2', '3', '4'])
  })
})

describe('within an hour', () => {
  test('single mails up to the limit, then one digest, which counts for the next hour', async () => {
    await open(['ann'], 3)
    for (let value = 1; value <= 10; value++) await fixture.request(value)
    await fixture.advance()
    expect(fixture.subjects.map((subject) => subject.at(-1))).toEqual(['1', '2', '3'])
    expect(fixture.deliveries.backlogOf('default')).toEqual({ requests: 7, subscribers: 1 })
    await fixture.advance(hour)
    expect(fixture.subjects.slice(3)).toEqual(['ann@example.com: 7 notifications'])
    for (let value = 11; value <= 20; value++) await fixture.request(value)
    await fixture.advance()
    expect(fixture.subjects.slice(4).map((subject) => subject.at(-1))).toEqual(['1', '2'])
    await fixture.advance(hour)
    expect(fixture.subjects.slice(6)).toEqual(['ann@example.com: 8 notifications'])
    await fixture.expectIdle()
    expect(fixture.tally).toMatchObject({ sent: 5, digests: 2, digested: 15 })
  })

  test('a digest lists the subjects by function in order, with the number of omitted ones and no unsubscribe link', async () => {
    await open(['ann'], 1)
    await fixture.putFunction('G', { name: 'Another' })
    await fixture.subscribe('ann', 'G')
    await fixture.request(0)
    await fixture.advance()
    const at = new Date(fixture.world.now()).toISOString()
    for (let value = 1; value <= 3; value++) await fixture.request(value)
    await fixture.request(7, 'G')
    await fixture.ask(deliveryAddress('default', 'G'), { type: 'overflowed', count: 41 })
    await fixture.advance(hour)
    const digest = fixture.arrived[1]
    expect(digest).toMatchObject({ to: 'ann@example.com', subject: '45 notifications' })
    expect(digest?.unsubscribe).toBeUndefined()
    expect(digest?.text.split('\n')).toEqual([
      'Another',
      `  ${at} It is 7`,
      '  and 41 more',
      '',
      'Told',
      `  ${at} It is 1`,
      `  ${at} It is 2`,
      `  ${at} It is 3`,
      '',
      'You get this mail because you subscribed at https://iot.example, where you can unsubscribe.',
      '',
    ])
    await fixture.expectIdle()
  })

  test('unsubscribing drops pending requests', async () => {
    await open(['ann'], 1)
    await fixture.request(1)
    await fixture.request(2)
    await fixture.advance()
    expect(fixture.deliveries.backlogOf('default')).toEqual({ requests: 1, subscribers: 1 })
    await fixture.unsubscribe('ann')
    await fixture.advance()
    expect(fixture.deliveries.backlogOf('default')).toEqual({ requests: 0, subscribers: 0 })
    await fixture.advance(hour)
    expect(fixture.subjects).toEqual(['ann@example.com: It is 1'])
  })

  test('a digest neither contains nor counts requests that the user may not receive', async () => {
    await open(['ann'], 1)
    await fixture.putFunction('G', { binding: { devices: ['A', 'B'] } })
    await fixture.subscribe('ann', 'G')
    await fixture.request(0)
    await fixture.advance()
    await fixture.request(1)
    for (const device of ['A', 'B', 'A', 'B', 'A']) await fixture.request(2, 'G', 'default', device)
    await fixture.ask(deliveryAddress('default', 'G'), { type: 'overflowed', count: 9 })
    await fixture.putFunction('G', { binding: { devices: ['A'] } })
    await fixture.advance(hour)
    expect(fixture.subjects[1]).toBe('ann@example.com: 13 notifications')
    expect(fixture.failures).toEqual({ unbound: 2 })
    await fixture.request(3, 'G')
    await fixture.request(3, 'G')
    await fixture.ask(deliveryAddress('default', 'G'), { type: 'overflowed', count: 9 })
    await fixture.request(4)
    await fixture.request(5)
    await fixture.putFunction('G', { enabled: false })
    await fixture.advance(hour + minute)
    expect(fixture.subjects.slice(2)).toEqual(['ann@example.com: 2 notifications'])
    expect(fixture.failures).toEqual({ unbound: 4 })
    await fixture.expectIdle()
  })

  test('requests that were only counted are in the digest after the hour, also after a restart', async () => {
    await open(['ann'], 60)
    await fixture.request(1)
    await fixture.ask(deliveryAddress('default', 'F'), { type: 'overflowed', count: 5 })
    await fixture.request(2)
    await fixture.advance()
    expect(fixture.subjects).toHaveLength(2)
    expect(await fixture.entries('delivering')).toEqual(['F'])
    fixture = await fixture.restart()
    await fixture.advance(hour)
    expect(fixture.subjects.slice(2)).toEqual(['ann@example.com: 5 notifications'])
    await fixture.expectIdle()
  })
})

describe('a mail that is refused', () => {
  const refuse =
    (kind: MailRefused['kind'], code = '550') =>
    () =>
      Promise.reject(new MailRefused(kind, code))

  test.each(['recipient', 'message'] as const)('permanently (%s) is skipped and counted', async (kind) => {
    await open(['ann', 'ben'])
    fixture.onSend = ({ to }) => (to === 'ann@example.com' ? refuse(kind)() : undefined)
    await fixture.request(1)
    await fixture.expectIdle()
    expect(fixture.subjects).toEqual(['ben@example.com: It is 1'])
    expect(fixture.failures).toEqual({ rejected: 1 })
    const { sent, passed } = fixture.deliveries
    expect([sent, passed.rejected]).toEqual([{ ...nothingSent, ok: 1, [kind]: 1 }, 1])
  })

  test('three times in a row suspends the address for a day, or until it changes', async () => {
    await open()
    fixture.onSend = refuse('recipient')
    for (let value = 1; value <= 5; value++) await fixture.request(value)
    await fixture.expectIdle()
    expect(fixture.failures).toEqual({ rejected: 3, resting: 2 })
    fixture.onSend = () => {}
    fixture.setRecipient('ann', { address: 'ann@other.example' })
    await fixture.request(6)
    await fixture.advance()
    expect(fixture.subjects).toEqual(['ann@other.example: It is 6'])
    fixture.setRecipient('ann', { address: 'ann@example.com' })
    await fixture.request(7)
    await fixture.advance()
    expect(fixture.subjects).toHaveLength(2)
  })

  test('is tried once after the suspension', async () => {
    await open()
    fixture.onSend = refuse('recipient')
    for (let value = 1; value <= 3; value++) await fixture.request(value)
    await fixture.advance(24 * hour)
    for (let value = 4; value <= 5; value++) await fixture.request(value)
    await fixture.expectIdle()
    expect(fixture.failures).toEqual({ rejected: 4, resting: 1 })
  })

  test('temporarily is retried with growing delays until it expires; later mails of the user wait', async () => {
    await open()
    const tried: number[] = []
    const from = fixture.world.now()
    fixture.onSend = () => {
      tried.push(fixture.world.now() - from)
      throw new MailRefused('later', '450')
    }
    await fixture.request(1)
    await fixture.advance(12 * hour)
    await fixture.request(2)
    await fixture.advance(11 * hour)
    const waits = tried.slice(1).map((at, index) => at - (tried[index] ?? 0))
    for (const [index, waitMs] of waits.entries()) {
      const middle = Math.min(minute * 2 ** index, hour)
      expect(waitMs).toBeGreaterThanOrEqual(0.8 * middle)
      expect(waitMs).toBeLessThanOrEqual(1.2 * middle + 1_000)
    }
    await fixture.advance(3 * hour)
    expect(fixture.failures).toEqual({ expired: 1 })
    fixture.onSend = () => {}
    await fixture.advance(2 * hour)
    expect(fixture.subjects).toEqual(['ann@example.com: It is 2'])
    await fixture.expectIdle()
  })

  test('is retried by the next process at the planned time', async () => {
    await open()
    fixture.onSend = refuse('later')
    await fixture.request(1)
    await fixture.advance(100 * minute)
    const { retry } = fixture.subscriber('ann').mail
    fixture = await fixture.restart()
    const tried: number[] = []
    fixture.onSend = () => void tried.push(fixture.world.now())
    await fixture.advance(2 * hour)
    expect(tried).toHaveLength(1)
    expect(Math.abs((tried[0] ?? 0) - (retry?.nextAt ?? 0))).toBeLessThanOrEqual(1)
  })

  test('by an unreachable server stays pending; one mail is tried at a time, and logged once', async () => {
    await open(['ann', 'ben', 'cat'])
    let tries = 0
    fixture.onSend = () => {
      tries++
      throw new MailRefused('transport', 'ECONNREFUSED')
    }
    await fixture.request(1)
    await fixture.advance(hour)
    expect(tries).toBeLessThan(30)
    // The log would redact other names of this field.
    expect(fixture.warnings).toEqual(['mail delivery fails; retrying less often: {"lastError":"ECONNREFUSED"}'])
    expect(fixture.deliveries.transport).toEqual({ state: 'resting', lastError: 'ECONNREFUSED' })
    expect(fixture.deliveries.backlogOf('default')).toEqual({ requests: 1, subscribers: 3 })
    expect([fixture.deliveries.sent, fixture.deliveries.waitingCount]).toEqual([
      { ...nothingSent, transport: tries },
      3,
    ])
    fixture.onSend = () => {}
    await fixture.advance(10 * minute)
    expect(fixture.subjects).toHaveLength(3)
    expect([fixture.deliveries.sent.ok, fixture.deliveries.waitingCount]).toEqual([3, 0])
    expect(fixture.deliveries.transport).toEqual({ state: 'ok' })
    expect(fixture.failures).toEqual({})
    await fixture.expectIdle()
  })

  test('by a bug is logged and retried', async () => {
    await open()
    fixture.onSend = () => Promise.reject(new Error('a bug'))
    await fixture.request(1)
    await fixture.advance()
    expect(fixture.warnings).toHaveLength(1)
    fixture.onSend = () => {}
    await fixture.advance(5 * minute)
    expect(fixture.subjects).toEqual(['ann@example.com: It is 1'])
  })
})

describe('a failing store', () => {
  test('a sent mail is stored when writes work again, and not sent twice', async () => {
    await open()
    const release = fixture.holdMail()
    await fixture.request(1)
    await fixture.advance()
    // The next write would store that the mail was sent.
    fixture.faults.next = { fail: 'full', reachedDisk: false }
    release()
    await fixture.advance(60_000)
    expect(fixture.runtime.log.filter((line) => line.startsWith('failed'))).toHaveLength(1)
    expect(fixture.subjects).toEqual(['ann@example.com: It is 1'])
    expect(fixture.tally.sent).toBe(1)
    await fixture.expectIdle()
  })

  test('a request whose commit failed sends no mail', async () => {
    await open()
    fixture.faults.next = { fail: 'full', reachedDisk: false }
    fixture.requestSoon(1)
    await fixture.advance(60_000)
    expect(fixture.arrived).toEqual([])
    await fixture.request(2)
    await fixture.expectIdle()
    expect(fixture.subjects).toEqual(['ann@example.com: It is 2'])
  })
})

test('stopping waits for mails in flight, but not forever, and starts no others', async () => {
  await open(['ann', 'ben'])
  const release = fixture.holdMail()
  await fixture.request(1)
  await fixture.world.advance(10)
  const held = fixture.deliveries.backlogOf('default').subscribers
  expect(held).toBe(2)
  fixture.deliveries.stop()
  let [isSettled, isGivenUp] = [false, false]
  void fixture.deliveries.whenSent(5_000).then(() => {
    isSettled = true
  })
  void fixture.deliveries.whenSent(500).then(() => {
    isGivenUp = true
  })
  await fixture.world.advance(1_000)
  expect([isSettled, isGivenUp]).toEqual([false, true])
  const before = fixture.arrived.length
  release()
  await fixture.world.advance(5_000)
  expect(isSettled).toBe(true)
  expect(fixture.arrived.length).toBe(before + 1)
  expect(fixture.tally.sent).toBe(1)
  await fixture.ask(deliveryAddress('default', 'F'), requestOf(fixture.world.now(), 2))
  await fixture.advance()
  expect(fixture.arrived.length).toBe(before + 1)
})

test('subscribers of a function are counted, also after a restart', async () => {
  await open(['ann', 'ben', 'cat'])
  await fixture.unsubscribe('ben')
  expect([fixture.deliveries.countOf('default', 'F'), fixture.deliveries.countOf('default', 'G')]).toEqual([2, 0])
  fixture = await fixture.restart()
  expect(fixture.deliveries.countOf('default', 'F')).toBe(2)
  await fixture.unsubscribe('ann')
  expect(fixture.deliveries.countOf('default', 'F')).toBe(1)
})
