import { afterEach, describe, expect, test } from 'vitest'
import { type ProjectCommand, projectAddress } from '#actors/project/state'
import { everything, scopeOf } from '#model/scope'
import type { OfferedFirmware, UpdateQuery } from '#model/update-offer'
import { ada, bob, moved, putRelease, putRollout, releaseOf } from '#test/actors/acting-project'
import { openProjects, type ProjectsFixture } from '#test/firmware/projects-fixture'
import { ManualWorld } from '#test/runtime/manual-world'

let fixture: ProjectsFixture
afterEach(() => fixture.close())

/** A Tuesday, 02:30 UTC. */
const tuesday = Date.UTC(2026, 0, 6, 2, 30)
const pin = (firmware: string, device = 'A'): ProjectCommand => ({ type: 'put_pin', device, firmware })
const pause: ProjectCommand = { type: 'pause', author: ada }

interface Row {
  readonly name: string
  readonly puts: readonly ProjectCommand[]
  readonly asks?: Partial<UpdateQuery>
  /** The offers of a manual and of an automatic check. */
  readonly manual: string
  readonly automatic: string
}

/** `automatic` defaults to `manual`. */
function row(name: string, puts: readonly ProjectCommand[], manual: string, automatic = manual): Row {
  return { name, puts, manual, automatic }
}

const one: readonly Row[] = [
  row('no release', [], '–'),
  row('a newer one', [putRelease('1.1.0')], '1.1.0'),
  row('the same', [putRelease('1.0.0')], '–'),
  row('the same in another build', [putRelease('1.0.0+b')], '–'),
  row('an older one', [putRelease('0.9.0')], '–'),
  row('several in any order', [putRelease('1.9.0'), putRelease('1.10.0'), putRelease('1.2.0')], '1.10.0'),
  row('a prerelease of a newer one', [putRelease('1.1.0-rc.2'), putRelease('1.1.0-rc.11')], '1.1.0-rc.11'),
  row(
    'the newest was deleted',
    [
      putRelease('1.2.0'),
      putRelease('1.1.0'),
      { type: 'delete_release', key: { firmware: '1.2.0', hardware: null, index: 0 } },
    ],
    '1.1.0',
  ),
  row('one for another index', [putRelease('1.1.0', { index: 1 })], '–'),
  {
    ...row('one for each index', [putRelease('1.1.0'), putRelease('1.2.0', { index: 1 })], '1.2.0 #1'),
    asks: { index: 1 },
  },
]

const hardware: readonly Row[] = [
  row('for other hardware', [putRelease('1.1.0', { hardware: 'revB' })], '–'),
  row('for this hardware', [putRelease('1.1.0', { hardware: 'revA' })], '1.1.0 revA'),
  row('for any hardware', [putRelease('1.1.0')], '1.1.0'),
  row(
    'the same for this and for any hardware',
    [putRelease('1.1.0', { hardware: 'revA' }), putRelease('1.1.0'), putRelease('1.1.0+b')],
    '1.1.0 revA',
  ),
  row('a newer one for any hardware', [putRelease('1.1.0', { hardware: 'revA' }), putRelease('1.2.0')], '1.2.0'),
  row('a newer one for this hardware', [putRelease('1.2.0', { hardware: 'revA' }), putRelease('1.1.0')], '1.2.0 revA'),
].map((row) => ({ ...row, asks: { hardware: 'revA' } }))

