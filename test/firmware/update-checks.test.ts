import { beforeEach, describe, expect, test } from 'vitest'
import { UpdateChecks } from '#firmware/update-checks'
import { Problem } from '#model/problem'
import { type OfferedFirmware, UpdateServerBusy } from '#model/update-offer'
import { failure, ManualUpdateServer, offer, queryOf } from '#test/firmware/manual-update-server'
import { ManualWorld } from '#test/runtime/manual-world'

let world: ManualWorld
let server: ManualUpdateServer
let checks: UpdateChecks
let failing: unknown[]

beforeEach(() => {
  world = new ManualWorld()
  server = new ManualUpdateServer()
  failing = []
  checks = new UpdateChecks({ server, world, failing: (error) => failing.push(error) })
})

/** Records the result when it arrives: the offered firmware, `none`, or the name of the error. */
function recorded(asked: Promise<OfferedFirmware | undefined> | OfferedFirmware | undefined): { result?: string } {
  const outcome: { result?: string } = {}
  void Promise.resolve(asked).then(
    (offered) => {
      outcome.result = offered?.firmware ?? 'none'
    },
    (error: Error) => {
      outcome.result = error instanceof Problem ? error.code : error.name
    },
  )
  return outcome
}

const soon = (device: string, more = {}) => recorded(checks.soon(queryOf(device, more), 'hook'))
const fleet = (count: number) => Array.from({ length: count }, (_, index) => `D-${index}`)

describe('the queue of queries', () => {
  test('asks at once for a single device', async () => {
    server.answerTo = () => offer
    const outcome = soon('A')
    expect(server.devices).toEqual(['A'])
    await world.settle()
    expect(outcome).toEqual({ result: '2.0.0' })
  })

  test('asks for 50 of 15 000 reconnecting devices at once and 20 a second, each once', async () => {
    const outcomes = fleet(15_000).map((device) => recorded(checks.soon(queryOf(device), 'connect')))
    await world.settle()
    expect(server.queries).toHaveLength(50)
    for (let seconds = 1; seconds <= 10; seconds++) {
      await world.advance(1_000)
      expect(server.queries.length).toBeLessThanOrEqual(50 + 20 * seconds)
    }
    expect(server.queries.length).toBeGreaterThanOrEqual(50 + 19 * 10)
    await world.advance(800_000)
    expect(server.queries).toHaveLength(15_000)
    expect(new Set(server.devices).size).toBe(15_000)
    expect(outcomes.every(({ result }) => result === 'none')).toBe(true)
  })

  test('asks for the devices after the first 50 in random order', async () => {
    const devices = fleet(1_000)
    for (const device of devices) soon(device)
    await world.advance(60_000)
    const places = server.devices.slice(50).map((device) => Number(device.slice(2)))
    const rising = places.filter((place, index) => index > 0 && place > (places[index - 1] as number))
    // In random order about half of the pairs rise.
    expect(rising.length).toBeGreaterThan(300)
    expect(rising.length).toBeLessThan(650)
  })

  test('has at most 16 queries in flight', async () => {
    server.answerTo = () => 'later'
    for (const device of fleet(100)) soon(device)
    await world.advance(60_000)
    expect(server.queries).toHaveLength(16)
    for (let rounds = 0; rounds < 100; rounds++) {
      server.pending[0]?.answer(undefined)
      await world.advance(100)
    }
    expect(server.queries).toHaveLength(100)
    expect(server.pendingMax).toBe(16)
  })

  test('merges equal queries, queued or in flight', async () => {
    server.answerTo = () => 'later'
    for (const device of fleet(16)) soon(device)
    const waiting = [soon('X'), soon('X'), soon('D-0')]
    expect(server.queries).toHaveLength(16)
    for (const pending of server.pending) pending.answer(pending.query.device === 'D-0' ? offer : undefined)
    await world.settle()
    expect(server.devices.filter((device) => device === 'X' || device === 'D-0')).toEqual(['D-0', 'X'])
    server.pending[0]?.answer(offer)
    await world.settle()
    expect(waiting).toEqual([{ result: '2.0.0' }, { result: '2.0.0' }, { result: '2.0.0' }])
  })

  test.each([
    ['another index', { index: 1 }, ['1.0.0', '1.0.0'], 'none'],
    ['another tenant', { tenant: 'acme' }, ['1.0.0', '1.0.0'], 'none'],
    ['another firmware, which replaces the first', { firmware: '1.1.0' }, ['1.1.0'], 'none'],
  ])('separates %s', async (_, more, firmwares, result) => {
    server.answerTo = () => 'later'
    for (const device of fleet(16)) soon(device)
    const outcomes = [soon('X'), soon('X', more)]
    for (const pending of server.pending) pending.answer(undefined)
    await world.settle()
    for (const pending of server.pending) pending.answer(undefined)
    await world.settle()
    expect(server.queries.slice(16).map(({ firmware }) => firmware)).toEqual(firmwares)
    expect(outcomes).toEqual([{ result }, { result }])
  })

  test('holds at most 100 000 queries', async () => {
    server.answerTo = () => 'later'
    for (const device of fleet(100_016)) soon(device)
    const [beyond, again] = [soon('X'), soon('D-99')]
    await world.settle()
    expect(beyond).toEqual({ result: 'UpdateServerBusy' })
    expect(again).toEqual({})
  })

  test('refuses queued queries when it stops, and sends no more queries', async () => {
    server.answerTo = () => 'later'
    const outcomes = fleet(20).map((device) => soon(device))
    checks.stop()
    outcomes.push(soon('X'))
    await world.settle()
    expect(outcomes.every(({ result }) => result === 'stopping')).toBe(true)
    expect(world.timerCount).toBe(0)
    server.pending[0]?.answer(undefined)
    await world.advance(60_000)
    expect(server.queries).toHaveLength(16)
  })
})

