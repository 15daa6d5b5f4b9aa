import { afterEach, describe, expect, test, vi } from 'vitest'
import { hashOf } from '#access/secret-text'
import { Problem } from '#model/problem'
import { IdentityFixture } from '#test/access/identity-fixture'
import { AlarmFixture, readGrant } from '#test/workers/alarm-fixture'

let fleet: AlarmFixture
afterEach(async () => {
  expect(fleet.identity.errors).toEqual([])
  await fleet.identity.close()
})

const devices = ['A', 'B']

async function openFleet(devices: Parameters<AlarmFixture['bring']>[0] = { A: 20, B: 40 }): Promise<void> {
  fleet = await AlarmFixture.open()
  await fleet.bring(devices)
}

/** Opens a fleet in which A is cold and B is warm, runs `prepare`, and lets the devices fall asleep. */
async function openAsleep(prepare: () => Promise<unknown>): Promise<void> {
  await openFleet()
  await prepare()
  await fleet.identity.world.settle()
  await fleet.sleep(devices)
}

describe('sleeping devices are evaluated after', () => {
  const active = { B: 'hot' }
  type Change = () => Promise<unknown>
  const group = 'G1abcdefgh'
  const putInGroup = () => fleet.putGroup(group, 'A', 'B').then(() => fleet.put('hot', { groups: [group] }))
  const put = () => fleet.put('hot')
  const remove = () => fleet.identity.tenant('default', { type: 'delete_alarm', id: 'hot' })

  test.each<[title: string, prepare: Change, before: object, edit: Change, after: object]>([
    ['a new alarm', async () => {}, {}, put, active],
    ['a device removed from its group', putInGroup, active, () => fleet.putGroup(group, 'A'), {}],
    ['a smaller role of the author', put, active, () => fleet.identity.putRole('ops', [readGrant('A')]), {}],
    ['the deletion of the alarm', put, active, remove, {}],
  ])('%s', async (_, prepare, before, edit, after) => {
    await openAsleep(prepare)
    expect(fleet.alarmStates(devices)).toEqual(before)
    await edit()
    await fleet.identity.world.settle()
    // Later evaluations, if any, have run after a second.
    await fleet.identity.world.advance(1_000)
    expect(fleet.alarmStates(devices)).toEqual(after)
    expect(await fleet.listedRows()).toEqual(Object.keys(after).map((device) => `hot/${device}`))
    expect(fleet.unfinishedAlarms).toEqual([])
  })

  test('the expiry of the API key of the author', async () => {
    const dayMs = 86_400_000
    await openFleet()
    const [id, expiresAt] = ['K1abcdefgh', fleet.identity.world.now() + dayMs]
    const key = { type: 'add_api_key', id, name: 'x', hash: hashOf('x'), roles: ['ops'], expiresAt } as const
    await fleet.identity.tenant('default', key)
    await fleet.put('hot', {}, `crn#key:${id}`)
    await fleet.identity.world.settle()
    expect(fleet.alarmStates(devices)).toEqual(active)
    await fleet.sleep(devices)
    fleet.identity.world.spend(dayMs)
    await fleet.identity.world.advance(1)
    expect(fleet.alarmStates(devices)).toEqual({})
  })

  test('no change without an effect: the devices stay asleep', async () => {
    await openAsleep(() => fleet.put('hot'))
    await fleet.put('hot', { name: 'Hot' })
    await fleet.putSchema({ '0x2000': 'degrees' })
    await fleet.identity.putRole('ops', [readGrant('A', 'B')])
    await fleet.identity.world.settle()
    expect([fleet.alarmStates(devices), fleet.unfinishedAlarms]).toEqual([active, []])
    expect(devices.filter((device) => fleet.isAwake(device))).toEqual([])
  })
})

/** Runs until `count` more commits are sealed, or there are no more. */
async function untilSealed(count: number): Promise<void> {
  const { world, assembly } = fleet.identity
  const { gate } = assembly.context.system
  const wanted = gate.sealedCount + count
  for (let quiet = 0; gate.sealedCount < wanted && quiet <= 3; ) {
    quiet = world.step() ? 0 : quiet + 1
    await new Promise((resolve) => setImmediate(resolve))
  }
}

