import { afterEach, describe, expect, test } from 'vitest'
import type { ProjectCommand } from '#actors/project/commands'
import type { FirmwareStatusMessage } from '#model/link-message'
import { putRelease, putRollout, walk } from '#test/actors/acting-project'
import { FirmwareStage } from '#test/firmware/firmware-stage'
import type { TestDevice } from '#test/firmware/update-stage'

/** What an update follows from is taken away while it goes on: the answer, and that nothing is stuck behind it. */

type Status = FirmwareStatusMessage['status']

const key = { firmware: '2.0.0', hardware: null, index: 0 }
const deleteRelease: ProjectCommand = { type: 'delete_release', key }
const author = 'crn#user:ann'

let stage: FirmwareStage
let device: TestDevice
let next: TestDevice

afterEach(async () => {
  // Whatever was taken away: no place is held, nothing goes on for ever, and a release can go when nobody uses it.
  stage.world.spend(25 * 60 * 60_000)
  await stage.world.advance(60_000)
  expect([stage.updates.updater.underWay, stage.project.tally.uses]).toEqual([0, {}])
  expect([stage.complaints, stage.room.stage.bugs]).toEqual([[], []])
  const later = await stage.linked('LATER', { firmware: '1.0.0' })
  await stage.ask({ type: 'delete_rollout' })
  for (const held of ['A', 'B']) await stage.ask({ type: 'delete_pin', device: held })
  await stage.ask(putRelease('9.0.0'))
  const considered = stage.updates.updater.consider('default', 'LATER', 'hook')
  await stage.settle()
  await considered
  expect(later.offers.map(({ firmware }) => firmware)).toContain('9.0.0')
  expect([undefined, 'not_found']).toContain(await stage.ask(deleteRelease))
})

/** `A` is offered 2.0.0 and said so much of it; `B` waits for its place. */
async function begun(by: 'release' | 'rollout' | 'pin', ...said: readonly Status[]): Promise<void> {
  stage = await FirmwareStage.open({ options: { isConnectUpdateDisabled: true, underWayMax: 1 } })
  device = await stage.linked('A')
  next = await stage.linked('B')
  if (by === 'pin') for (const held of ['A', 'B']) await stage.ask({ type: 'put_pin', device: held, firmware: '2.0.0' })
  await stage.ask(putRelease('2.0.0'))
  await stage.ask(
    by === 'rollout' ? putRollout('2.0.0') : { type: 'scan', request: { by: 'hook', devices: null, author: null } },
  )
  for (const status of said) await device.say(status)
}

/** By what the device says it comes there. */
const running: [state: string, said: readonly Status[]][] = [
  ['offering', []],
  ['started', ['STARTED']],
  ['downloading', ['DOWNLOADING']],
]
const past: [state: string, said: readonly Status[]][] = [
  ['installing', ['INSTALLING']],
  ['rebooting', ['INSTALLED']],
]
const over: [state: string, said: readonly Status[]][] = [
  ['failed', ['FAILED']],
  ['refused', ['NOT_OK']],
]

const offersOf = ({ offers }: TestDevice) => offers.map(({ firmware }) => firmware)

describe('a release is deleted', () => {
  test.each([...running, ...past])(
    'while an update to it is %s: refused, and the update comes to its end',
    async (state, said) => {
      await begun('release', ...said)
      expect(stage.stored('A')?.state).toBe(state)
      expect(await stage.ask(deleteRelease)).toBe('conflict')
      await device.install()
      expect(stage.stored('A')?.state).toBe('done')
      // The place is free: then it is the other's, and its release is held by that.
      expect([offersOf(next), await stage.ask(deleteRelease)]).toEqual([['2.0.0'], 'conflict'])
    },
  )

  test.each(over)('behind one that %s: it is tried no more', async (state, said) => {
    await begun('release', ...said)
    expect(stage.stored('A')?.state).toBe(state)
    await next.install()
    expect(await stage.ask(deleteRelease)).toBeUndefined()
    await stage.world.advance(2 * 60 * 60_000)
    expect([offersOf(device), stage.stored('A')?.state]).toEqual([['2.0.0'], state])
  })

  test.each([
    ['1.0.0', ['1.9.0']],
    ['1.9.5', []],
  ])('while a device with %s waits for its place: it is offered what there is then: %j', async (firmware, offered) => {
    stage = await FirmwareStage.open({ options: { isConnectUpdateDisabled: true, underWayMax: 1 } })
    device = await stage.linked('A')
    next = await stage.linked('B', { firmware })
    for (const version of ['1.9.0', '2.0.0']) await stage.ask(putRelease(version))
    await stage.ask({ type: 'put_pin', device: 'A', firmware: '1.9.0' })
    await stage.ask(walk('hook', null))
    expect([offersOf(device), offersOf(next)]).toEqual([['1.9.0'], []])
    expect(await stage.ask(deleteRelease)).toBeUndefined()
    await device.install()
    expect(offersOf(next)).toEqual(offered)
  })

  test('at the moment in which somebody asks for it by hand: it is offered and stays, or there is none', async () => {
    for (let steps = 0; steps < 12; steps++) {
      stage = await FirmwareStage.open({ options: { isConnectUpdateDisabled: true } })
      device = await stage.linked('A')
      await stage.ask(putRelease('2.0.0'))
      const asked = stage.trigger('A')
      for (let step = 0; step < steps; step++) {
        stage.world.step()
        await Promise.resolve()
      }
      const code = await stage.ask(deleteRelease)
      const seen = [code, stage.stored('A')?.state, asked.outcome, device.offers.length]
      expect([
        ['conflict', 'offering', undefined, 1],
        [undefined, 'idle', 'NO_UPDATE', 0],
      ]).toContainEqual(seen)
    }
  })
})

