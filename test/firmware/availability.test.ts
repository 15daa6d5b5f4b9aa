import { beforeEach, describe, expect, test } from 'vitest'
import { Availability } from '#firmware/availability'
import { UpdateChecks } from '#firmware/update-checks'
import type { UpdateServer } from '#firmware/update-server'
import { failure, ManualUpdateServer, offer, queryOf } from '#test/firmware/manual-update-server'
import { ManualWorld } from '#test/runtime/manual-world'

let world: ManualWorld
let server: ManualUpdateServer
let checks: UpdateChecks

beforeEach(() => {
  world = new ManualWorld()
  server = new ManualUpdateServer()
  checks = new UpdateChecks({ server, world })
})

const query = queryOf('A', { isAutomatic: false })
const minuteMs = 60_000

/** Records the result when it arrives. */
function recorded(asked: Promise<boolean>): { result?: boolean } {
  const outcome: { result?: boolean } = {}
  void asked.then((result) => {
    outcome.result = result
  })
  return outcome
}

describe('a list', () => {
  test('is answered at once, and asks the server in the background', async () => {
    server.answerTo = () => offer
    expect(checks.knownOf(query)).toBeUndefined()
    await world.settle()
    expect(checks.knownOf(query)).toBe(true)
    expect(server.queries).toEqual([query])
  })

  test('does not wait for a server that hangs, and asks it only once', () => {
    server.answerTo = () => 'later'
    for (let times = 0; times < 3; times++) expect(checks.knownOf(query)).toBeUndefined()
    expect(server.queries).toHaveLength(1)
  })

  test('shows an old result while it asks again', async () => {
    server.answerTo = () => offer
    checks.knownOf(query)
    await world.settle()
    world.spend(minuteMs)
    expect(checks.knownOf(query)).toBe(true)
    await world.settle()
    expect(server.queries).toHaveLength(1)
    world.spend(1)
    server.answerTo = () => undefined
    expect(checks.knownOf(query)).toBe(true)
    await world.settle()
    expect(checks.knownOf(query)).toBe(false)
    expect(server.queries).toHaveLength(2)
  })

  test('of a whole fleet has lower priority than devices that wait for an update', async () => {
    for (let index = 0; index < 200; index++) checks.knownOf(queryOf(`L-${index}`))
    await world.settle()
    expect(server.queries).toHaveLength(50)
    void checks.soon(queryOf('A'), 'hook')
    await world.advance(100)
    expect(server.devices.slice(50)).toContain('A')
    // In the end all were asked for, in order.
    await world.advance(10_000)
    expect(server.devices.filter((device) => device !== 'A')).toEqual(
      Array.from({ length: 200 }, (_, index) => `L-${index}`),
    )
  })
})

describe('the view of a single device', () => {
  test('waits for the answer', async () => {
    server.answerTo = () => 'later'
    const outcome = recorded(checks.freshOf(query, 2_000))
    await world.advance(1_999)
    expect(outcome).toEqual({})
    server.pending[0]?.answer(offer)
    await world.settle()
    expect(outcome).toEqual({ result: true })
    expect(world.timerCount).toBe(0)
  })

  test.each([
    ['waits up to the timeout, without an earlier result', undefined, false],
    ['waits up to the timeout, and shows the earlier result', offer, true],
  ])('%s', async (_, before, result) => {
    server.answerTo = () => before
    if (before) checks.knownOf(query)
    await world.settle()
    world.spend(minuteMs + 1)
    server.answerTo = () => 'later'
    const outcome = recorded(checks.freshOf(query, 2_000))
    await world.advance(1_999)
    expect(outcome).toEqual({})
    await world.advance(1)
    expect(outcome).toEqual({ result })
  })

  test('does not ask again within a minute', async () => {
    server.answerTo = () => offer
    await checks.now(query)
    expect(await checks.freshOf(query, 2_000)).toBe(true)
    expect(server.queries).toHaveLength(1)
  })

  test('has priority over automatic updates', async () => {
    for (let index = 0; index < 1_000; index++) void checks.soon(queryOf(`D-${index}`), 'hook')
    await world.settle()
    server.answerTo = () => offer
    const outcome = recorded(checks.freshOf(query, 2_000))
    await world.advance(500)
    expect(outcome).toEqual({ result: true })
  })

  test('does not wait while the failing server is given a longer pause', async () => {
    server.answerTo = () => {
      throw failure
    }
    for (let times = 0; times < 5; times++) {
      void checks.freshOf(query, 2_000)
      await world.advance(20_000)
    }
    server.answerTo = () => 'later'
    const outcome = recorded(checks.freshOf(queryOf('B'), 2_000))
    await world.settle()
    expect(outcome).toEqual({ result: false })
  })
})