const both = [putRelease('1.1.0'), putRelease('0.9.0')]
const pins: readonly Row[] = [
  row('an older one', [...both, pin('0.9.0')], '0.9.0 pinned'),
  row('a newer one', [...both, pin('1.1.0')], '1.1.0 pinned'),
  row('its own version', [...both, putRelease('1.0.0'), pin('1.0.0')], '–'),
  row('another build of its own version', [...both, putRelease('1.0.0+b'), pin('1.0.0+b')], '1.0.0+b pinned'),
  row('an absent version', [...both, pin('1.0.5')], '–'),
  row('the version of another device', [...both, pin('0.9.0', 'B')], '1.1.0'),
  row('a version for other hardware', [...both, putRelease('0.8.0', { hardware: 'revB' }), pin('0.8.0')], '–'),
  row('a version for another index', [...both, putRelease('0.8.0', { index: 1 }), pin('0.8.0')], '1.1.0'),
  row(
    'a version for another index, and for other hardware',
    [...both, putRelease('0.8.0', { index: 1 }), putRelease('0.8.0', { hardware: 'revB' }), pin('0.8.0')],
    '–',
  ),
  row(
    'a version for its hardware and for any',
    [...both, putRelease('0.8.0', { hardware: 'revA' }), putRelease('0.8.0'), pin('0.8.0')],
    '0.8.0 revA pinned',
  ),
  row('a version while a rollout is paused', [...both, pin('0.9.0'), putRollout('1.1.0'), pause], '0.9.0 pinned'),
].map((row) => ({ ...row, asks: { hardware: 'revA' } }))

const newer = [putRelease('1.1.0'), putRelease('1.2.0')]
const open = { cron: '0 2 * * TUE', minutes: 31 }
const closed = { cron: '0 2 * * TUE', minutes: 30 }
const rollouts: readonly Row[] = [
  row('runs', [...newer, putRollout('1.1.0')], '1.2.0', '1.1.0 R1/3'),
  row('limits the attempts', [...newer, putRollout('1.1.0', { maxAttempts: 7 })], '1.2.0', '1.1.0 R1/7'),
  row('is paused', [...newer, putRollout('1.1.0'), pause], '1.2.0', '–'),
  row(
    'stopped',
    [
      ...newer,
      putRollout('1.1.0', { errorThresholdPercent: 0 }),
      moved(null, 'failed', { release: { firmware: '1.1.0', hardware: null, index: 0 }, rollout: 'R1' }),
    ],
    '1.2.0',
    '–',
  ),
  row('has no release yet', [...newer, putRollout('1.3.0')], '1.2.0', '–'),
  row(
    'has no release for its hardware',
    [...newer, putRelease('1.3.0', { hardware: 'revB' }), putRollout('1.3.0')],
    '1.2.0',
    '–',
  ),
  row('has no release for its index', [...newer, putRelease('1.3.0', { index: 1 }), putRollout('1.3.0')], '1.2.0', '–'),
  row('is of its own version', [...newer, putRelease('1.0.0'), putRollout('1.0.0')], '1.2.0', '–'),
  row('is of an older version', [...newer, putRelease('0.9.0'), putRollout('0.9.0')], '1.2.0', '–'),
  row('is for 0 %', [...newer, putRollout('1.1.0', { percent: 0 })], '1.2.0', '–'),
  row('is in its window', [...newer, putRollout('1.1.0', { window: open })], '1.2.0', '1.1.0 R1/3'),
  row('is not in its window', [...newer, putRollout('1.1.0', { window: closed })], '1.2.0', '–'),
  row(
    'is for a group with the device',
    [...newer, putRollout('1.1.0', { groups: ['G1', 'G2'] })],
    '1.2.0',
    '1.1.0 R1/3',
  ),
  row('is for groups without the device', [...newer, putRollout('1.1.0', { groups: ['G1', 'G9'] })], '1.2.0', '–'),
  row('is for no group', [...newer, putRollout('1.1.0', { groups: [] })], '1.2.0', '–'),
  row('was deleted', [...newer, putRollout('1.1.0'), { type: 'delete_rollout' }], '1.2.0'),
  row('runs, and the device is pinned', [...newer, putRollout('1.2.0'), pin('1.1.0')], '1.1.0 pinned'),
  row(
    'runs, and the device is pinned to a version for another index',
    [...newer, putRelease('0.8.0', { index: 1 }), putRollout('1.1.0'), pin('0.8.0')],
    '1.2.0',
    '1.1.0 R1/3',
  ),
]

describe.each([
  ['releases', one],
  ['releases by hardware', hardware],
  ['pinned to', pins],
  ['a rollout', rollouts],
])('a device with 1.0.0: %s', (_, rows) => {
  test.each(rows)('$name', async ({ puts, asks, manual, automatic }) => {
    fixture = await openProjects({ world: new ManualWorld({ now: tuesday }) })
    await fixture.putGroup('G1', ['B', 'C'])
    await fixture.putGroup('G2', ['0', 'A', 'a'])
    await fixture.put(...puts)
    const ask = (isAutomatic: boolean) => shown(fixture.server.check({ ...query, ...asks, isAutomatic }))
    expect([ask(false), ask(true)]).toEqual([manual, automatic])
  })
})

