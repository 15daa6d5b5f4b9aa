import { afterEach, describe, expect, test } from 'vitest'
import { deliveryAddress } from '#actors/delivery/state'
import { MailRefused } from '#notifications/mail'
import { DeliveryStage, requestOf } from '#test/notifications/delivery-stage'

const minute = 60_000
const hour = 60 * minute

const nothingSent = { ok: 0, recipient: 0, message: 0, later: 0, transport: 0 }

let room: DeliveryStage
afterEach(async () => {
  expect(room.stage.bugs).toEqual([])
  await room.close()
})

async function open(names: readonly string[] = ['ann'], mailsPerHourMax = 60): Promise<void> {
  room = await DeliveryStage.open(mailsPerHourMax)
  await room.putTemplate()
  await room.putFunction()
  for (const name of names) await room.subscribe(name)
}

/** What is kept once everybody has heard of everything. */
async function expectRest(): Promise<void> {
  await room.pass()
  expect([...room.delivery().requests]).toEqual([])
  expect(await room.entries('delivering')).toEqual([])
  expect(room.deliveries.figuresOf('default')).toEqual({ requests: 0, subscribers: 0 })
}

describe('a request becomes', () => {
  test('one mail to each subscriber, by his address, with where it ends', async () => {
    await open(['ann', 'ben'])
    await room.addDevice('A', { site: 'north' })
    await room.putTemplate({
      locales: {
        en: { subject: '{{function}}: {{value}}', text: '{{meta.site}}' },
        de: { subject: '{{value}} ist es', text: 'Jetzt.' },
      },
    })
    await room.subscribe('cat', 'F', { locale: 'de-CH' })
    const date = room.world.now()
    await room.request(31)
    await expectRest()
    expect([...room.subjects].sort()).toEqual([
      'ann@example.com: Told: 31',
      'ben@example.com: Told: 31',
      'cat@example.com: 31 ist es',
    ])
    expect(room.arrived.find(({ to }) => to === 'ann@example.com')).toEqual({
      id: expect.stringMatching(/^[0-9a-f]{32}@iot\.example$/),
      date,
      from: 'Devices <devices@iot.example>',
      to: 'ann@example.com',
      subject: 'Told: 31',
      text: 'north',
      listId: 'F.iot.example',
      unsubscribe: { url: 'https://iot.example/default/ann/ann-F', isOneClick: true },
    })
    expect(new Set(room.arrived.map(({ id }) => id)).size).toBe(3)
    expect(room.tally).toEqual({ sent: 3, digests: 0, digested: 0, failures: {} })
  })

  test('nobody else’s: not of who subscribed later, to something else or no more', async () => {
    await open(['ann', 'ben', 'cat'])
    await room.putFunction('G')
    await room.subscribe('dan', 'G')
    await room.unsubscribe('ben')
    await room.request(1)
    await room.subscribe('eve')
    await expectRest()
    expect([...room.subjects].sort()).toEqual(['ann@example.com: It is 1', 'cat@example.com: It is 1'])
  })

  test('nothing, and is not kept, where nobody is subscribed', async () => {
    await open([])
    await room.request(1)
    await expectRest()
    expect(room.arrived).toEqual([])
    expect(room.delivery().head.trimmed).toBe(1)
  })

  test('nothing of a function that is no more, though a device found it a moment ago', async () => {
    await open()
    await room.tell({ type: 'delete_function', id: 'F' })
    await room.request(1)
    await room.pass()
    expect(room.arrived).toEqual([])
    expect(room.delivery().head.seq).toBe(0)
    expect(await room.entries('delivering')).toEqual([])
  })

  test('by the index: a row without its subscription is passed over, a subscription without its row hears nothing', async () => {
    await open(['ann', 'ben'])
    const { system, journal } = room.stage
    system.gate.put(journal.indexKey('default', 'topic', 'F/zoe/zoe-F'), Uint8Array.of(1))
    system.gate.put(journal.indexKey('default', 'topic', 'F/ben/ben-F'), null)
    await room.request(1)
    await expectRest()
    expect(room.subjects).toEqual(['ann@example.com: It is 1'])
  })

  test('mails in the order of what happened, one at a time', async () => {
    await open()
    await room.putFunction('G')
    await room.subscribe('ann', 'G')
    let underWay = 0
    room.answering = async () => {
      expect(++underWay).toBe(1)
      await new Promise<void>((resolve) => room.world.after(50, resolve))
      underWay--
    }
    for (const [value, fn] of [
      [1, 'F'],
      [2, 'G'],
      [3, 'F'],
      [4, 'G'],
    ] as const) {
      await room.request(value, fn)
      await room.world.advance(10)
    }
    await room.pass()
    expect(room.subjects.map((subject) => subject.at(-1))).toEqual(['1', '2', '3', '4'])
  })
})

