import { afterEach, describe, expect, test } from 'vitest'
import { openWritesOfDeviceMax } from '#link/open-writes'
import { graceMs } from '#link/presence'
import { actionRetentionMs, actionsOfAuthorMax, actionsRunningMax } from '#model/action'
import { ServiceSchema } from '#model/service-schema'
import { ManualWorld } from '#test/runtime/manual-world'
import { ActionFixture, changing, namesOf, silent, willing } from '#test/workers/action-fixture'

let stage: ActionFixture
afterEach(async () => {
  expect(stage.stage.errors).toEqual([])
  await stage.close()
})

const all = (devices: readonly string[], status: string) => devices.map((device) => `${device} ${status}`)
/** What became of an action may be stored a moment later. */
const moments = () => stage.stage.world.advance(2_000)
const refusal = (promise: Promise<unknown>) => stage.stage.refusal(promise)

describe('an action', () => {
  test('asks each device once, by the id of both, and is done', async () => {
    stage = await ActionFixture.open()
    const devices = namesOf(250)
    await stage.link(...devices)
    await stage.begin('J', devices)
    await moments()
    expect(stage.outcomes('J')).toEqual(all(devices, 'OK'))
    expect(stage.action('J')).toMatchObject({ total: 250, createdBy: stage.ann, isDone: true })
    expect(await stage.going()).toEqual([])
    expect(stage.heard.map(({ device }) => device).sort()).toEqual(devices)
    expect(new Set(stage.heard.map(({ id }) => id)).size).toBe(250)
    for (const { id } of stage.heard) expect(id).toMatch(/^a:J:\d+$/)
  })

  test('for nobody is done at once', async () => {
    stage = await ActionFixture.open()
    await stage.begin('J', [])
    await moments()
    expect([stage.action('J')?.isDone, stage.outcomes('J'), await stage.going()]).toEqual([true, [], []])
  })

  test('says of each device what became of it', async () => {
    stage = await ActionFixture.open()
    await stage.link('A', 'B', 'C', 'D')
    const gone = await stage.link('OFF')
    gone.close()
    const other = await stage.link()
    other.hello('OTHER', { services: [{ serviceIdentifier: 'x', properties: [{ propId: 1, type: 'UINT8' }] }] })
    const typed = [{ serviceIdentifier: 'svc', properties: [{ propId: 1, type: 'BOOL' }] }]
    other.hello('TYPED', { services: typed })
    other.hello('LESS', { services: [{ serviceIdentifier: 'svc', properties: [{ propId: 2, type: 'STRING' }] }] })
    await stage.stage.world.advance(500)
    stage.manner = (write) => {
      if (write.device === 'B') return silent(write)
      if (write.device === 'C') return [{ propId: 1, status: 'REJECTED', message: 'no' }]
      return willing(write)
    }
    await stage.begin('J', ['A', 'B', 'C', 'D', 'LESS', 'NOBODY', 'OFF', 'OTHER', 'TYPED'])
    await moments()
    const statuses = [
      'OK',
      'PENDING',
      'REJECTED',
      'OK',
      'INVALID',
      'NOT_FOUND',
      'DEVICE_OFFLINE',
      'NOT_FOUND',
      'INVALID',
    ]
    const names = ['A', 'B', 'C', 'D', 'LESS', 'NOBODY', 'OFF', 'OTHER', 'TYPED']
    expect(stage.outcomes('J')).toEqual(names.map((name, place) => `${name} ${statuses[place]}`))
    expect(stage.action('J')?.isDone).toBe(false)
    await stage.stage.world.advance(12_000)
    expect(stage.outcomes('J')[1]).toBe('B DEVICE_TIMEOUT')
    expect(stage.action('J')?.isDone).toBe(true)
  })

  test('means by a name what the schema says when it is done', async () => {
    stage = await ActionFixture.open()
    await stage.link('A')
    const properties = { '0x1': { name: 'level', enum: { '3': { name: 'HIGH' } } } }
    const schema = ServiceSchema.parse({ name: 'S', properties })
    await stage.stage.tenant('default', { type: 'put_schema', service: 'svc', schema })
    await stage.begin('J', ['A'], { updates: { level: 'HIGH' } })
    await moments()
    expect([stage.outcomes('J'), stage.heard[0]?.updates]).toEqual([['A OK'], [{ propId: 1, value: 3 }]])
  })

  test('is gone after its day, with all its pages', async () => {
    stage = await ActionFixture.open()
    const devices = namesOf(150)
    await stage.link(...devices)
    await stage.begin('J', devices)
    await moments()
    stage.stage.world.spend(actionRetentionMs - 60_000)
    expect(stage.outcomes('J')).toHaveLength(150)
    await stage.stage.world.advance(60_000)
    expect(stage.action('J')).toBeUndefined()
    await stage.stage.world.advance(600_000)
    expect(stage.outcomes('J')).toEqual([])
  })
})