test('an offer has the size and SHA-256 of the image', async () => {
  fixture = await openProjects()
  await fixture.put(putRelease('1.1.0', { hardware: 'revA', image: 'b' }))
  expect(fixture.server.check({ ...query, hardware: 'revA' })).toEqual({
    firmware: '1.1.0',
    hardware: 'revA',
    index: 0,
    sha256: releaseOf('1.1.0', { image: 'b' }).sha256,
    size: 65_536,
    isPinned: false,
    url: null,
    rollout: null,
  })
})

test('a rollout follows the current permissions of its last author', async () => {
  fixture = await openProjects()
  await fixture.put(...newer, putRollout('1.1.0'))
  const grant = { permissions: { updates: ['update' as const] }, devices: ['A'], services: [] }
  const scopes = new Map([
    [ada, scopeOf([grant])],
    [bob, everything],
  ])
  fixture.scopeOf = (author) => scopes.get(author) ?? scopeOf([])
  const ask = (device: string) => shown(fixture.server.check({ ...query, device }))
  expect([ask('A'), ask('B')]).toEqual(['1.1.0 R1/3', '–'])
  scopes.set(ada, scopeOf([{ ...grant, permissions: { updates: ['read'], service: ['update'] } }]))
  expect([ask('A'), ask('B')]).toEqual(['–', '–'])
  await fixture.put(putRollout('1.1.0', {}, 'R2', bob))
  expect([ask('A'), ask('B')]).toEqual(['1.1.0 R1/3', '1.1.0 R1/3'])
  scopes.delete(bob)
  expect([ask('A'), ask('B')]).toEqual(['–', '–'])
})

test('offers follow the window and the members of the group', async () => {
  fixture = await openProjects({ world: new ManualWorld({ now: tuesday }) })
  const { world } = fixture
  await fixture.put(...newer, putRollout('1.1.0', { window: { cron: '0 3 * * *', minutes: 60 }, groups: ['G1'] }))
  const ask = () => shown(fixture.server.check(query))
  await fixture.putGroup('G1', ['A'])
  expect(ask()).toBe('–')
  world.spend(30 * 60_000)
  expect(ask()).toBe('1.1.0 R1/3')
  await fixture.putGroup('G1', ['B'])
  expect(ask()).toBe('–')
  await fixture.putGroup('G1', ['A', 'B'])
  expect(ask()).toBe('1.1.0 R1/3')
  world.spend(60 * 60_000)
  expect(ask()).toBe('–')
  world.spend(23 * 60 * 60_000)
  expect(ask()).toBe('1.1.0 R1/3')
})

test('a query wakes a project with releases, and no unknown project', async () => {
  const before = await openProjects()
  await before.put(...newer)
  await before.close()
  fixture = await openProjects({ world: before.world, backend: before.backend })
  expect(fixture.server.check({ ...query, project: 'unknown' })).toBeUndefined()
  expect(fixture.system.registry.awake(projectAddress('default', 'unknown'))).toBeUndefined()
  expect(fixture.system.registry.awake(projectAddress('default', 'boiler'))).toBeUndefined()
  expect(shown(fixture.server.check(query))).toBe('1.2.0')
  expect(fixture.system.registry.awake(projectAddress('default', 'boiler'))).toBeDefined()
})

const query: UpdateQuery = {
  tenant: 'default',
  device: 'A',
  project: 'boiler',
  firmware: '1.0.0',
  index: 0,
  isAutomatic: true,
}

function shown(offer: OfferedFirmware | undefined): string {
  if (!offer) return '–'
  const { firmware, hardware, index, isPinned, rollout } = offer
  const parts = [
    hardware,
    index > 0 && `#${index}`,
    isPinned && 'pinned',
    rollout && `${rollout.id}/${rollout.maxAttempts}`,
  ]
  return [firmware, ...parts.filter(Boolean)].join(' ')
}
