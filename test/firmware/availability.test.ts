import { beforeEach, describe, expect, test } from 'vitest'
import { Availability } from '#firmware/availability'
import { Checks } from '#firmware/checks'
import type { UpdateServer } from '#firmware/update-server'
import { AskedServer, failure, offer, questionOf } from '#test/firmware/asked-server'
import { ManualWorld } from '#test/runtime/manual-world'

let world: ManualWorld
let server: AskedServer
let checks: Checks

beforeEach(() => {
  world = new ManualWorld()
  server = new AskedServer()
  checks = new Checks({ server, world })
})

const question = questionOf('A', { isAutomatic: false })
const minuteMs = 60_000

/** Whether it is told by then, and what. */
function noted(asked: Promise<boolean>): { came?: boolean } {
  const outcome: { came?: boolean } = {}
  void asked.then((came) => {
    outcome.came = came
  })
  return outcome
}

describe('a list', () => {
  test('is answered at once, and the server asked behind it', async () => {
    server.answering = () => offer
    expect(checks.knownOf(question)).toBeUndefined()
    await world.settle()
    expect(checks.knownOf(question)).toBe(true)
    expect(server.questions).toEqual([question])
  })

  test('is not held up by a server that hangs, nor does that one hear of it twice', () => {
    server.answering = () => 'later'
    for (let times = 0; times < 3; times++) expect(checks.knownOf(question)).toBeUndefined()
    expect(server.questions).toHaveLength(1)
  })

  test('shows what was known last when that is old, and asks anew', async () => {
    server.answering = () => offer
    checks.knownOf(question)
    await world.settle()
    world.spend(minuteMs)
    expect(checks.knownOf(question)).toBe(true)
    await world.settle()
    expect(server.questions).toHaveLength(1)
    world.spend(1)
    server.answering = () => undefined
    expect(checks.knownOf(question)).toBe(true)
    await world.settle()
    expect(checks.knownOf(question)).toBe(false)
    expect(server.questions).toHaveLength(2)
  })

  test('of a whole fleet comes behind devices that wait for an update', async () => {
    for (let index = 0; index < 200; index++) checks.knownOf(questionOf(`L-${index}`))
    await world.settle()
    expect(server.questions).toHaveLength(50)
    void checks.soon(questionOf('A'), 'hook')
    await world.advance(100)
    expect(server.devices.slice(50)).toContain('A')
    // All are asked for in the end, in their order.
    await world.advance(10_000)
    expect(server.devices.filter((device) => device !== 'A')).toEqual(
      Array.from({ length: 200 }, (_, index) => `L-${index}`),
    )
  })
})

describe('a single device', () => {
  test('is waited for', async () => {
    server.answering = () => 'later'
    const outcome = noted(checks.freshOf(question, 2_000))
    await world.advance(1_999)
    expect(outcome).toEqual({})
    server.open[0]?.answer(offer)
    await world.settle()
    expect(outcome).toEqual({ came: true })
    expect(world.timerCount).toBe(0)
  })

  test.each([
    ['no longer than that: nothing known', undefined, false],
    ['no longer than that: what was known', offer, true],
  ])('%s', async (_, before, came) => {
    server.answering = () => before
    if (before) checks.knownOf(question)
    await world.settle()
    world.spend(minuteMs + 1)
    server.answering = () => 'later'
    const outcome = noted(checks.freshOf(question, 2_000))
    await world.advance(1_999)
    expect(outcome).toEqual({})
    await world.advance(1)
    expect(outcome).toEqual({ came })
  })

  test('is not asked for within a minute', async () => {
    server.answering = () => offer
    await checks.now(question)
    expect(await checks.freshOf(question, 2_000)).toBe(true)
    expect(server.questions).toHaveLength(1)
  })

  test('goes before devices that update by themselves', async () => {
    for (let index = 0; index < 1_000; index++) void checks.soon(questionOf(`D-${index}`), 'hook')
    await world.settle()
    server.answering = () => offer
    const outcome = noted(checks.freshOf(question, 2_000))
    await world.advance(500)
    expect(outcome).toEqual({ came: true })
  })

  test('is not waited for where the server is left alone for longer', async () => {
    server.answering = () => {
      throw failure
    }
    for (let times = 0; times < 5; times++) {
      void checks.freshOf(question, 2_000)
      await world.advance(20_000)
    }
    server.answering = () => 'later'
    const outcome = noted(checks.freshOf(questionOf('B'), 2_000))
    await world.settle()
    expect(outcome).toEqual({ came: false })
  })
})