describe('a hook', () => {
  test('makes the results of its project stale, which are shown meanwhile', async () => {
    for (const project of ['boiler', 'pump']) checks.knownOf(queryOf('A', { project, index: project.length }))
    await world.settle()
    checks.doubtProject('default', 'boiler')
    server.answerTo = () => offer
    expect(checks.knownOf(queryOf('A', { project: 'boiler', index: 6 }))).toBe(false)
    expect(checks.knownOf(queryOf('A', { project: 'pump', index: 4 }))).toBe(false)
    await world.settle()
    expect(checks.knownOf(queryOf('A', { project: 'boiler', index: 6 }))).toBe(true)
    expect(checks.knownOf(queryOf('A', { project: 'pump', index: 4 }))).toBe(false)
  })

  test('ignores answers to earlier queries', async () => {
    server.answerTo = () => 'later'
    const outcome = recorded(checks.freshOf(query, 2_000))
    checks.doubtProject('default', 'boiler')
    let offered: unknown
    void Promise.resolve(checks.soon(query, 'hook')).then((found) => {
      offered = found
    })
    expect(server.queries).toHaveLength(2)
    server.pending[1]?.answer(offer)
    await world.settle()
    expect(offered).toEqual(offer)
    server.pending[0]?.answer(undefined)
    await world.settle()
    expect(outcome).toEqual({ result: true })
    expect(checks.knownOf(query)).toBe(true)
  })
})

describe('the cache of results', () => {
  test('has at most 200 000 rows, and keeps those that are read', () => {
    const rows = new Availability(world)
    const put = (device: string) => rows.record(queryOf(device), rows.nextNumber(), true)
    put('A')
    put('B')
    for (let index = 0; index < 350_000; index++) {
      put(`D-${index}`)
      if (index % 50_000 === 0) expect(rows.lastOf(queryOf('A'))).toBe(true)
    }
    expect(rows.size).toBeLessThanOrEqual(200_000)
    expect(rows.lastOf(queryOf('A'))).toBe(true)
    expect(rows.lastOf(queryOf('B'))).toBeUndefined()
  })

  test('becomes stale as a whole when too many projects are', () => {
    const rows = new Availability(world)
    rows.record(query, rows.nextNumber(), true)
    for (let index = 0; index <= 10_000; index++) rows.doubt('default', `p-${index}`)
    expect(rows.isFresh(query)).toBe(false)
    rows.record(query, rows.nextNumber(), true)
    expect(rows.isFresh(query)).toBe(true)
  })
})

test('the embedded server is asked each time without a cache', async () => {
  let found: typeof offer | undefined = offer
  const embedded: UpdateServer = { isEmbedded: true, check: () => found }
  checks = new UpdateChecks({ server: embedded, world })
  expect(checks.knownOf(query)).toBe(true)
  expect(checks.soon(query, 'connect')).toBe(offer)
  expect(await checks.now(query)).toBe(offer)
  found = undefined
  expect(checks.knownOf(query)).toBe(false)
  expect(await checks.freshOf(query, 2_000)).toBe(false)
  expect(checks.soon(query, 'connect')).toBeUndefined()
  expect(await checks.now(query)).toBeUndefined()
  expect(world.timerCount).toBe(0)
})
