import { afterEach, describe, expect, test, vi } from 'vitest'
import { hashOf } from '#access/secret-text'
import type { DirectoryCommand } from '#actors/directory/commands'
import type { TenantCommand } from '#actors/tenant/commands'
import { Problem } from '#model/problem'
import { IdentityFixture } from '#test/access/identity-fixture'
import { AlarmFixture, reading } from '#test/workers/alarm-fixture'

let fleet: AlarmFixture
afterEach(async () => {
  expect(fleet.stage.errors).toEqual([])
  await fleet.stage.close()
})

const cold = { '<': [{ var: '0x2000' }, 30] }
const devices = ['A', 'B']
const weekS = 604_800

/** A is cold, B is warm. `prepare` comes before they fall asleep. */
async function asleep(prepare: () => Promise<unknown>): Promise<void> {
  fleet = await AlarmFixture.open()
  await fleet.bring({ A: 20, B: 40 })
  await prepare()
  await fleet.stage.world.settle()
  await fleet.sleep(devices)
}

const keyId = 'K1abcdefgh'
const key = (expiresAt: number | null = null): TenantCommand => ({
  type: 'add_api_key',
  id: keyId,
  name: 'x',
  hash: hashOf('x'),
  roles: ['ops'],
  expiresAt,
})
const ofAnn = (change: object) =>
  fleet.stage.directory({ type: 'update_user', user: fleet.stage.row('ann').id, ...change } as DirectoryCommand)
const gone = () => fleet.stage.directory({ type: 'remove_user', user: fleet.stage.row('ann').id })

describe('a silent fleet that sleeps is reached by', () => {
  const active = { B: 'hot' }
  test.each<
    [what: string, prepare: () => Promise<unknown>, before: object, edit: () => Promise<unknown>, after: object]
  >([
    ['an alarm that is made', async () => {}, {}, () => fleet.put('hot'), active],
    [
      'its condition',
      () => fleet.put('hot'),
      active,
      () => fleet.put('hot', { condition: cold }),
      { A: 'hot', B: '(hot)' },
    ],
    [
      'how long it has to hold',
      () => fleet.put('hot', { forSeconds: weekS }),
      {},
      () => fleet.put('hot', { forSeconds: 1 }),
      active,
    ],
    ['what it is bound to', () => fleet.put('hot'), active, () => fleet.put('hot', { devices: ['A'] }), {}],
    [
      'a group that it names',
      () => fleet.putGroup('G1abcdefgh', 'A').then(() => fleet.put('hot', { groups: ['G1abcdefgh'] })),
      {},
      () => fleet.putGroup('G1abcdefgh', 'A', 'B'),
      active,
    ],
    [
      'a group that loses a device',
      () => fleet.putGroup('G1abcdefgh', 'A', 'B').then(() => fleet.put('hot', { groups: ['G1abcdefgh'] })),
      active,
      () => fleet.putGroup('G1abcdefgh', 'A'),
      {},
    ],
    [
      'a schema that knows its names',
      () => fleet.put('hot', { condition: { '>': [{ var: 'degrees' }, 30] } }),
      {},
      () => fleet.putSchema({ '0x2000': 'degrees' }),
      active,
    ],
    [
      'a role that lets its author read less',
      () => fleet.put('hot'),
      active,
      () => fleet.stage.putRole('ops', [reading('A')]),
      {},
    ],
    [
      'a role that lets him read more',
      () => fleet.stage.putRole('ops', [reading('A')]).then(() => fleet.put('hot')),
      {},
      () => fleet.stage.putRole('ops', [reading('A', 'B')]),
      active,
    ],
    ['other roles of his', () => fleet.put('hot'), active, () => ofAnn({ roles: [] }), {}],
    ['his being disabled', () => fleet.put('hot'), active, () => ofAnn({ state: 'disabled' }), {}],
    ['his end', () => fleet.put('hot'), active, gone, {}],
    [
      'the end of the key that made it',
      () => fleet.stage.tenant('default', key()).then(() => fleet.put('hot', {}, `crn#key:${keyId}`)),
      active,
      () => fleet.stage.tenant('default', { type: 'delete_key', kind: 'api_key', id: keyId }),
      {},
    ],
    [
      'its end',
      () => fleet.put('hot'),
      active,
      () => fleet.stage.tenant('default', { type: 'delete_alarm', id: 'hot' }),
      {},
    ],
    ['another author', () => fleet.put('hot', {}, 'crn#user:anonymous'), {}, () => fleet.put('hot'), active],
  ])('%s', async (_, prepare, before, edit, after) => {
    await asleep(prepare)
    expect(fleet.standing(devices)).toEqual(before)
    await edit()
    await fleet.stage.world.settle()
    // What has to hold for a second has not yet.
    await fleet.stage.world.advance(1_000)
    expect(fleet.standing(devices)).toEqual(after)
    expect(await fleet.listed()).toEqual(Object.keys(after).map((device) => `hot/${device}`))
    expect(fleet.due).toEqual([])
  })

  test('the time of the key that made it', async () => {
    fleet = await AlarmFixture.open()
    const dayMs = 86_400_000
    await fleet.bring({ A: 20, B: 40 })
    await fleet.stage.tenant('default', key(fleet.stage.world.now() + dayMs))
    await fleet.put('hot', {}, `crn#key:${keyId}`)
    await fleet.stage.world.settle()
    expect(fleet.standing(devices)).toEqual(active)
    await fleet.sleep(devices)
    fleet.stage.world.spend(dayMs)
    await fleet.stage.world.advance(1)
    expect(fleet.standing(devices)).toEqual({})
  })

  test('nobody, where it comes to the same: who sleeps sleeps on', async () => {
    await asleep(() => fleet.put('hot'))
    await fleet.put('hot', { name: 'Hot' })
    await fleet.putSchema({ '0x2000': 'degrees' })
    await fleet.stage.putRole('ops', [reading('A', 'B')])
    await fleet.stage.world.settle()
    expect([fleet.standing(devices), fleet.due, devices.filter((device) => fleet.isAwake(device))]).toEqual([
      active,
      [],
      [],
    ])
  })
})

