import { describe, expect, test } from 'vitest'
import { projectAddress } from '#actors/project/address'
import type { ProjectCommand } from '#actors/project/commands'
import { everything, scopeOf } from '#model/scope'
import type { OfferedFirmware, UpdateQuestion } from '#model/update-offer'
import { ada, bob, moved, putRelease, putRollout, releaseOf } from '#test/actors/acting-project'
import { openProjects } from '#test/firmware/project-stage'
import { ManualWorld } from '#test/runtime/manual-world'

/** A Tuesday, 02:30 UTC. */
const tuesday = Date.UTC(2026, 0, 6, 2, 30)
const pin = (firmware: string, device = 'A'): ProjectCommand => ({ type: 'put_pin', device, firmware })
const pause: ProjectCommand = { type: 'pause', author: ada }

interface Row {
  readonly what: string
  readonly puts: readonly ProjectCommand[]
  readonly asks?: Partial<UpdateQuestion>
  /** What is offered when it is asked for by hand, and by itself. */
  readonly byHand: string
  readonly byItself: string
}

const one: readonly Row[] = [
  { what: 'nothing there', puts: [], byHand: '–', byItself: '–' },
  { what: 'a newer one', puts: [putRelease('1.1.0')], byHand: '1.1.0', byItself: '1.1.0' },
  { what: 'the same', puts: [putRelease('1.0.0')], byHand: '–', byItself: '–' },
  { what: 'the same in another build', puts: [putRelease('1.0.0+b')], byHand: '–', byItself: '–' },
  { what: 'an older one', puts: [putRelease('0.9.0')], byHand: '–', byItself: '–' },
  {
    what: 'several, put in any order',
    puts: [putRelease('1.9.0'), putRelease('1.10.0'), putRelease('1.2.0')],
    byHand: '1.10.0',
    byItself: '1.10.0',
  },
  {
    what: 'a prerelease of a newer one',
    puts: [putRelease('1.1.0-rc.2'), putRelease('1.1.0-rc.11')],
    byHand: '1.1.0-rc.11',
    byItself: '1.1.0-rc.11',
  },
  {
    what: 'the newest was deleted',
    puts: [
      putRelease('1.2.0'),
      putRelease('1.1.0'),
      { type: 'delete_release', key: { firmware: '1.2.0', hardware: null, index: 0 } },
    ],
    byHand: '1.1.0',
    byItself: '1.1.0',
  },
  { what: 'one for another index', puts: [putRelease('1.1.0', { index: 1 })], byHand: '–', byItself: '–' },
  {
    what: 'one for each index',
    puts: [putRelease('1.1.0'), putRelease('1.2.0', { index: 1 })],
    asks: { index: 1 },
    byHand: '1.2.0 #1',
    byItself: '1.2.0 #1',
  },
]

const hardware: readonly Row[] = [
  { what: 'for another', puts: [putRelease('1.1.0', { hardware: 'revB' })], byHand: '–', byItself: '–' },
  { what: 'for it', puts: [putRelease('1.1.0', { hardware: 'revA' })], byHand: '1.1.0 revA', byItself: '1.1.0 revA' },
  { what: 'for any', puts: [putRelease('1.1.0')], byHand: '1.1.0', byItself: '1.1.0' },
  {
    what: 'the same for it and for any',
    puts: [putRelease('1.1.0', { hardware: 'revA' }), putRelease('1.1.0'), putRelease('1.1.0+b')],
    byHand: '1.1.0 revA',
    byItself: '1.1.0 revA',
  },
  {
    what: 'a newer one for any',
    puts: [putRelease('1.1.0', { hardware: 'revA' }), putRelease('1.2.0')],
    byHand: '1.2.0',
    byItself: '1.2.0',
  },
  {
    what: 'a newer one for it',
    puts: [putRelease('1.2.0', { hardware: 'revA' }), putRelease('1.1.0')],
    byHand: '1.2.0 revA',
    byItself: '1.2.0 revA',
  },
].map((row) => ({ ...row, asks: { hardware: 'revA' } }))