describe('a pin is taken away', () => {
  test('to an older one, while the device waits for its place: it is not taken back', async () => {
    stage = await FirmwareStage.open({ options: { isConnectUpdateDisabled: true, underWayMax: 1 } })
    device = await stage.linked('A', { firmware: '2.0.0' })
    next = await stage.linked('B', { firmware: '2.0.0' })
    for (const held of ['A', 'B']) await stage.ask({ type: 'put_pin', device: held, firmware: '1.0.0' })
    await stage.ask(putRelease('1.0.0'))
    await stage.ask(walk('hook', null))
    await stage.ask({ type: 'delete_pin', device: 'B' })
    await device.install()
    expect([offersOf(device).length, offersOf(next)]).toEqual([0, []])
  })
})

describe('a rollout is', () => {
  test.each([...running, ...past])(
    'paused, and deleted, while an update by it is %s: what runs comes to its end',
    async (state, said) => {
      for (const taken of [{ type: 'pause', author }, { type: 'delete_rollout' }] as const) {
        await begun('rollout', ...said)
        expect(stage.stored('A')?.state).toBe(state)
        expect(await stage.ask(taken)).toBeUndefined()
        // Held by the update alone where there is no rollout any more.
        expect(await stage.ask(deleteRelease)).toBe('conflict')
        await device.install()
        expect([stage.stored('A')?.state, stage.project.tally.counts.done]).toEqual([
          'done',
          taken.type === 'pause' ? 1 : 0,
        ])
      }
    },
  )

  test('paused while a device waits for its place: nothing begins until it is resumed', async () => {
    await begun('rollout')
    await stage.ask({ type: 'pause', author })
    await device.install()
    expect(offersOf(next)).toEqual([])
    await stage.ask({ type: 'resume', author })
    expect(offersOf(next)).toEqual(['2.0.0'])
  })

  test('deleted while a device waits for its place: it does not get what is newest instead', async () => {
    await begun('rollout')
    await stage.ask(putRelease('3.0.0'))
    await stage.ask({ type: 'delete_rollout' })
    await device.install()
    expect(offersOf(next)).toEqual([])
  })

  test.each(over)('deleted behind one that %s: what is newest is not tried in its place', async (state, said) => {
    await begun('rollout', ...said)
    await next.install()
    await stage.ask(putRelease('3.0.0'))
    await stage.ask({ type: 'delete_rollout' })
    await stage.world.advance(2 * 60 * 60_000)
    expect([offersOf(device), stage.stored('A')?.state]).toEqual([['2.0.0'], state])
  })
})

test.each([['waits', []], ...running, ...past] as [string, readonly Status[]][])(
  'a device is removed while its update %s: its place goes to the next one',
  async (state, said) => {
    await begun('rollout', ...said)
    await stage.forget(state === 'waits' ? 'B' : 'A')
    if (state === 'waits') await device.install()
    else expect(offersOf(next)).toEqual(['2.0.0'])
    expect(stage.stored(state === 'waits' ? 'B' : 'A')).toBeUndefined()
  },
)

test('a project ends with its last thing while a device waits for its place: it waits for nothing more', async () => {
  await begun('release')
  await device.install()
  await next.say('FAILED')
  expect(await stage.ask(deleteRelease)).toBeUndefined()
  expect(stage.project.releases.size).toBe(0)
  await stage.world.advance(60 * 60_000)
  expect(offersOf(next)).toEqual(['2.0.0'])
})