describe('within an hour', () => {
  test('so many by themselves, then one digest, which is the first of the next', async () => {
    await open(['ann'], 3)
    for (let value = 1; value <= 10; value++) await room.request(value)
    await room.pass()
    expect(room.subjects.map((subject) => subject.at(-1))).toEqual(['1', '2', '3'])
    expect(room.deliveries.figuresOf('default')).toEqual({ requests: 7, subscribers: 1 })
    await room.pass(hour)
    expect(room.subjects.slice(3)).toEqual(['ann@example.com: 7 notifications'])
    for (let value = 11; value <= 20; value++) await room.request(value)
    await room.pass()
    expect(room.subjects.slice(4).map((subject) => subject.at(-1))).toEqual(['1', '2'])
    await room.pass(hour)
    expect(room.subjects.slice(6)).toEqual(['ann@example.com: 8 notifications'])
    await expectRest()
    expect(room.tally).toMatchObject({ sent: 5, digests: 2, digested: 15 })
  })

  test('a digest says what a mail would: by function, in order, with how many others; and it ends nothing', async () => {
    await open(['ann'], 1)
    await room.putFunction('G', { name: 'Another' })
    await room.subscribe('ann', 'G')
    await room.request(0)
    await room.pass()
    const at = new Date(room.world.now()).toISOString()
    for (let value = 1; value <= 3; value++) await room.request(value)
    await room.request(7, 'G')
    await room.ask(deliveryAddress('default', 'G'), { type: 'overflowed', count: 41 })
    await room.pass(hour)
    const digest = room.arrived[1]
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
      'You get this because you subscribed at https://iot.example, where you can end that.',
      '',
    ])
    await expectRest()
  })

  test('who unsubscribes waits for nothing any more', async () => {
    await open(['ann'], 1)
    await room.request(1)
    await room.request(2)
    await room.pass()
    expect(room.deliveries.figuresOf('default')).toEqual({ requests: 1, subscribers: 1 })
    await room.unsubscribe('ann')
    await room.pass()
    expect(room.deliveries.figuresOf('default')).toEqual({ requests: 0, subscribers: 0 })
    await room.pass(hour)
    expect(room.subjects).toEqual(['ann@example.com: It is 1'])
  })

  test('what a digest may not tell is neither in it nor counted as told', async () => {
    await open(['ann'], 1)
    await room.putFunction('G', { binding: { devices: ['A', 'B'] } })
    await room.subscribe('ann', 'G')
    await room.request(0)
    await room.pass()
    await room.request(1)
    for (const device of ['A', 'B', 'A', 'B', 'A']) await room.request(2, 'G', 'default', device)
    await room.ask(deliveryAddress('default', 'G'), { type: 'overflowed', count: 9 })
    await room.putFunction('G', { binding: { devices: ['A'] } })
    await room.pass(hour)
    expect(room.subjects[1]).toBe('ann@example.com: 13 notifications')
    expect(room.failures).toEqual({ unbound: 2 })
    await room.request(3, 'G')
    await room.request(3, 'G')
    await room.ask(deliveryAddress('default', 'G'), { type: 'overflowed', count: 9 })
    await room.request(4)
    await room.request(5)
    await room.putFunction('G', { enabled: false })
    await room.pass(hour + minute)
    expect(room.subjects.slice(2)).toEqual(['ann@example.com: 2 notifications'])
    expect(room.failures).toEqual({ unbound: 4 })
    await expectRest()
  })

  test('what was never kept is told when the hour is over, also by the next process', async () => {
    await open(['ann'], 60)
    await room.request(1)
    await room.ask(deliveryAddress('default', 'F'), { type: 'overflowed', count: 5 })
    await room.request(2)
    await room.pass()
    expect(room.subjects).toHaveLength(2)
    expect(await room.entries('delivering')).toEqual(['F'])
    room = await room.restart()
    await room.pass(hour)
    expect(room.subjects.slice(2)).toEqual(['ann@example.com: 5 notifications'])
    await expectRest()
  })
})