describe('the access of its author', () => {
  test.each<[string, Parameters<typeof ActionFixture.open>[0], string]>([
    ['reaches the service', [changing], 'OK'],
    ['reaches another service', [{ ...changing, services: ['x'] }], 'NOT_FOUND'],
    ['reaches another device', [{ ...changing, devices: ['B'] }], 'NOT_FOUND'],
    ['lets him read', [{ ...changing, permissions: { service: ['read'] } }], 'NOT_FOUND'],
  ])('%s', async (_, grants, status) => {
    stage = await ActionFixture.open(grants)
    await stage.link('A')
    await stage.begin('J', ['A'])
    await moments()
    expect(stage.outcomes('J')).toEqual([`A ${status}`])
  })

  test('is looked at anew at each device', async () => {
    stage = await ActionFixture.open()
    const devices = namesOf(100)
    await stage.link(...devices)
    stage.manner = silent
    await stage.begin('J', devices)
    await stage.stage.world.advance(100)
    expect(stage.heard).toHaveLength(64)
    await stage.stage.putRole('ops', [])
    await stage.stage.world.advance(15_000)
    expect(stage.heard).toHaveLength(64)
    expect(stage.outcomes('J').map((line) => line.split(' ')[1])).toEqual([
      ...Array(64).fill('DEVICE_TIMEOUT'),
      ...Array(36).fill('NOT_FOUND'),
    ])
  })

  test('is none when he is gone', async () => {
    stage = await ActionFixture.open()
    await stage.link('A')
    const { id: user } = stage.stage.row('ann')
    const author = stage.ann
    await stage.stage.directory({ type: 'remove_user', user })
    await stage.begin('J', ['A'], { author })
    await moments()
    expect(stage.outcomes('J')).toEqual(['A NOT_FOUND'])
  })
})

describe('many actions', () => {
  test('do not wait for one another', async () => {
    stage = await ActionFixture.open()
    const devices = namesOf(300)
    await stage.link(...devices, 'QUICK')
    stage.manner = (write) => (write.device === 'QUICK' ? willing(write) : silent(write))
    await stage.begin('SLOW', devices)
    await stage.begin('J', ['QUICK'])
    await stage.stage.world.advance(1_000)
    expect([stage.outcomes('J'), stage.action('J')?.isDone]).toEqual([['QUICK OK'], true])
    expect(stage.heard.filter(({ id }) => id.startsWith('a:SLOW:'))).toHaveLength(64)
  })

  test('ask no more than 256 devices at once', async () => {
    stage = await ActionFixture.open()
    const devices = namesOf(100)
    await stage.link(...devices)
    stage.manner = silent
    for (let count = 0; count < 6; count++) await stage.begin(`J${count}`, devices)
    await stage.stage.world.advance(100)
    expect(stage.heard).toHaveLength(256)
    await stage.stage.world.advance(40_000)
    for (let count = 0; count < 6; count++) expect(stage.outcomes(`J${count}`)).toEqual(all(devices, 'DEVICE_TIMEOUT'))
    expect(stage.heard).toHaveLength(600)
  })

  test('ask few devices in a moment', async () => {
    stage = await ActionFixture.open()
    const devices = namesOf(60)
    await stage.link(...devices)
    for (let count = 0; count < 3; count++) await stage.begin(`J${count}`, devices)
    let most = 0
    for (let before = 0; before < 180; before = stage.heard.length) {
      most = Math.max(most, stage.heard.length - before)
      await stage.stage.world.advance(4)
    }
    expect(most).toBeLessThanOrEqual(32)
  })

  test('of a tenant are a hundred, of one user forty; another one may begin when one is done', async () => {
    stage = await ActionFixture.open()
    await stage.link('A')
    stage.manner = silent
    const begin = (author: string, count: number) =>
      Array.from({ length: count }, (_, index) => refusal(stage.beginning(`${author}${index}`, ['A'], { author })))
    const refusedOf = async (begun: readonly Promise<string | undefined>[]) =>
      (await Promise.all(begun)).filter((code) => code !== undefined)
    const left = actionsRunningMax - 2 * actionsOfAuthorMax
    const [ofOne, ofAnother, ofTenant] = [
      begin('mallory', actionsOfAuthorMax + 2),
      begin('ann', actionsOfAuthorMax),
      begin('bob', left + 3),
    ]
    expect(await refusedOf(ofOne)).toEqual(Array(2).fill('conflict at most 40 actions of one user go on at once'))
    expect(await refusedOf(ofAnother)).toEqual([])
    expect(await refusedOf(ofTenant)).toEqual(Array(3).fill('conflict at most 100 actions go on at once'))
    await stage.stage.world.advance(30_000)
    expect(await stage.going()).toEqual([])
    expect(await refusal(stage.beginning('LAST', ['A']))).toBeUndefined()
  })

  test('are for a hundred thousand devices each', async () => {
    stage = await ActionFixture.open()
    const many = Array.from({ length: 100_001 }, (_, index) => `D-${1_000_000 + index}`)
    expect(await refusal(stage.beginning('J', many))).toBe('conflict an action is for at most 100000 devices')
    expect([stage.action('J'), await stage.going()]).toEqual([undefined, []])
  })

  test('of one id are one', async () => {
    stage = await ActionFixture.open()
    await stage.link('A')
    await stage.begin('J', ['A'])
    expect(await refusal(stage.beginning('J', ['A']))).toBe('conflict the id is taken')
  })
})