test('evaluations during a short change of a role are undone, also if no sweep ran', async () => {
  await openFleet()
  await fleet.put('hot')
  await fleet.identity.world.settle()
  const isNarrow = () =>
    fleet.identity.identity.authors.scopeOf('default', fleet.ann).grants[0]?.devices.includes('A') === true
  const narrowed = fleet.ask({ type: 'put_role', role: 'ops', grants: [readGrant('A')] })
  for (let steps = 0; steps < 1_000 && !isNarrow(); steps++) {
    fleet.identity.world.step()
    await new Promise((resolve) => setImmediate(resolve))
  }
  expect(isNarrow()).toBe(true)
  // In one commit: B reports and is evaluated with the smaller role, and the role is restored.
  const reported = fleet.requestReport('B', 41)
  const widened = fleet.ask({ type: 'put_role', role: 'ops', grants: [readGrant('*')] })
  for (const request of [narrowed, reported, widened]) request.catch(() => {})
  expect(fleet.alarmStates(devices)).toEqual({})
  await untilSealed(1)
  fleet.identity = await fleet.identity.restart({}, 1)
  expect(isNarrow()).toBe(false)
  await fleet.identity.world.settle()
  expect([fleet.alarmStates(devices), fleet.unfinishedAlarms]).toEqual([{ B: 'hot' }, []])
})

/** Restarts, and returns the number of devices that the next process reads. */
async function readCountAtStart(): Promise<number> {
  const { world, backend, faults } = fleet.identity
  backend.crash(1)
  world.kill()
  fleet.identity = new IdentityFixture({ world, stored: { backend, faults } })
  const peek = vi.spyOn(fleet.identity.assembly.context.system, 'peek')
  await fleet.identity.wait(fleet.identity.assembly.open())
  await world.settle()
  const reads = peek.mock.calls.filter(([{ kind }]) => kind === 'device').length
  peek.mockRestore()
  return reads
}

describe('thousands of devices', () => {
  const names = Array.from({ length: 5_000 }, (_, index) => `D-${10_000 + index}`)
  const open = () => openFleet(Object.fromEntries(names.map((name, index) => [name, index % 500 === 0 ? 40 : 20])))
  const warmOnes = Object.fromEntries(names.filter((_, index) => index % 500 === 0).map((name) => [name, 'hot']))

  test('are read in slices, and only those with a change wake up', async () => {
    await open()
    await fleet.sleep(names)
    const { world, assembly } = fleet.identity
    const { system } = assembly.context
    let slice = 0
    let longest = 0
    let reads = 0
    const soon = world.soon.bind(world)
    vi.spyOn(world, 'soon').mockImplementation((task) =>
      soon(() => {
        slice = 0
        task()
      }),
    )
    const peek = system.peek.bind(system)
    vi.spyOn(system, 'peek').mockImplementation((address) => {
      if (address.kind === 'device') {
        reads++
        slice += 0.125
        longest = Math.max(longest, slice)
        busyMs += 0.125
      }
      return peek(address)
    })
    let busyMs = 0
    const monotonic = world.monotonic.bind(world)
    vi.spyOn(world, 'monotonic').mockImplementation(() => monotonic() + busyMs)
    await fleet.put('hot')
    await world.settle()
    vi.restoreAllMocks()
    expect([reads >= names.length, longest > 0.5, longest <= 2]).toEqual([true, true, true])
    expect(names.filter((name) => fleet.isAwake(name))).toEqual(Object.keys(warmOnes))
    expect(fleet.alarmStates(names)).toEqual(warmOnes)
  })

  test('are evaluated with the last of several edits', async () => {
    await open()
    const { world } = fleet.identity
    for (const limit of [10, 50, 15, 30]) {
      const edit = fleet.requestPut('hot', { condition: { '>': [{ var: '0x2000' }, limit] } })
      await untilSealed(5)
      edit.catch(() => {})
    }
    await world.settle()
    const states = fleet.alarmStates(names)
    expect(Object.entries(states).filter(([, state]) => state === 'hot')).toEqual(Object.entries(warmOnes))
    expect(Object.values(states).filter((state) => !/^\(?hot\)?$/.test(state))).toEqual([])
    expect(fleet.unfinishedAlarms).toEqual([])
  })

  test('are read from the position of a killed process', async () => {
    await open()
    const { world } = fleet.identity
    const edit = fleet.requestPut('hot')
    const cursors = () => [...fleet.identity.tenantState().evaluated.values()].map(({ cursor }) => cursor)
    for (let steps = 0; steps < 100_000 && (cursors()[0] ?? '') === ''; steps++) {
      world.step()
      await new Promise((resolve) => setImmediate(resolve))
    }
    edit.catch(() => {})
    const position = cursors()[0] ?? ''
    expect(position).not.toBe('')
    await untilSealed(1)
    const left = names.filter((name) => name > position).length
    const reads = await readCountAtStart()
    // Devices with an active alarm are read again.
    expect([left < names.length / 2, reads >= left, reads <= left + 10]).toEqual([true, true, true])
    expect([fleet.alarmStates(names), fleet.unfinishedAlarms]).toEqual([warmOnes, []])
  })
})

describe('a start', () => {
  test('reads no device if all evaluations are current', async () => {
    await openAsleep(() => fleet.put('hot'))
    expect([await readCountAtStart(), fleet.alarmStates(devices)]).toEqual([0, { B: 'hot' }])
  })

  test('reads the devices of an unfinished alarm', async () => {
    await openFleet()
    fleet.requestPut('hot').catch(() => {})
    await untilSealed(1)
    expect([(await readCountAtStart()) > 0, fleet.alarmStates(devices)]).toEqual([true, { B: 'hot' }])
  })
})

