import { beforeEach, describe, expect, test } from 'vitest'
import { Checks } from '#firmware/checks'
import { Problem } from '#model/problem'
import { type OfferedFirmware, UpdateServerBusy } from '#model/update-offer'
import { AskedServer, failure, offer, questionOf } from '#test/firmware/asked-server'
import { ManualWorld } from '#test/runtime/manual-world'

let world: ManualWorld
let server: AskedServer
let checks: Checks
let failing: unknown[]

beforeEach(() => {
  world = new ManualWorld()
  server = new AskedServer()
  failing = []
  checks = new Checks({ server, world, failing: (error) => failing.push(error) })
})

/** What comes of something, noted when it does: an offer's firmware, `none`, or the name of what it fails with. */
function noted(asked: Promise<OfferedFirmware | undefined> | OfferedFirmware | undefined): { came?: string } {
  const outcome: { came?: string } = {}
  void Promise.resolve(asked).then(
    (offered) => {
      outcome.came = offered?.firmware ?? 'none'
    },
    (error: Error) => {
      outcome.came = error instanceof Problem ? error.code : error.name
    },
  )
  return outcome
}

const soon = (device: string, more = {}) => noted(checks.soon(questionOf(device, more), 'hook'))
const fleet = (count: number) => Array.from({ length: count }, (_, index) => `D-${index}`)

describe('a queue of questions', () => {
  test('asks for a single device at once', async () => {
    server.answering = () => offer
    const outcome = soon('A')
    expect(server.devices).toEqual(['A'])
    await world.settle()
    expect(outcome).toEqual({ came: '2.0.0' })
  })

  test('of 15 000 devices that come back asks for 50 at once and 20 a second, each once, until all are asked', async () => {
    const outcomes = fleet(15_000).map((device) => noted(checks.soon(questionOf(device), 'connect')))
    await world.settle()
    expect(server.questions).toHaveLength(50)
    for (let seconds = 1; seconds <= 10; seconds++) {
      await world.advance(1_000)
      expect(server.questions.length).toBeLessThanOrEqual(50 + 20 * seconds)
    }
    expect(server.questions.length).toBeGreaterThanOrEqual(50 + 19 * 10)
    await world.advance(800_000)
    expect(server.questions).toHaveLength(15_000)
    expect(new Set(server.devices).size).toBe(15_000)
    expect(outcomes.every(({ came }) => came === 'none')).toBe(true)
  })

  test('asks for those beyond the first in no order', async () => {
    const devices = fleet(1_000)
    for (const device of devices) soon(device)
    await world.advance(60_000)
    const places = server.devices.slice(50).map((device) => Number(device.slice(2)))
    const rising = places.filter((place, index) => index > 0 && place > (places[index - 1] as number))
    // Of two in a row by chance as many rise as fall.
    expect(rising.length).toBeGreaterThan(300)
    expect(rising.length).toBeLessThan(650)
  })

  test('never asks for more than 16 at once', async () => {
    server.answering = () => 'later'
    for (const device of fleet(100)) soon(device)
    await world.advance(60_000)
    expect(server.questions).toHaveLength(16)
    for (let rounds = 0; rounds < 100; rounds++) {
      server.open[0]?.answer(undefined)
      await world.advance(100)
    }
    expect(server.questions).toHaveLength(100)
    expect(server.mostAtOnce).toBe(16)
  })

  test('asks once for what several want to know, waiting or asked', async () => {
    server.answering = () => 'later'
    for (const device of fleet(16)) soon(device)
    const waiting = [soon('X'), soon('X'), soon('D-0')]
    expect(server.questions).toHaveLength(16)
    for (const asked of server.open) asked.answer(asked.question.device === 'D-0' ? offer : undefined)
    await world.settle()
    expect(server.devices.filter((device) => device === 'X' || device === 'D-0')).toEqual(['D-0', 'X'])
    server.open[0]?.answer(offer)
    await world.settle()
    expect(waiting).toEqual([{ came: '2.0.0' }, { came: '2.0.0' }, { came: '2.0.0' }])
  })

  test.each([
    ['another index', { index: 1 }, ['1.0.0', '1.0.0'], 'none'],
    ['another tenant', { tenant: 'acme' }, ['1.0.0', '1.0.0'], 'none'],
    ['another firmware: what it had is of no interest', { firmware: '1.1.0' }, ['1.1.0'], 'none'],
  ])('keeps apart %s', async (_, more, firmwares, came) => {
    server.answering = () => 'later'
    for (const device of fleet(16)) soon(device)
    const outcomes = [soon('X'), soon('X', more)]
    for (const asked of server.open) asked.answer(undefined)
    await world.settle()
    for (const asked of server.open) asked.answer(undefined)
    await world.settle()
    expect(server.questions.slice(16).map(({ firmware }) => firmware)).toEqual(firmwares)
    expect(outcomes).toEqual([{ came }, { came }])
  })

  test('takes no more than 100 000 questions', async () => {
    server.answering = () => 'later'
    for (const device of fleet(100_016)) soon(device)
    const [beyond, again] = [soon('X'), soon('D-99')]
    await world.settle()
    expect(beyond).toEqual({ came: 'UpdateServerBusy' })
    expect(again).toEqual({})
  })

  test('refuses what waits when it stops, and asks no more', async () => {
    server.answering = () => 'later'
    const outcomes = fleet(20).map((device) => soon(device))
    checks.stop()
    outcomes.push(soon('X'))
    await world.settle()
    expect(outcomes.every(({ came }) => came === 'stopping')).toBe(true)
    expect(world.timerCount).toBe(0)
    server.open[0]?.answer(undefined)
    await world.advance(60_000)
    expect(server.questions).toHaveLength(16)
  })
})