const both = [putRelease('1.1.0'), putRelease('0.9.0')]
const pins: readonly Row[] = [
  { what: 'an older one', puts: [...both, pin('0.9.0')], byHand: '0.9.0 pinned', byItself: '0.9.0 pinned' },
  { what: 'a newer one', puts: [...both, pin('1.1.0')], byHand: '1.1.0 pinned', byItself: '1.1.0 pinned' },
  { what: 'what it has', puts: [...both, putRelease('1.0.0'), pin('1.0.0')], byHand: '–', byItself: '–' },
  {
    what: 'another build of what it has',
    puts: [...both, putRelease('1.0.0+b'), pin('1.0.0+b')],
    byHand: '1.0.0+b pinned',
    byItself: '1.0.0+b pinned',
  },
  { what: 'what is not there', puts: [...both, pin('1.0.5')], byHand: '–', byItself: '–' },
  { what: 'what another device is', puts: [...both, pin('0.9.0', 'B')], byHand: '1.1.0', byItself: '1.1.0' },
  {
    what: 'what is there for another hardware',
    puts: [...both, putRelease('0.8.0', { hardware: 'revB' }), pin('0.8.0')],
    byHand: '–',
    byItself: '–',
  },
  {
    what: 'what is there for another index',
    puts: [...both, putRelease('0.8.0', { index: 1 }), pin('0.8.0')],
    byHand: '1.1.0',
    byItself: '1.1.0',
  },
  {
    what: 'what is there for another index, and for another hardware',
    puts: [...both, putRelease('0.8.0', { index: 1 }), putRelease('0.8.0', { hardware: 'revB' }), pin('0.8.0')],
    byHand: '–',
    byItself: '–',
  },
  {
    what: 'what is there for its hardware, as for any',
    puts: [...both, putRelease('0.8.0', { hardware: 'revA' }), putRelease('0.8.0'), pin('0.8.0')],
    byHand: '0.8.0 revA pinned',
    byItself: '0.8.0 revA pinned',
  },
  {
    what: 'something, while a rollout is paused',
    puts: [...both, pin('0.9.0'), putRollout('1.1.0'), pause],
    byHand: '0.9.0 pinned',
    byItself: '0.9.0 pinned',
  },
].map((row) => ({ ...row, asks: { hardware: 'revA' } }))

const newer = [putRelease('1.1.0'), putRelease('1.2.0')]
const open = { cron: '0 2 * * TUE', minutes: 31 }
const closed = { cron: '0 2 * * TUE', minutes: 30 }
const rollouts: readonly Row[] = [
  { what: 'runs', puts: [...newer, putRollout('1.1.0')], byHand: '1.2.0', byItself: '1.1.0 R1/3' },
  {
    what: 'says how often',
    puts: [...newer, putRollout('1.1.0', { maxAttempts: 7 })],
    byHand: '1.2.0',
    byItself: '1.1.0 R1/7',
  },
  { what: 'is paused', puts: [...newer, putRollout('1.1.0'), pause], byHand: '1.2.0', byItself: '–' },
  {
    what: 'stopped',
    puts: [
      ...newer,
      putRollout('1.1.0', { errorThresholdPercent: 0 }),
      moved(null, 'failed', { release: { firmware: '1.1.0', hardware: null, index: 0 }, rollout: 'R1' }),
    ],
    byHand: '1.2.0',
    byItself: '–',
  },
  { what: 'has no release yet', puts: [...newer, putRollout('1.3.0')], byHand: '1.2.0', byItself: '–' },
  {
    what: 'has none for its hardware',
    puts: [...newer, putRelease('1.3.0', { hardware: 'revB' }), putRollout('1.3.0')],
    byHand: '1.2.0',
    byItself: '–',
  },
  {
    what: 'has none for its index',
    puts: [...newer, putRelease('1.3.0', { index: 1 }), putRollout('1.3.0')],
    byHand: '1.2.0',
    byItself: '–',
  },
  {
    what: 'is of what it has',
    puts: [...newer, putRelease('1.0.0'), putRollout('1.0.0')],
    byHand: '1.2.0',
    byItself: '–',
  },
  {
    what: 'is of an older one',
    puts: [...newer, putRelease('0.9.0'), putRollout('0.9.0')],
    byHand: '1.2.0',
    byItself: '–',
  },
  { what: 'is for none', puts: [...newer, putRollout('1.1.0', { percent: 0 })], byHand: '1.2.0', byItself: '–' },
  {
    what: 'is in its window',
    puts: [...newer, putRollout('1.1.0', { window: open })],
    byHand: '1.2.0',
    byItself: '1.1.0 R1/3',
  },
  {
    what: 'is not in its window',
    puts: [...newer, putRollout('1.1.0', { window: closed })],
    byHand: '1.2.0',
    byItself: '–',
  },
  {
    what: 'is for a group that has it',
    puts: [...newer, putRollout('1.1.0', { groups: ['G1', 'G2'] })],
    byHand: '1.2.0',
    byItself: '1.1.0 R1/3',
  },
  {
    what: 'is for groups that have it not, or are not there',
    puts: [...newer, putRollout('1.1.0', { groups: ['G1', 'G9'] })],
    byHand: '1.2.0',
    byItself: '–',
  },
  { what: 'is for no group', puts: [...newer, putRollout('1.1.0', { groups: [] })], byHand: '1.2.0', byItself: '–' },
  {
    what: 'was deleted',
    puts: [...newer, putRollout('1.1.0'), { type: 'delete_rollout' }],
    byHand: '1.2.0',
    byItself: '1.2.0',
  },
  {
    what: 'runs, and it is held',
    puts: [...newer, putRollout('1.2.0'), pin('1.1.0')],
    byHand: '1.1.0 pinned',
    byItself: '1.1.0 pinned',
  },
  {
    what: 'runs, and it is held by what is there for another index',
    puts: [...newer, putRelease('0.8.0', { index: 1 }), putRollout('1.1.0'), pin('0.8.0')],
    byHand: '1.2.0',
    byItself: '1.1.0 R1/3',
  },
]