describe('a mail that is refused', () => {
  const refuse =
    (kind: MailRefused['kind'], code = '550') =>
    () =>
      Promise.reject(new MailRefused(kind, code))

  test.each(['recipient', 'message'] as const)('for good (%s) is passed over and counted', async (kind) => {
    await open(['ann', 'ben'])
    room.answering = ({ to }) => (to === 'ann@example.com' ? refuse(kind)() : undefined)
    await room.request(1)
    await expectRest()
    expect(room.subjects).toEqual(['ben@example.com: It is 1'])
    expect(room.failures).toEqual({ rejected: 1 })
    const { sent, passed } = room.deliveries
    expect([sent, passed.rejected]).toEqual([{ ...nothingSent, ok: 1, [kind]: 1 }, 1])
  })

  test('the third in a row has the address rest for a day, or until it is another', async () => {
    await open()
    room.answering = refuse('recipient')
    for (let value = 1; value <= 5; value++) await room.request(value)
    await expectRest()
    expect(room.failures).toEqual({ rejected: 3, resting: 2 })
    room.answering = () => {}
    room.person('ann', { address: 'ann@other.example' })
    await room.request(6)
    await room.pass()
    expect(room.subjects).toEqual(['ann@other.example: It is 6'])
    room.person('ann', { address: 'ann@example.com' })
    await room.request(7)
    await room.pass()
    expect(room.subjects).toHaveLength(2)
  })

  test('after its rest an address is tried once', async () => {
    await open()
    room.answering = refuse('recipient')
    for (let value = 1; value <= 3; value++) await room.request(value)
    await room.pass(24 * hour)
    for (let value = 4; value <= 5; value++) await room.request(value)
    await expectRest()
    expect(room.failures).toEqual({ rejected: 4, resting: 1 })
  })

  test('for now is tried again, later each time, and at last not any more; others of his wait behind it', async () => {
    await open()
    const tried: number[] = []
    const from = room.world.now()
    room.answering = () => {
      tried.push(room.world.now() - from)
      throw new MailRefused('later', '450')
    }
    await room.request(1)
    await room.pass(12 * hour)
    await room.request(2)
    await room.pass(11 * hour)
    const waits = tried.slice(1).map((at, index) => at - (tried[index] ?? 0))
    for (const [index, waitMs] of waits.entries()) {
      const middle = Math.min(minute * 2 ** index, hour)
      expect(waitMs).toBeGreaterThanOrEqual(0.8 * middle)
      expect(waitMs).toBeLessThanOrEqual(1.2 * middle + 1_000)
    }
    await room.pass(3 * hour)
    expect(room.failures).toEqual({ expired: 1 })
    room.answering = () => {}
    await room.pass(2 * hour)
    expect(room.subjects).toEqual(['ann@example.com: It is 2'])
    await expectRest()
  })

  test('a retry goes on in the next process at the same time', async () => {
    await open()
    room.answering = refuse('later')
    await room.request(1)
    await room.pass(100 * minute)
    const { retry } = room.subscriber('ann').mail
    room = await room.restart()
    const tried: number[] = []
    room.answering = () => void tried.push(room.world.now())
    await room.pass(2 * hour)
    expect(tried).toHaveLength(1)
    expect(Math.abs((tried[0] ?? 0) - (retry?.nextAt ?? 0))).toBeLessThanOrEqual(1)
  })

  test('by a server that is away costs nobody anything: one is tried at a time, and said once', async () => {
    await open(['ann', 'ben', 'cat'])
    let tries = 0
    room.answering = () => {
      tries++
      throw new MailRefused('transport', 'ECONNREFUSED')
    }
    await room.request(1)
    await room.pass(hour)
    expect(tries).toBeLessThan(30)
    // Under a name that the log does not take for a secret.
    expect(room.complaints).toEqual(['mail delivery fails; retrying less often: {"lastError":"ECONNREFUSED"}'])
    expect(room.deliveries.transport).toEqual({ state: 'resting', lastError: 'ECONNREFUSED' })
    expect(room.deliveries.figuresOf('default')).toEqual({ requests: 1, subscribers: 3 })
    expect([room.deliveries.sent, room.deliveries.waitingCount]).toEqual([{ ...nothingSent, transport: tries }, 3])
    room.answering = () => {}
    await room.pass(10 * minute)
    expect(room.subjects).toHaveLength(3)
    expect([room.deliveries.sent.ok, room.deliveries.waitingCount]).toEqual([3, 0])
    expect(room.deliveries.transport).toEqual({ state: 'ok' })
    expect(room.failures).toEqual({})
    await expectRest()
  })

  test('by a mistake of ours is said, and tried again', async () => {
    await open()
    room.answering = () => Promise.reject(new Error('a mistake'))
    await room.request(1)
    await room.pass()
    expect(room.complaints).toHaveLength(1)
    room.answering = () => {}
    await room.pass(5 * minute)
    expect(room.subjects).toEqual(['ann@example.com: It is 1'])
  })
})

describe('a store that takes no writes', () => {
  test('what left is stored when it takes them again, and not sent once more', async () => {
    await open()
    let answered = () => {}
    room.answering = () =>
      new Promise<void>((resolve) => {
        answered = resolve
      })
    await room.request(1)
    await room.pass()
    // The next write says that it left.
    room.faults.next = { fail: 'full', reachedDisk: false }
    answered()
    await room.pass(60_000)
    expect(room.stage.log.filter((line) => line.startsWith('failed'))).toHaveLength(1)
    expect(room.subjects).toEqual(['ann@example.com: It is 1'])
    expect(room.tally.sent).toBe(1)
    await expectRest()
  })

  test('nothing is sent of what was taken back', async () => {
    await open()
    room.faults.next = { fail: 'full', reachedDisk: false }
    room.requestSoon(1)
    await room.pass(60_000)
    expect(room.arrived).toEqual([])
    await room.request(2)
    await expectRest()
    expect(room.subjects).toEqual(['ann@example.com: It is 2'])
  })
})

