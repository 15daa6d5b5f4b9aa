import { afterEach, describe, expect, test } from 'vitest'
import { runningActionIndex } from '#actors/action/action'
import { openWritesOfDeviceMax } from '#link/open-writes'
import { graceMs } from '#link/presence'
import { actionRetentionMs, actionsOfAuthorMax, actionsRunningMax } from '#model/action'
import { ServiceSchema } from '#model/service-schema'
import { ManualWorld } from '#test/runtime/manual-world'
import { ActionFixture, accepting, namesOf, silent, updateGrant } from '#test/workers/action-fixture'
import { listedRows } from '#test/workers/listed-rows'

let fixture: ActionFixture
afterEach(async () => {
  expect(fixture.identity.errors).toEqual([])
  await fixture.close()
})

async function openWith(...devices: readonly string[]): Promise<void> {
  fixture = await ActionFixture.open()
  await fixture.link(...devices)
}

const outcomesOf = (devices: readonly string[], status: string) => devices.map((device) => `${device} ${status}`)
/** Outcomes may be stored a moment later. */
const untilStored = () => fixture.identity.world.advance(2_000)
const beginAndStore = (...action: Parameters<ActionFixture['begin']>) => fixture.begin(...action).then(untilStored)
const refusal = (promise: Promise<unknown>) => fixture.identity.refusal(promise)

describe('an action', () => {
  test('asks each device once, with one id for each device and action', async () => {
    const devices = namesOf(250)
    await openWith(...devices)
    await beginAndStore('J', devices)
    expect(fixture.outcomes('J')).toEqual(outcomesOf(devices, 'OK'))
    expect(fixture.action('J')).toMatchObject({ total: 250, createdBy: fixture.ann, isDone: true })
    expect(await fixture.runningActions()).toEqual([])
    expect(fixture.writes.map(({ device }) => device).sort()).toEqual(devices)
    expect(new Set(fixture.writes.map(({ id }) => id)).size).toBe(250)
    for (const { id } of fixture.writes) expect(id).toMatch(/^a:J:\d+$/)
  })

  test('without devices is done at once', async () => {
    fixture = await ActionFixture.open()
    await beginAndStore('J', [])
    expect([fixture.action('J')?.isDone, fixture.outcomes('J'), await fixture.runningActions()]).toEqual([true, [], []])
  })

  test('has an outcome for each device', async () => {
    await openWith('A', 'B', 'C', 'D')
    const gone = await fixture.link('OFF')
    gone.close()
    const other = await fixture.link()
    other.hello('OTHER', { services: [{ serviceIdentifier: 'x', properties: [{ propId: 1, type: 'UINT8' }] }] })
    const typed = [{ serviceIdentifier: 'svc', properties: [{ propId: 1, type: 'BOOL' }] }]
    other.hello('TYPED', { services: typed })
    other.hello('LESS', { services: [{ serviceIdentifier: 'svc', properties: [{ propId: 2, type: 'STRING' }] }] })
    await fixture.identity.world.advance(500)
    fixture.behaviour = (write) => {
      if (write.device === 'B') return silent(write)
      if (write.device === 'C') return [{ propId: 1, status: 'REJECTED', message: 'no' }]
      return accepting(write)
    }
    const outcomes = [
      ...['A OK', 'B PENDING', 'C REJECTED', 'D OK', 'LESS INVALID', 'MISSING NOT_FOUND', 'OFF DEVICE_OFFLINE'],
      ...['OTHER NOT_FOUND', 'TYPED INVALID'],
    ]
    const names = outcomes.map((outcome) => outcome.replace(/ .*/, ''))
    await beginAndStore('J', names)
    expect(fixture.outcomes('J')).toEqual(outcomes)
    expect(fixture.action('J')?.isDone).toBe(false)
    await fixture.identity.world.advance(12_000)
    expect(fixture.outcomes('J')[1]).toBe('B DEVICE_TIMEOUT')
    expect(fixture.action('J')?.isDone).toBe(true)
  })

  test('resolves property names by the schema at its start', async () => {
    await openWith('A')
    const properties = { '0x1': { name: 'level', enum: { '3': { name: 'HIGH' } } } }
    const schema = ServiceSchema.parse({ name: 'S', properties })
    await fixture.identity.tenant('default', { type: 'put_schema', service: 'svc', schema })
    await beginAndStore('J', ['A'], { updates: { level: 'HIGH' } })
    expect([fixture.outcomes('J'), fixture.writes[0]?.updates]).toEqual([['A OK'], [{ propId: 1, value: 3 }]])
  })

  test('is deleted after a day, with all its pages', async () => {
    const devices = namesOf(150)
    await openWith(...devices)
    await beginAndStore('J', devices)
    fixture.identity.world.spend(actionRetentionMs - 60_000)
    expect(fixture.outcomes('J')).toHaveLength(150)
    await fixture.identity.world.advance(60_000)
    expect(fixture.action('J')).toBeUndefined()
    await fixture.identity.world.advance(600_000)
    expect(fixture.outcomes('J')).toEqual([])
  })
})