describe.each([
  ['releases', one],
  ['releases and its hardware', hardware],
  ['a pin holds it at', pins],
  ['a rollout', rollouts],
])('device A has 1.0.0: %s', (_, rows) => {
  test.each(rows)('$what', async ({ puts, asks, byHand, byItself }) => {
    const stage = await openProjects({ world: new ManualWorld({ now: tuesday }) })
    await stage.putGroup('G1', ['B', 'C'])
    await stage.putGroup('G2', ['0', 'A', 'a'])
    await stage.put(...puts)
    const ask = (isAutomatic: boolean) => shown(stage.server.check({ ...question, ...asks, isAutomatic }))
    expect([ask(false), ask(true)]).toEqual([byHand, byItself])
    await stage.close()
  })
})

test('an offer is an image of ours, with its length and SHA-256', async () => {
  const stage = await openProjects()
  await stage.put(putRelease('1.1.0', { hardware: 'revA', image: 'b' }))
  expect(stage.server.check({ ...question, hardware: 'revA' })).toEqual({
    firmware: '1.1.0',
    hardware: 'revA',
    index: 0,
    sha256: releaseOf('1.1.0', { image: 'b' }).sha256,
    size: 65_536,
    isPinned: false,
    url: null,
    rollout: null,
  })
  await stage.close()
})

test('a rollout reaches what its author of now may update now, and no more', async () => {
  const stage = await openProjects()
  await stage.put(...newer, putRollout('1.1.0'))
  const grant = { permissions: { updates: ['update' as const] }, devices: ['A'], services: [] }
  const scopes = new Map([
    [ada, scopeOf([grant])],
    [bob, everything],
  ])
  stage.scopeOf = (author) => scopes.get(author) ?? scopeOf([])
  const ask = (device: string) => shown(stage.server.check({ ...question, device }))
  expect([ask('A'), ask('B')]).toEqual(['1.1.0 R1/3', '–'])
  scopes.set(ada, scopeOf([{ ...grant, permissions: { updates: ['read'], service: ['update'] } }]))
  expect([ask('A'), ask('B')]).toEqual(['–', '–'])
  await stage.put(putRollout('1.1.0', {}, 'R2', bob))
  expect([ask('A'), ask('B')]).toEqual(['1.1.0 R1/3', '1.1.0 R1/3'])
  scopes.delete(bob)
  expect([ask('A'), ask('B')]).toEqual(['–', '–'])
  await stage.close()
})

test('a window opens and closes while devices ask, and a group gets and loses members', async () => {
  const stage = await openProjects({ world: new ManualWorld({ now: tuesday }) })
  const { world } = stage
  await stage.put(...newer, putRollout('1.1.0', { window: { cron: '0 3 * * *', minutes: 60 }, groups: ['G1'] }))
  const ask = () => shown(stage.server.check(question))
  await stage.putGroup('G1', ['A'])
  expect(ask()).toBe('–')
  world.spend(30 * 60_000)
  expect(ask()).toBe('1.1.0 R1/3')
  await stage.putGroup('G1', ['B'])
  expect(ask()).toBe('–')
  await stage.putGroup('G1', ['A', 'B'])
  expect(ask()).toBe('1.1.0 R1/3')
  world.spend(60 * 60_000)
  expect(ask()).toBe('–')
  world.spend(23 * 60 * 60_000)
  expect(ask()).toBe('1.1.0 R1/3')
  await stage.close()
})

test('projects that have something stay awake once they were asked for, those that have nothing do not', async () => {
  const before = await openProjects()
  await before.put(...newer)
  await before.close()
  const stage = await openProjects({ world: before.world, place: before.place })
  expect(stage.server.check({ ...question, project: 'nobody-has-it' })).toBeUndefined()
  expect(stage.system.registry.awake(projectAddress('default', 'nobody-has-it'))).toBeUndefined()
  expect(stage.system.registry.awake(projectAddress('default', 'boiler'))).toBeUndefined()
  expect(shown(stage.server.check(question))).toBe('1.2.0')
  expect(stage.system.registry.awake(projectAddress('default', 'boiler'))).toBeDefined()
  await stage.close()
})

const question: UpdateQuestion = {
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