test('a failed write during a sweep is repeated', async () => {
  for (const reachedDisk of [false, true]) {
    await openFleet()
    const edit = fleet.requestPut('hot')
    await untilSealed(1)
    fleet.identity.faults.next = { fail: 'full', reachedDisk }
    await fleet.identity.wait(edit)
    await fleet.identity.world.settle()
    await fleet.identity.world.advance(10_000)
    expect([fleet.alarmStates(devices), fleet.unfinishedAlarms]).toEqual([{ B: 'hot' }, []])
    expect(fleet.identity.errors.splice(0).length).toBeGreaterThan(0)
  }
})

describe('a device that refuses its evaluation because of overload', () => {
  /** Refuses the next evaluations. Returns a function that counts evaluations. */
  function refuse(countOfRefusals: number): () => number {
    const { system } = fleet.identity.assembly.context
    const ask = system.ask.bind(system)
    let count = 0
    vi.spyOn(system, 'ask').mockImplementation((address, command, bytes) => {
      const isEvaluate = address.kind === 'device' && (command as { type: string }).type === 'evaluate'
      if (isEvaluate && ++count <= countOfRefusals) return Promise.reject(new Problem('overloaded'))
      return ask(address, command, bytes)
    })
    return () => count
  }

  afterEach(() => {
    vi.restoreAllMocks()
  })

  test('is tried again until it succeeds, and only then the sweep ends', async () => {
    await openAsleep(async () => {})
    const evaluationCount = refuse(3)
    await fleet.put('hot')
    for (let refused = 1; refused <= 3; refused++) {
      await fleet.identity.world.settle()
      expect([evaluationCount(), fleet.alarmStates(devices), fleet.unfinishedAlarms]).toEqual([refused, {}, ['hot']])
      await fleet.identity.world.advance(1_000)
    }
    await fleet.identity.world.settle()
    expect([evaluationCount(), fleet.alarmStates(devices), fleet.unfinishedAlarms]).toEqual([4, { B: 'hot' }, []])
  })

  test('does not delay others', async () => {
    await openFleet({ A: 35, B: 40 })
    const evaluationCount = refuse(1)
    await fleet.put('hot')
    await fleet.identity.world.settle()
    expect([evaluationCount(), fleet.alarmStates(devices), fleet.unfinishedAlarms]).toEqual([2, { B: 'hot' }, ['hot']])
    await fleet.identity.world.advance(1_000)
    await fleet.identity.world.settle()
    expect(fleet.alarmStates(devices)).toEqual({ A: 'hot', B: 'hot' })
    expect([evaluationCount(), fleet.unfinishedAlarms]).toEqual([3, []])
  })

  test('is left to the next process if the server stops', async () => {
    await openAsleep(async () => {})
    const evaluationCount = refuse(1)
    await fleet.put('hot')
    await fleet.identity.world.settle()
    fleet.identity.assembly.stop()
    await fleet.identity.world.advance(10_000)
    expect([evaluationCount(), fleet.alarmStates(devices)]).toEqual([1, {}])
    vi.restoreAllMocks()
    fleet.identity = await fleet.identity.restart({}, 1)
    await fleet.identity.world.settle()
    expect([fleet.alarmStates(devices), fleet.unfinishedAlarms]).toEqual([{ B: 'hot' }, []])
  })
})

test('the tenant actor of a deleted tenant gets no turn', async () => {
  await openAsleep(() => fleet.identity.addTenant('acme'))
  const { system } = fleet.identity.assembly.context
  const author = fleet.ann
  await fleet.identity.tenant('acme', { type: 'put_alarm', id: 'hot', isNew: true, body: fleet.body(), author })
  const turns = vi.spyOn(system, 'turn')
  const deleted = fleet.identity.directory({ type: 'delete_tenant', tenant: 'acme' })
  await deleted
  await fleet.identity.world.advance(60_000)
  const ofAcme = turns.mock.calls.filter(([{ tenant, kind }]) => tenant === 'acme' && kind === 'tenant')
  turns.mockRestore()
  expect(ofAcme).toEqual([])
})

test('a stopped sweep is left to the next process', async () => {
  await openAsleep(async () => {})
  const edit = fleet.requestPut('hot')
  await untilSealed(1)
  fleet.identity.assembly.stop()
  await fleet.identity.wait(edit)
  await fleet.identity.world.settle()
  expect(fleet.alarmStates(devices)).toEqual({})
  fleet.identity = await fleet.identity.restart({}, 1)
  await fleet.identity.world.settle()
  expect(fleet.alarmStates(devices)).toEqual({ B: 'hot' })
})