describe('the access of its author', () => {
  test.each<[string, Parameters<typeof ActionFixture.open>[0], string]>([
    ['reaches the service', [updateGrant], 'OK'],
    ['reaches another service', [{ ...updateGrant, services: ['x'] }], 'NOT_FOUND'],
    ['reaches another device', [{ ...updateGrant, devices: ['B'] }], 'NOT_FOUND'],
    ['allows only read', [{ ...updateGrant, permissions: { service: ['read'] } }], 'NOT_FOUND'],
  ])('%s', async (_, grants, status) => {
    fixture = await ActionFixture.open(grants)
    await fixture.link('A')
    await beginAndStore('J', ['A'])
    expect(fixture.outcomes('J')).toEqual([`A ${status}`])
  })

  test('is checked again for each device', async () => {
    const devices = namesOf(100)
    await openWith(...devices)
    fixture.behaviour = silent
    await fixture.begin('J', devices)
    await fixture.identity.world.advance(100)
    expect(fixture.writes).toHaveLength(64)
    await fixture.identity.putRole('ops', [])
    await fixture.identity.world.advance(15_000)
    expect(fixture.writes).toHaveLength(64)
    expect(fixture.outcomes('J').map((line) => line.split(' ')[1])).toEqual([
      ...Array(64).fill('DEVICE_TIMEOUT'),
      ...Array(36).fill('NOT_FOUND'),
    ])
  })

  test('ends when the author is deleted', async () => {
    await openWith('A')
    const { id: user } = fixture.identity.row('ann')
    const author = fixture.ann
    await fixture.identity.directory({ type: 'remove_user', user })
    await beginAndStore('J', ['A'], { author })
    expect(fixture.outcomes('J')).toEqual(['A NOT_FOUND'])
  })
})

describe('many actions', () => {
  test('do not wait for each other', async () => {
    const devices = namesOf(300)
    await openWith(...devices, 'QUICK')
    fixture.behaviour = (write) => (write.device === 'QUICK' ? accepting(write) : silent(write))
    await fixture.begin('SLOW', devices)
    await fixture.begin('J', ['QUICK'])
    await fixture.identity.world.advance(1_000)
    expect([fixture.outcomes('J'), fixture.action('J')?.isDone]).toEqual([['QUICK OK'], true])
    expect(fixture.writes.filter(({ id }) => id.startsWith('a:SLOW:'))).toHaveLength(64)
  })

  test('ask no more than 256 devices at once', async () => {
    const devices = namesOf(100)
    await openWith(...devices)
    fixture.behaviour = silent
    for (let count = 0; count < 6; count++) await fixture.begin(`J${count}`, devices)
    await fixture.identity.world.advance(100)
    expect(fixture.writes).toHaveLength(256)
    await fixture.identity.world.advance(40_000)
    for (let count = 0; count < 6; count++)
      expect(fixture.outcomes(`J${count}`)).toEqual(outcomesOf(devices, 'DEVICE_TIMEOUT'))
    expect(fixture.writes).toHaveLength(600)
  })

  test('ask at most 32 devices in 4 ms', async () => {
    const devices = namesOf(60)
    await openWith(...devices)
    for (let count = 0; count < 3; count++) await fixture.begin(`J${count}`, devices)
    let most = 0
    for (let before = 0; before < 180; before = fixture.writes.length) {
      most = Math.max(most, fixture.writes.length - before)
      await fixture.identity.world.advance(4)
    }
    expect(most).toBeLessThanOrEqual(32)
  })

  test('are limited to 100 for a tenant and 40 for a user, until one is done', async () => {
    await openWith('A')
    fixture.behaviour = silent
    const begin = (author: string, count: number) =>
      Array.from({ length: count }, (_, index) => refusal(fixture.requestBegin(`${author}${index}`, ['A'], { author })))
    const refusedOf = async (begun: readonly Promise<string | undefined>[]) =>
      (await Promise.all(begun)).filter((code) => code !== undefined)
    const left = actionsRunningMax - 2 * actionsOfAuthorMax
    const ofOne = begin('mallory', actionsOfAuthorMax + 2)
    const ofAnother = begin('ann', actionsOfAuthorMax)
    const ofTenant = begin('bob', left + 3)
    const tooManyOfUser = 'conflict at most 40 actions of one user run at the same time'
    expect(await refusedOf(ofOne)).toEqual(Array(2).fill(tooManyOfUser))
    expect(await refusedOf(ofAnother)).toEqual([])
    expect(await refusedOf(ofTenant)).toEqual(Array(3).fill('conflict at most 100 actions run at the same time'))
    await fixture.identity.world.advance(30_000)
    expect(await fixture.runningActions()).toEqual([])
    expect(await refusal(fixture.requestBegin('LAST', ['A']))).toBeUndefined()
  })

  test('are limited to 100 000 devices each', async () => {
    fixture = await ActionFixture.open()
    const many = Array.from({ length: 100_001 }, (_, index) => `D-${1_000_000 + index}`)
    expect(await refusal(fixture.requestBegin('J', many))).toBe('conflict an action is for at most 100000 devices')
    expect([fixture.action('J'), await fixture.runningActions()]).toEqual([undefined, []])
  })
})