describe('a device that comes back', () => {
  const connect = (more = {}) => noted(checks.soon(questionOf('A', more), 'connect'))
  const minuteMs = 60_000

  test.each<[what: string, prepare: () => unknown, more: object, count: number]>([
    ['is not asked for within ten minutes', () => {}, {}, 1],
    ['is after them', () => world.spend(10 * minuteMs + 1), {}, 2],
    ['is with another firmware', () => {}, { firmware: '1.1.0' }, 2],
    ['is with other hardware', () => {}, { hardware: 'b' }, 2],
    ['is with another project', () => {}, { project: 'pump' }, 2],
    ['is for another index', () => {}, { index: 1 }, 2],
    ['is after a hook', () => checks.forgetProject('default', 'boiler'), {}, 2],
    ['is not after the hook of another project', () => checks.forgetProject('default', 'pump'), {}, 1],
    ['is not after the hook of another tenant', () => checks.forgetProject('acme', 'boiler'), {}, 1],
    ['is not after somebody looked', () => checks.knownOf(questionOf('A')), {}, 1],
  ])('and had no update %s', async (_, prepare, more, count) => {
    connect()
    await world.settle()
    await prepare()
    const outcome = connect(more)
    await world.settle()
    expect(server.questions).toHaveLength(count)
    expect(outcome).toEqual({ came: 'none' })
  })

  test('and had one is asked for', async () => {
    server.answering = () => offer
    connect()
    await world.settle()
    expect(connect()).toEqual({})
    await world.settle()
    expect(server.questions).toHaveLength(2)
  })

  test.each(['hook', 'cron', 'post'] as const)('is asked for by %s whatever there was', async (by) => {
    connect()
    await world.settle()
    noted(checks.soon(questionOf('A'), by))
    await world.settle()
    expect(server.questions).toHaveLength(2)
  })
})

describe('a server that fails', () => {
  test('is left alone for longer each time, one question at a time, until it answers', async () => {
    server.answering = () => {
      throw failure
    }
    for (const device of fleet(20)) soon(device)
    await world.settle()
    // Those that were under way before the first of them failed.
    const first = server.questions.length
    expect(first).toBeLessThanOrEqual(16)
    const waits: number[] = []
    for (let rounds = 0; rounds < 11; rounds++) {
      const before = server.questions.length
      const wait = world.nextTimerMs as number
      waits.push(wait)
      await world.advance(wait - 1)
      expect(server.questions).toHaveLength(before)
      await world.advance(1)
      expect(server.questions).toHaveLength(before + 1)
    }
    for (const [round, wait] of waits.entries()) {
      const ms = Math.min(1_000 * 2 ** round, 300_000)
      expect(wait).toBeGreaterThanOrEqual(ms * 0.5)
      expect(wait).toBeLessThanOrEqual(ms * 1.5 + 1)
    }
    expect(failing).toEqual([failure])
    server.answering = () => undefined
    await world.advance(world.nextTimerMs as number)
    await world.advance(1_000)
    expect(new Set(server.devices).size).toBe(20)
    expect(world.timerCount).toBe(0)
  })

  test('that asks for a pause gets it, and no longer one', async () => {
    server.answering = () => {
      throw new UpdateServerBusy('the update server answered 503', 1_800_000)
    }
    const outcome = soon('A')
    await world.advance(1_799_999)
    expect(server.questions).toHaveLength(1)
    server.answering = () => offer
    await world.advance(1)
    expect(outcome).toEqual({ came: '2.0.0' })
  })

  test('is asked by hand all the same, and when it answers, by itself', async () => {
    server.answering = () => {
      throw failure
    }
    const outcome = soon('A')
    await world.settle()
    expect(noted(checks.now(questionOf('B')))).toEqual({})
    await world.settle()
    expect(server.devices).toEqual(['A', 'B'])
    server.answering = () => undefined
    const byHand = noted(checks.now(questionOf('B')))
    await world.settle()
    expect([byHand, outcome]).toEqual([{ came: 'none' }, { came: 'none' }])
  })

  test('for one question only is asked it five times', async () => {
    server.answering = ({ device }) => {
      if (device === 'A') throw failure
      return undefined
    }
    const outcome = soon('A')
    for (let minutes = 0; minutes < 10; minutes++) {
      noted(checks.now(questionOf('B')))
      await world.advance(60_000)
    }
    expect(server.devices.filter((device) => device === 'A')).toHaveLength(5)
    expect(outcome).toEqual({ came: 'UpdateServerFailed' })
  })

  test('with a bug of ours is not asked again', async () => {
    server.answering = () => {
      throw new TypeError('a bug')
    }
    const outcome = soon('A')
    await world.advance(600_000)
    expect(outcome).toEqual({ came: 'TypeError' })
    expect(server.questions).toHaveLength(1)
  })
})

test('by hand 64 are asked at once, and no more', async () => {
  server.answering = () => 'later'
  for (const device of fleet(64)) noted(checks.now(questionOf(device)))
  const beyond = noted(checks.now(questionOf('X')))
  await world.settle()
  expect(beyond).toEqual({ came: 'overloaded' })
  expect(server.questions).toHaveLength(64)
  server.open[0]?.answer(undefined)
  await world.settle()
  noted(checks.now(questionOf('X')))
  expect(server.questions).toHaveLength(65)
})