describe('a hook', () => {
  test('has all of its project asked for anew, and what is known shown meanwhile', async () => {
    for (const project of ['boiler', 'pump']) checks.knownOf(questionOf('A', { project, index: project.length }))
    await world.settle()
    checks.forgetProject('default', 'boiler')
    server.answering = () => offer
    expect(checks.knownOf(questionOf('A', { project: 'boiler', index: 6 }))).toBe(false)
    expect(checks.knownOf(questionOf('A', { project: 'pump', index: 4 }))).toBe(false)
    await world.settle()
    expect(checks.knownOf(questionOf('A', { project: 'boiler', index: 6 }))).toBe(true)
    expect(checks.knownOf(questionOf('A', { project: 'pump', index: 4 }))).toBe(false)
  })

  test('does not take the answer to an earlier question for one to its own', async () => {
    server.answering = () => 'later'
    const outcome = noted(checks.freshOf(question, 2_000))
    checks.forgetProject('default', 'boiler')
    let offered: unknown
    void Promise.resolve(checks.soon(question, 'hook')).then((found) => {
      offered = found
    })
    expect(server.questions).toHaveLength(2)
    server.open[1]?.answer(offer)
    await world.settle()
    expect(offered).toEqual(offer)
    server.open[0]?.answer(undefined)
    await world.settle()
    expect(outcome).toEqual({ came: true })
    expect(checks.knownOf(question)).toBe(true)
  })
})

describe('what is remembered', () => {
  test('is at most 200 000 rows, of which those that are looked at stay', () => {
    const rows = new Availability(world)
    const put = (device: string) => rows.record(questionOf(device), rows.nextNumber(), true)
    put('A')
    put('B')
    for (let index = 0; index < 350_000; index++) {
      put(`D-${index}`)
      if (index % 50_000 === 0) expect(rows.lastOf(questionOf('A'))).toBe(true)
    }
    expect(rows.size).toBeLessThanOrEqual(200_000)
    expect(rows.lastOf(questionOf('A'))).toBe(true)
    expect(rows.lastOf(questionOf('B'))).toBeUndefined()
  })

  test('is in doubt as a whole when too many projects are', () => {
    const rows = new Availability(world)
    rows.record(question, rows.nextNumber(), true)
    for (let index = 0; index <= 10_000; index++) rows.doubt('default', `p-${index}`)
    expect(rows.isFresh(question)).toBe(false)
    rows.record(question, rows.nextNumber(), true)
    expect(rows.isFresh(question)).toBe(true)
  })
})

describe('the embedded server', () => {
  test('is asked each time, and answers at once', async () => {
    let found: typeof offer | undefined = offer
    const embedded: UpdateServer = { isEmbedded: true, check: () => found }
    checks = new Checks({ server: embedded, world })
    expect(checks.knownOf(question)).toBe(true)
    expect(checks.soon(question, 'connect')).toBe(offer)
    expect(await checks.now(question)).toBe(offer)
    found = undefined
    expect(checks.knownOf(question)).toBe(false)
    expect(await checks.freshOf(question, 2_000)).toBe(false)
    expect(checks.soon(question, 'connect')).toBeUndefined()
    expect(await checks.now(question)).toBeUndefined()
    expect(world.timerCount).toBe(0)
  })
})