test('a device that has too much open is asked later', async () => {
  stage = await ActionFixture.open()
  await stage.link('A')
  stage.manner = silent
  const { writes } = stage.stage.assembly.context.links
  for (let count = 0; count < openWritesOfDeviceMax; count++) {
    const write = { tenant: 'default', device: 'A', service: 'svc', values: { '1': 1 }, schema: undefined }
    writes.ask({ ...write, id: `w${count}`, isWaiting: true, isRepeated: false }).catch(() => {})
  }
  await stage.begin('J', ['A'])
  await stage.stage.world.advance(5_000)
  expect(stage.outcomes('J')).toEqual(['A PENDING'])
  stage.manner = willing
  await stage.stage.world.advance(15_000)
  expect(stage.outcomes('J')).toEqual(['A OK'])
  expect(stage.heard.filter(({ id }) => id.startsWith('a:'))).toHaveLength(1)
})

describe('a process that dies', () => {
  const devices = namesOf(130)

  test.each(Array.from({ length: 24 }, (_, step) => [step * 3, step % 2] as const))(
    'after %i steps, %i of its writes on the disk, is followed by one that goes on under the same ids',
    async (steps, writesKept) => {
      stage = await ActionFixture.open()
      await stage.link(...devices)
      let isTaken = false
      stage.beginning('J', devices).then(
        () => {
          isTaken = true
        },
        () => {},
      )
      for (let step = 0; step < steps; step++) {
        await new Promise((resolve) => setImmediate(resolve))
        if (!stage.stage.world.step()) await stage.stage.world.advance(10)
      }
      await stage.restart(writesKept)
      await stage.link(...devices)
      await stage.stage.world.advance(20_000)
      const action = stage.action('J')
      // What was not taken may be there: its write had reached the disk.
      if (isTaken) expect(action).toBeDefined()
      if (!action) return expect(stage.heard).toEqual([])
      expect(stage.outcomes('J')).toEqual(all(devices, 'OK'))
      expect([action.isDone, await stage.going()]).toEqual([true, []])
      const ids = new Map<string, Set<string>>()
      for (const { device, id } of stage.heard) ids.set(device, (ids.get(device) ?? new Set()).add(id))
      expect([...ids.values()].map(({ size }) => size)).toEqual(devices.map(() => 1))
      expect(new Set([...ids.values()].flatMap((own) => [...own])).size).toBe(devices.length)
    },
  )

  test('asks no device again whose outcome is stored', async () => {
    stage = await ActionFixture.open()
    await stage.link(...devices)
    stage.manner = (write) => (write.device < 'D-10100' ? willing(write) : silent(write))
    await stage.begin('J', devices)
    await stage.stage.world.advance(5_000)
    expect([stage.action('J')?.isDone, await stage.going()]).toEqual([false, ['J']])
    await stage.restart()
    stage.heard.length = 0
    stage.manner = willing
    await stage.link(...devices)
    await stage.stage.world.advance(20_000)
    expect(stage.outcomes('J')).toEqual(all(devices, 'OK'))
    expect(stage.heard.map(({ device }) => device).sort()).toEqual(devices.slice(100))
  })

  test('leaves devices the time to come back; who does not is offline', async () => {
    stage = await ActionFixture.open()
    await stage.link('A', 'B', 'C')
    stage.manner = silent
    await stage.begin('J', ['A', 'B', 'C'])
    await stage.stage.world.settle()
    await stage.restart()
    await stage.stage.world.advance(graceMs - 5_000)
    expect(stage.outcomes('J')).toEqual(all(['A', 'B', 'C'], 'PENDING'))
    stage.manner = willing
    await stage.link('B')
    await stage.stage.world.advance(20_000)
    expect(stage.outcomes('J')).toEqual(['A DEVICE_OFFLINE', 'B OK', 'C DEVICE_OFFLINE'])
  })
})