test('a device with too many open writes is asked later', async () => {
  await openWith('A')
  fixture.behaviour = silent
  const { writes } = fixture.identity.assembly.context.devices.links
  for (let count = 0; count < openWritesOfDeviceMax; count++) {
    const write = { tenant: 'default', device: 'A', service: 'svc', values: { '1': 1 }, schema: undefined }
    writes.ask({ ...write, id: `w${count}`, isWaiting: true, isRepeated: false }).catch(() => {})
  }
  await fixture.begin('J', ['A'])
  await fixture.identity.world.advance(5_000)
  expect(fixture.outcomes('J')).toEqual(['A PENDING'])
  fixture.behaviour = accepting
  await fixture.identity.world.advance(15_000)
  expect(fixture.outcomes('J')).toEqual(['A OK'])
  expect(fixture.writes.filter(({ id }) => id.startsWith('a:'))).toHaveLength(1)
})

describe('a killed process', () => {
  const devices = namesOf(130)

  test('asks no device again whose outcome is stored', async () => {
    await openWith(...devices)
    fixture.behaviour = (write) => (write.device < 'D-10100' ? accepting(write) : silent(write))
    await fixture.begin('J', devices)
    await fixture.identity.world.advance(5_000)
    expect([fixture.action('J')?.isDone, await fixture.runningActions()]).toEqual([false, ['J']])
    await fixture.restart()
    fixture.writes.length = 0
    fixture.behaviour = accepting
    await fixture.link(...devices)
    await fixture.identity.world.advance(20_000)
    expect(fixture.outcomes('J')).toEqual(outcomesOf(devices, 'OK'))
    expect(fixture.writes.map(({ device }) => device).sort()).toEqual(devices.slice(100))
  })

  test('leaves devices time to reconnect before they count as offline', async () => {
    await openWith('A', 'B', 'C')
    fixture.behaviour = silent
    await fixture.begin('J', ['A', 'B', 'C'])
    await fixture.identity.world.settle()
    await fixture.restart()
    await fixture.identity.world.advance(graceMs - 5_000)
    expect(fixture.outcomes('J')).toEqual(outcomesOf(['A', 'B', 'C'], 'PENDING'))
    fixture.behaviour = accepting
    await fixture.link('B')
    await fixture.identity.world.advance(20_000)
    expect(fixture.outcomes('J')).toEqual(['A DEVICE_OFFLINE', 'B OK', 'C DEVICE_OFFLINE'])
  })
})

test('a failed write loses no outcome', async () => {
  // As many as are asked without a pause.
  const devices = namesOf(16)
  await openWith(...devices)
  const begun = fixture.requestBegin('J', devices)
  while (fixture.writes.length < 16) {
    fixture.identity.world.step()
    await new Promise((resolve) => setImmediate(resolve))
  }
  await begun
  fixture.identity.faults.next = { fail: 'full', reachedDisk: false }
  await fixture.identity.world.advance(60_000)
  expect(fixture.identity.errors.splice(0).length).toBeGreaterThan(0)
  expect(fixture.outcomes('J')).toEqual(outcomesOf(devices, 'OK'))
  expect(fixture.action('J')?.isDone).toBe(true)
  expect(fixture.writes).toHaveLength(16)
})