/** Runs until so many commits were sealed, and no further; false when there were fewer. */
async function untilSealed(count: number): Promise<boolean> {
  const { world, assembly } = fleet.stage
  const { gate } = assembly.context.system
  for (let quiet = 0; gate.sealedCount < count; ) {
    quiet = world.step() ? 0 : quiet + 1
    await new Promise((told) => setImmediate(told))
    if (quiet > 3) return false
  }
  return true
}

/** Does something, is killed after each of the commits that come of it, and looks what stands after the next start. */
async function killedEverywhere(
  prepare: () => Promise<unknown>,
  edit: () => Promise<unknown>,
  check: () => void,
): Promise<void> {
  let kills = 0
  for (const kept of [0, 1]) {
    for (let commits = 1; ; commits++) {
      fleet = await AlarmFixture.open()
      await fleet.bring({ A: 20, B: 40, C: 50 })
      await prepare()
      await fleet.stage.world.settle()
      const before = fleet.stage.assembly.context.system.gate.sealedCount
      edit().catch(() => {})
      const isKilled = await untilSealed(before + commits)
      fleet.stage = await fleet.stage.restart({}, kept)
      await fleet.stage.world.settle()
      check()
      expect(fleet.due).toEqual([])
      expect(await fleet.listed()).toEqual(
        Object.entries(fleet.standing(['A', 'B', 'C']))
          .flatMap(([device, ids]) => ids.split(' ').map((id) => `${id.replace(/[()]/g, '')}/${device}`))
          .sort(),
      )
      if (!isKilled) break
      kills++
    }
  }
  expect(kills).toBeGreaterThan(4)
}