test('a failed write loses no outcome', async () => {
  stage = await ActionFixture.open()
  // As many as are asked in one moment.
  const devices = namesOf(16)
  await stage.link(...devices)
  const begun = stage.beginning('J', devices)
  while (stage.heard.length < 16) {
    stage.stage.world.step()
    await new Promise((resolve) => setImmediate(resolve))
  }
  await begun
  stage.stage.faults.next = { fail: 'full', reachedDisk: false }
  await stage.stage.world.advance(60_000)
  expect(stage.stage.errors.splice(0).length).toBeGreaterThan(0)
  expect(stage.outcomes('J')).toEqual(all(devices, 'OK'))
  expect(stage.action('J')?.isDone).toBe(true)
  expect(stage.heard).toHaveLength(16)
})

test('a server that stops keeps what it heard, and takes its own refusals for nothing', async () => {
  stage = await ActionFixture.open()
  await stage.link('A', 'B')
  stage.manner = (write) => (write.device === 'A' ? willing(write) : silent(write))
  await stage.begin('J', ['A', 'B'])
  await stage.stage.world.settle()
  expect(stage.outcomes('J')).toEqual(all(['A', 'B'], 'PENDING'))
  stage.stage.assembly.stop()
  stage.stage.assembly.context.links.stop()
  await stage.stage.world.advance(5_000)
  expect(stage.outcomes('J')).toEqual(['A OK', 'B PENDING'])
  expect(await refusal(stage.beginning('K', ['A']))).toBe('stopping STOPPING')
  await stage.restart()
  stage.manner = willing
  await stage.link('A', 'B')
  await stage.stage.world.advance(10_000)
  expect(stage.outcomes('J')).toEqual(['A OK', 'B OK'])
})

test('a tenant that is deleted takes its actions along', async () => {
  stage = await ActionFixture.open()
  await stage.stage.addTenant('acme')
  const { actions, listing, system } = stage.stage.assembly.context
  const begin = { tenant: 'acme', id: 'J', author: stage.ann, serviceIdentifier: 'svc', updates: { '1': 1 } }
  await stage.stage.wait(actions.begin({ ...begin, devices: [['A', 'B']] }))
  await stage.stage.directory({ type: 'delete_tenant', tenant: 'acme' })
  await stage.stage.world.advance(60_000)
  expect(await refusal(actions.begin({ ...begin, id: 'K', devices: [['A']] }))).toBe('not_found Not Found')
  const pages = listing.entries('running_action', 'acme')
  expect(await stage.stage.wait(pages.next(10))).toEqual([])
  await pages.close()
  for (const [kind, id, name] of [['action', 'J', 'action'] as const, ['action_page', 'J.0', 'page'] as const]) {
    expect(system.recordOf({ kind, tenant: 'acme', id }, name)).toBeUndefined()
  }
})

/** Looking at the clock takes a while here: what never looks is never slow, and what looks has to stop in time. */
class SlowWorld extends ManualWorld {
  isSlow = false

  override monotonic(): number {
    if (this.isSlow) this.spend(0.05)
    return super.monotonic()
  }
}

test('ten thousand devices are asked a little at a time', async () => {
  const world = new SlowWorld()
  stage = await ActionFixture.open([changing], { world })
  const devices = namesOf(10_000)
  const begun = stage.beginning('J', devices)
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
  await moments()
  expect(stage.outcomes('J')).toEqual(all(devices, 'NOT_FOUND'))
  expect(longest).toBeLessThan(3)
  expect(slices).toBeGreaterThan(400)
})