test('devices that are disconnected because nothing can be stored are asked again afterwards', async () => {
  // More than an action asks at once.
  const devices = namesOf(70)
  await openWith(...devices)
  await fixture.identity.world.advance(graceMs)
  fixture.behaviour = silent
  await fixture.begin('J', devices)
  await fixture.identity.world.advance(1_000)
  const { backend, faults } = fixture.identity
  faults.next = { fail: 'full', reachedDisk: false }
  backend.setRoom(false)
  await fixture.identity.refusal(fixture.identity.putRole('other', []))
  await fixture.identity.world.advance(20_000)
  fixture.behaviour = accepting
  backend.setRoom(true)
  await fixture.identity.world.advance(2_000)
  await fixture.link(...devices)
  await fixture.identity.world.advance(20_000)
  expect(fixture.identity.errors.splice(0).length).toBeGreaterThan(0)
  expect(fixture.outcomes('J')).toEqual(outcomesOf(devices, 'OK'))
})

test('a server that stops stores received outcomes, and ignores its own refusals', async () => {
  await openWith('A', 'B')
  fixture.behaviour = (write) => (write.device === 'A' ? accepting(write) : silent(write))
  await fixture.begin('J', ['A', 'B'])
  await fixture.identity.world.settle()
  expect(fixture.outcomes('J')).toEqual(outcomesOf(['A', 'B'], 'PENDING'))
  fixture.identity.assembly.stop()
  fixture.identity.assembly.context.devices.links.stop()
  await fixture.identity.world.advance(5_000)
  expect(fixture.outcomes('J')).toEqual(['A OK', 'B PENDING'])
  expect(await refusal(fixture.requestBegin('K', ['A']))).toBe('stopping STOPPING')
  await fixture.restart()
  fixture.behaviour = accepting
  await fixture.link('A', 'B')
  await fixture.identity.world.advance(10_000)
  expect(fixture.outcomes('J')).toEqual(['A OK', 'B OK'])
})

test('the actions of a deleted tenant are deleted', async () => {
  fixture = await ActionFixture.open()
  await fixture.identity.addTenant('acme')
  const {
    devices: { actions },
    system,
  } = fixture.identity.assembly.context
  const begin = { tenant: 'acme', id: 'J', author: fixture.ann, serviceIdentifier: 'svc', updates: { '1': 1 } }
  await fixture.identity.wait(actions.begin({ ...begin, devices: [['A', 'B']] }))
  await fixture.identity.directory({ type: 'delete_tenant', tenant: 'acme' })
  await fixture.identity.world.advance(60_000)
  expect(await refusal(actions.begin({ ...begin, id: 'K', devices: [['A']] }))).toBe('not_found Not Found')
  expect(await listedRows(fixture.identity, runningActionIndex, 'acme')).toEqual([])
  for (const [kind, id, name] of [['action', 'J', 'action'] as const, ['action_page', 'J.0', 'page'] as const]) {
    expect(system.recordOf({ kind, tenant: 'acme', id }, name)).toBeUndefined()
  }
})

/** Each reading of the clock takes 0.05 ms, so that a slice of work has an end. */
class SlowWorld extends ManualWorld {
  isSlow = false

  override monotonic(): number {
    if (this.isSlow) this.spend(0.05)
    return super.monotonic()
  }
}

test('ten thousand devices are asked in short slices', async () => {
  const world = new SlowWorld()
  fixture = await ActionFixture.open([updateGrant], { world })
  const devices = namesOf(10_000)
  const begun = fixture.requestBegin('J', devices)
  world.isSlow = true
  let [longest, slices] = [0, 0]
  begun.catch(() => {})
  for (let quiet = 0; quiet < 20; ) {
    const before = ManualWorld.prototype.monotonic.call(world)
    const isBusy = world.step()
    await new Promise((resolve) => setImmediate(resolve))
    longest = Math.max(longest, ManualWorld.prototype.monotonic.call(world) - before)
    quiet = isBusy ? 0 : quiet + 1
    slices++
  }
  world.isSlow = false
  await begun
  await untilStored()
  expect(fixture.outcomes('J')).toEqual(outcomesOf(devices, 'NOT_FOUND'))
  expect(longest).toBeLessThan(3)
  expect(slices).toBeGreaterThan(400)
})