describe('a reconnecting device', () => {
  const connect = (more = {}) => recorded(checks.soon(queryOf('A', more), 'connect'))
  const minuteMs = 60_000

  test.each<[name: string, prepare: () => unknown, more: object, count: number]>([
    ['is not checked again within ten minutes', () => {}, {}, 1],
    ['is checked again after ten minutes', () => world.spend(10 * minuteMs + 1), {}, 2],
    ['is checked with another firmware', () => {}, { firmware: '1.1.0' }, 2],
    ['is checked with other hardware', () => {}, { hardware: 'b' }, 2],
    ['is checked with another project', () => {}, { project: 'pump' }, 2],
    ['is checked for another index', () => {}, { index: 1 }, 2],
    ['is checked after a hook', () => checks.doubtProject('default', 'boiler'), {}, 2],
    ['is not checked after the hook of another project', () => checks.doubtProject('default', 'pump'), {}, 1],
    ['is not checked after the hook of another tenant', () => checks.doubtProject('acme', 'boiler'), {}, 1],
    ['is not checked after a list was read', () => checks.knownOf(queryOf('A')), {}, 1],
  ])('that had no update %s', async (_, prepare, more, count) => {
    connect()
    await world.settle()
    await prepare()
    const outcome = connect(more)
    await world.settle()
    expect(server.queries).toHaveLength(count)
    expect(outcome).toEqual({ result: 'none' })
  })

  test('that had an update is checked', async () => {
    server.answerTo = () => offer
    connect()
    await world.settle()
    expect(connect()).toEqual({})
    await world.settle()
    expect(server.queries).toHaveLength(2)
  })

  test.each(['hook', 'cron', 'post'] as const)('is always checked by %s', async (by) => {
    connect()
    await world.settle()
    recorded(checks.soon(queryOf('A'), by))
    await world.settle()
    expect(server.queries).toHaveLength(2)
  })
})

describe('a failing server', () => {
  test('gets growing pauses and one query at a time, until it answers', async () => {
    server.answerTo = () => {
      throw failure
    }
    for (const device of fleet(20)) soon(device)
    await world.settle()
    // The queries in flight before the first failed.
    const first = server.queries.length
    expect(first).toBeLessThanOrEqual(16)
    const waits: number[] = []
    for (let rounds = 0; rounds < 11; rounds++) {
      const before = server.queries.length
      const wait = world.nextTimerMs as number
      waits.push(wait)
      await world.advance(wait - 1)
      expect(server.queries).toHaveLength(before)
      await world.advance(1)
      expect(server.queries).toHaveLength(before + 1)
    }
    for (const [round, wait] of waits.entries()) {
      const ms = Math.min(1_000 * 2 ** round, 300_000)
      expect(wait).toBeGreaterThanOrEqual(ms * 0.5)
      expect(wait).toBeLessThanOrEqual(ms * 1.5 + 1)
    }
    expect(failing).toEqual([failure])
    server.answerTo = () => undefined
    await world.advance(world.nextTimerMs as number)
    await world.advance(1_000)
    expect(new Set(server.devices).size).toBe(20)
    expect(world.timerCount).toBe(0)
  })

  test('gets exactly the pause of its Retry-After', async () => {
    server.answerTo = () => {
      throw new UpdateServerBusy('the update server answered 503', 1_800_000)
    }
    const outcome = soon('A')
    await world.advance(1_799_999)
    expect(server.queries).toHaveLength(1)
    server.answerTo = () => offer
    await world.advance(1)
    expect(outcome).toEqual({ result: '2.0.0' })
  })

  test('is still asked for triggers; an answer resumes automatic checks', async () => {
    server.answerTo = () => {
      throw failure
    }
    const outcome = soon('A')
    await world.settle()
    expect(recorded(checks.now(queryOf('B')))).toEqual({})
    await world.settle()
    expect(server.devices).toEqual(['A', 'B'])
    server.answerTo = () => undefined
    const byHand = recorded(checks.now(queryOf('B')))
    await world.settle()
    expect([byHand, outcome]).toEqual([{ result: 'none' }, { result: 'none' }])
  })

  test('that fails for a single query is asked five times', async () => {
    server.answerTo = ({ device }) => {
      if (device === 'A') throw failure
      return undefined
    }
    const outcome = soon('A')
    for (let minutes = 0; minutes < 10; minutes++) {
      recorded(checks.now(queryOf('B')))
      await world.advance(60_000)
    }
    expect(server.devices.filter((device) => device === 'A')).toHaveLength(5)
    expect(outcome).toEqual({ result: 'UpdateServerFailed' })
  })

  test('is not asked again after a bug of this server', async () => {
    server.answerTo = () => {
      throw new TypeError('a bug')
    }
    const outcome = soon('A')
    await world.advance(600_000)
    expect(outcome).toEqual({ result: 'TypeError' })
    expect(server.queries).toHaveLength(1)
  })
})

test('at most 64 triggers ask at the same time', async () => {
  server.answerTo = () => 'later'
  for (const device of fleet(64)) recorded(checks.now(queryOf(device)))
  const beyond = recorded(checks.now(queryOf('X')))
  await world.settle()
  expect(beyond).toEqual({ result: 'overloaded' })
  expect(server.queries).toHaveLength(64)
  server.pending[0]?.answer(undefined)
  await world.settle()
  recorded(checks.now(queryOf('X')))
  expect(server.queries).toHaveLength(65)
})