describe('killed after any commit, the next process makes it true:', () => {
  const all = ['A', 'B', 'C']
  const ask = (command: TenantCommand) => fleet.ask(command)

  test('one that is edited', async () => {
    await killedEverywhere(
      () => fleet.put('hot'),
      () =>
        ask({ type: 'put_alarm', id: 'hot', isNew: false, body: fleet.body({ condition: cold }), author: fleet.ann }),
      () => {
        const isEdited = JSON.stringify(fleet.stage.tenantState().alarms.get('hot')?.condition).includes('<')
        expect(fleet.standing(all)).toEqual(isEdited ? { A: 'hot', B: '(hot)', C: '(hot)' } : { B: 'hot', C: 'hot' })
      },
    )
  })

  test('a role that is edited forth and back', async () => {
    await killedEverywhere(
      () => fleet.put('hot'),
      async () => {
        await ask({ type: 'put_role', role: 'ops', grants: [reading('A', 'B')] })
        // Somebody is judged by it before anything is swept.
        await ask({ type: 'put_role', role: 'ops', grants: [reading('*')] })
      },
      () => {
        const isNarrow = fleet.stage.tenantState().roles.get('ops')?.grants[0]?.devices.includes('A')
        expect(fleet.standing(all)).toEqual(isNarrow ? { B: 'hot' } : { B: 'hot', C: 'hot' })
      },
    )
  })
})

test('what a role did while it was another is undone, though it is the same again and nothing was swept', async () => {
  fleet = await AlarmFixture.open()
  await fleet.bring({ A: 20, B: 40 })
  await fleet.put('hot')
  await fleet.stage.world.settle()
  const { system } = fleet.stage.assembly.context
  const isNarrow = () => fleet.stage.identity.scopeOf('default', fleet.ann).grants[0]?.devices.includes('A') === true
  const narrowed = fleet.ask({ type: 'put_role', role: 'ops', grants: [reading('A')] })
  for (let steps = 0; steps < 1_000 && !isNarrow(); steps++) {
    fleet.stage.world.step()
    await new Promise((told) => setImmediate(told))
  }
  expect(isNarrow()).toBe(true)
  // In one commit: B says something and is judged by what its author may read now; and that is as before again.
  const said = fleet.saying('B', 41)
  const widened = fleet.ask({ type: 'put_role', role: 'ops', grants: [reading('*')] })
  for (const asked of [narrowed, said, widened]) asked.catch(() => {})
  expect(fleet.standing(devices)).toEqual({})
  await untilSealed(system.gate.sealedCount + 1)
  fleet.stage = await fleet.stage.restart({}, 1)
  expect(isNarrow()).toBe(false)
  await fleet.stage.world.settle()
  expect([fleet.standing(devices), fleet.due]).toEqual([{ B: 'hot' }, []])
})

/** How many devices the next process looks at before it rests. */
async function looksAtStart(): Promise<number> {
  const { world, place, faults } = fleet.stage
  place.crash(1)
  world.kill()
  fleet.stage = new IdentityFixture({ world, stored: { place, faults } })
  const look = vi.spyOn(fleet.stage.assembly.context.system, 'peek')
  await fleet.stage.wait(fleet.stage.assembly.open())
  await world.settle()
  const looks = look.mock.calls.filter(([{ kind }]) => kind === 'device').length
  look.mockRestore()
  return looks
}