describe('many', () => {
  test('are gone through once a second, whatever comes, and no slice is long', async () => {
    const names = Array.from({ length: 300 }, (_, index) => `u${index}`)
    await open(names, 2)
    let passes = 0
    const { registry } = room.stage.system
    const look = registry.peek.bind(registry)
    registry.peek = (address) => {
      if (address.kind === 'subscriber' && address.id === 'u0') passes++
      return look(address)
    }
    for (let second = 0; second < 5; second++) {
      for (let value = 0; value < 10; value++) await room.request(value)
      await room.pass(1_000)
    }
    // Twice he is sent something, and then found to wait.
    expect(passes).toBeLessThan(20)
    await room.pass(20_000)
    expect(room.arrived.length).toBe(600)
    expect(new Set(room.arrived.map(({ id }) => id)).size).toBe(600)
  })

  test('leave at most a hundred a second', async () => {
    await open(Array.from({ length: 300 }, (_, index) => `u${index}`))
    await room.request(1)
    await room.pass(1_000)
    expect(room.arrived.length).toBeLessThanOrEqual(110)
    expect(room.arrived.length).toBeGreaterThan(50)
    await room.pass(3_000)
    expect(room.arrived.length).toBe(300)
  })

  test.each([
    { where: 'ten a second skipped a busy loop', share: 0.5, most: 21, least: 11 },
    { where: 'four a second where it has no time left', share: 0.9, most: 9, least: 5 },
  ])('leave at most $where', async ({ share, most, least }) => {
    await open(Array.from({ length: 60 }, (_, index) => `u${index}`))
    room.world.busyShare = share
    await room.request(1)
    await room.pass(2_000)
    expect(room.arrived.length).toBeLessThanOrEqual(most)
    expect(room.arrived.length).toBeGreaterThanOrEqual(least)
    room.world.busyShare = 0.1
    // What has its place already goes first.
    await room.pass(30_000)
    expect(room.arrived.length).toBe(60)
  })

  test('whoever may get many mails gets each of a thousand, once', async () => {
    await open(['ann'], 100_000)
    for (let value = 0; value < 1_000; value++) room.requestSoon(value)
    await room.pass(20_000)
    expect(new Set(room.subjects).size).toBe(1_000)
    expect(room.subjects).toHaveLength(1_000)
    await expectRest()
  })

  test('what is more than is kept is a number', async () => {
    await open(['ann'], 1)
    for (let value = 0; value < 1_000; value++) room.requestSoon(value)
    await room.world.settle()
    expect(room.delivery().requests.size).toBe(256)
    for (let count = 0; count < 100_000; count++) room.views.overflows.add('default', 'F', 1)
    const commits = room.stage.commits.length
    await room.pass(1_000)
    expect(room.stage.commits.length - commits).toBeLessThan(20)
    expect(room.delivery().head.seq).toBe(101_000)
    await room.pass(2 * hour)
    const { sent, digested } = room.tally
    expect(sent + digested).toBe(101_000)
    await expectRest()
  })
})

test('stopped, what is on its way is waited for, and nothing else begins', async () => {
  await open(['ann', 'ben'])
  let answered = () => {}
  room.answering = () =>
    new Promise<void>((resolve) => {
      answered = resolve
    })
  await room.request(1)
  await room.world.advance(10)
  const held = room.deliveries.figuresOf('default').subscribers
  expect(held).toBe(2)
  room.deliveries.stop()
  let isSettled = false
  void room.deliveries.settled(5_000).then(() => {
    isSettled = true
  })
  await room.world.advance(1_000)
  expect(isSettled).toBe(false)
  const before = room.arrived.length
  answered()
  await room.world.advance(5_000)
  expect(isSettled).toBe(true)
  expect(room.arrived.length).toBe(before + 1)
  expect(room.tally.sent).toBe(1)
  await room.ask(deliveryAddress('default', 'F'), requestOf(room.world.now(), 2))
  await room.pass()
  expect(room.arrived.length).toBe(before + 1)
})

test('subscribers of a function are counted, also by the next process', async () => {
  await open(['ann', 'ben', 'cat'])
  await room.unsubscribe('ben')
  expect([room.deliveries.countOf('default', 'F'), room.deliveries.countOf('default', 'G')]).toEqual([2, 0])
  room = await room.restart()
  expect(room.deliveries.countOf('default', 'F')).toBe(2)
  await room.unsubscribe('ann')
  expect(room.deliveries.countOf('default', 'F')).toBe(1)
})