describe('ten thousand devices', () => {
  const names = Array.from({ length: 10_000 }, (_, index) => `D-${10_000 + index}`)
  const bring = () => fleet.bring(Object.fromEntries(names.map((name, index) => [name, index % 1_000 === 0 ? 40 : 20])))
  const warmOnes = Object.fromEntries(names.filter((_, index) => index % 1_000 === 0).map((name) => [name, 'hot']))

  test('are gone through in slices, and only those wake that something comes of', async () => {
    fleet = await AlarmFixture.open()
    await bring()
    await fleet.sleep(names)
    const { world, assembly } = fleet.stage
    const { system } = assembly.context
    let slice = 0
    let longest = 0
    let looks = 0
    const soon = world.soon.bind(world)
    vi.spyOn(world, 'soon').mockImplementation((task) =>
      soon(() => {
        slice = 0
        task()
      }),
    )
    const look = system.peek.bind(system)
    vi.spyOn(system, 'peek').mockImplementation((address) => {
      if (address.kind === 'device') {
        looks++
        slice += 0.125
        longest = Math.max(longest, slice)
        busyMs += 0.125
      }
      return look(address)
    })
    let busyMs = 0
    const monotonic = world.monotonic.bind(world)
    vi.spyOn(world, 'monotonic').mockImplementation(() => monotonic() + busyMs)
    await fleet.put('hot')
    await world.settle()
    vi.restoreAllMocks()
    expect([looks >= names.length, longest > 0.5, longest <= 2]).toEqual([true, true, true])
    expect(names.filter((name) => fleet.isAwake(name))).toEqual(Object.keys(warmOnes))
    expect(fleet.standing(names)).toEqual(warmOnes)
  })

  test('are judged by the last of several edits, wherever a sweep was when they came', async () => {
    fleet = await AlarmFixture.open()
    await bring()
    const { world, assembly } = fleet.stage
    const { gate } = assembly.context.system
    for (const limit of [10, 50, 15, 30]) {
      const edit = fleet.putting('hot', { condition: { '>': [{ var: '0x2000' }, limit] } })
      await untilSealed(gate.sealedCount + 5)
      edit.catch(() => {})
    }
    await world.settle()
    const stands = fleet.standing(names)
    expect(Object.entries(stands).filter(([, shown]) => shown === 'hot')).toEqual(Object.entries(warmOnes))
    expect([Object.values(stands).filter((shown) => !/^\(?hot\)?$/.test(shown)), fleet.due]).toEqual([[], []])
  })

  test('are gone through from where a killed process came to', async () => {
    fleet = await AlarmFixture.open()
    await bring()
    const { world } = fleet.stage
    const edit = fleet.putting('hot')
    const cursors = () => [...fleet.stage.tenantState().judged.values()].map(({ cursor }) => cursor)
    for (let steps = 0; steps < 100_000 && (cursors()[0] ?? '') === ''; steps++) {
      world.step()
      await new Promise((told) => setImmediate(told))
    }
    edit.catch(() => {})
    const cameTo = cursors()[0] ?? ''
    expect(cameTo).not.toBe('')
    await untilSealed(fleet.stage.assembly.context.system.gate.sealedCount + 1)
    const left = names.filter((name) => name > cameTo).length
    const looks = await looksAtStart()
    // What is active already is looked at again.
    expect([left < 6_000, looks >= left, looks <= left + 10]).toEqual([true, true, true])
    expect([fleet.standing(names), fleet.due]).toEqual([warmOnes, []])
  })
})

describe('a start', () => {
  test('looks at nobody where all were judged by what is', async () => {
    await asleep(() => fleet.put('hot'))
    expect([await looksAtStart(), fleet.standing(devices)]).toEqual([0, { B: 'hot' }])
  })

  test('looks at those of an alarm that was not done', async () => {
    fleet = await AlarmFixture.open()
    await fleet.bring({ A: 20, B: 40 })
    fleet.putting('hot').catch(() => {})
    await untilSealed(fleet.stage.assembly.context.system.gate.sealedCount + 1)
    expect([(await looksAtStart()) > 0, fleet.standing(devices)]).toEqual([true, { B: 'hot' }])
  })
})

test('a write that fails meanwhile is made up for', async () => {
  for (const reachedDisk of [false, true]) {
    fleet = await AlarmFixture.open()
    await fleet.bring({ A: 20, B: 40 })
    const edit = fleet.putting('hot')
    await untilSealed(fleet.stage.assembly.context.system.gate.sealedCount + 1)
    fleet.stage.faults.next = { fail: 'full', reachedDisk }
    await fleet.stage.wait(edit)
    await fleet.stage.world.settle()
    await fleet.stage.world.advance(10_000)
    expect([fleet.standing(devices), fleet.due]).toEqual([{ B: 'hot' }, []])
    expect(fleet.stage.errors.splice(0).length).toBeGreaterThan(0)
  }
})

describe('a device that is refused because too much waits', () => {
  /** The next so many askings to judge are refused. */
  function refuse(countOfRefusals: number): () => number {
    const { system } = fleet.stage.assembly.context
    const ask = system.ask.bind(system)
    let asked = 0
    vi.spyOn(system, 'ask').mockImplementation((address, command, bytes) => {
      const isJudge = address.kind === 'device' && (command as { type: string }).type === 'judge'
      if (isJudge && ++asked <= countOfRefusals) return Promise.reject(new Problem('overloaded'))
      return ask(address, command, bytes)
    })
    return () => asked
  }

  afterEach(() => {
    vi.restoreAllMocks()
  })

  test('is asked again until it is judged, and only then the sweep is done', async () => {
    await asleep(async () => {})
    const asked = refuse(3)
    await fleet.put('hot')
    for (let refused = 1; refused <= 3; refused++) {
      await fleet.stage.world.settle()
      expect([asked(), fleet.standing(devices), fleet.due]).toEqual([refused, {}, ['hot']])
      await fleet.stage.world.advance(1_000)
    }
    await fleet.stage.world.settle()
    expect([asked(), fleet.standing(devices), fleet.due]).toEqual([4, { B: 'hot' }, []])
  })

  test('does not keep others from being judged', async () => {
    fleet = await AlarmFixture.open()
    await fleet.bring({ A: 35, B: 40 })
    const asked = refuse(1)
    await fleet.put('hot')
    await fleet.stage.world.settle()
    expect([asked(), fleet.standing(devices), fleet.due]).toEqual([2, { B: 'hot' }, ['hot']])
    await fleet.stage.world.advance(1_000)
    await fleet.stage.world.settle()
    expect([asked(), fleet.standing(devices), fleet.due]).toEqual([3, { A: 'hot', B: 'hot' }, []])
  })

  test('is left to the next process by one that stops', async () => {
    await asleep(async () => {})
    const asked = refuse(1)
    await fleet.put('hot')
    await fleet.stage.world.settle()
    fleet.stage.assembly.stop()
    await fleet.stage.world.advance(10_000)
    expect([asked(), fleet.standing(devices)]).toEqual([1, {}])
    vi.restoreAllMocks()
    fleet.stage = await fleet.stage.restart({}, 1)
    await fleet.stage.world.settle()
    expect([fleet.standing(devices), fleet.due]).toEqual([{ B: 'hot' }, []])
  })
})

test('of a tenant that is deleted nobody is asked', async () => {
  await asleep(() => fleet.stage.addTenant('acme'))
  const { system } = fleet.stage.assembly.context
  const author = fleet.ann
  await fleet.stage.tenant('acme', { type: 'put_alarm', id: 'hot', isNew: true, body: fleet.body(), author })
  const asked = vi.spyOn(system, 'turn')
  const deleted = fleet.stage.directory({ type: 'delete_tenant', tenant: 'acme' })
  await deleted
  await fleet.stage.world.advance(60_000)
  const ofAcme = asked.mock.calls.filter(([{ tenant, kind }]) => tenant === 'acme' && kind === 'tenant')
  asked.mockRestore()
  expect(ofAcme).toEqual([])
})

test('stopped, it leaves the rest to the next process', async () => {
  await asleep(async () => {})
  const edit = fleet.putting('hot')
  await untilSealed(fleet.stage.assembly.context.system.gate.sealedCount + 1)
  fleet.stage.assembly.stop()
  await fleet.stage.wait(edit)
  await fleet.stage.world.settle()
  expect(fleet.standing(devices)).toEqual({})
  fleet.stage = await fleet.stage.restart({}, 1)
  await fleet.stage.world.settle()
  expect(fleet.standing(devices)).toEqual({ B: 'hot' })
})
