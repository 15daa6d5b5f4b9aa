import { afterEach, describe, expect, test } from 'vitest'
import { directoryActor } from '#actors/directory/directory'
import { noticeBus } from '#actors/notice-bus'
import { projectActor } from '#actors/project/project'
import { type ProjectCommand, type ProjectState, projectAddress } from '#actors/project/state'
import { tenantActor } from '#actors/tenant/tenant'
import { updateActor } from '#actors/update/update'
import { updateScheduleActor } from '#actors/update-schedule/schedule'
import { FirmwareUpdates } from '#firmware/firmware-updates'
import type { UpdateOptions } from '#firmware/options'
import type { Entry } from '#model/entry'
import type { FirmwareStatusMessage } from '#model/link-message'
import { everything } from '#model/scope'
import type { AnyDefinition } from '#runtime/activation'
import { StoreListing } from '#store/store-listing'
import { putRelease, putRollout, releaseOf, requestScan } from '#test/actors/acting-project'
import { ConnectedUpdates, offerTimeoutMs, RecordedTrigger, type TestDevice } from '#test/firmware/update-fixture'
import { LinkFixture, storedDeviceActor } from '#test/link/link-fixture'
import { during } from '#test/runtime/runtime-fixture'
import { memoryBlobs } from '#test/store/memory-blobs'

/** Releases, pins, rollouts and devices that are removed during an update. Nothing may be stuck afterwards. */

type Status = FirmwareStatusMessage['status']

const key = { firmware: '2.0.0', hardware: null, index: 0 }
const deleteRelease: ProjectCommand = { type: 'delete_release', key }
const author = 'crn#user:ann'

let fixture: FirmwareUpdatesFixture
let device: TestDevice
let next: TestDevice

afterEach(async () => {
  // In all cases: no slot is taken, no update runs forever, and unused releases can be deleted.
  fixture.world.spend(25 * 60 * 60_000)
  await fixture.world.advance(60_000)
  expect([fixture.updates.updater.starter.runningCount, fixture.project.tally.uses]).toEqual([0, {}])
  expect([fixture.warnings, fixture.linkFixture.runtime.bugs]).toEqual([[], []])
  const later = await fixture.connect('LATER', { firmware: '1.0.0' })
  await fixture.ask({ type: 'delete_rollout' })
  for (const pinned of ['A', 'B']) await fixture.ask({ type: 'delete_pin', device: pinned })
  await fixture.ask(putRelease('9.0.0'))
  const considered = fixture.updates.updater.consider('default', 'LATER', 'hook')
  await fixture.settle()
  await considered
  expect(later.offers.map(({ firmware }) => firmware)).toContain('9.0.0')
  expect([undefined, 'not_found']).toContain(await fixture.ask(deleteRelease))
})

/** `A` is offered 2.0.0 and reports these statuses; `B` waits for a slot. */
async function begin(by: 'release' | 'rollout' | 'pin', ...reported: readonly Status[]): Promise<void> {
  fixture = await FirmwareUpdatesFixture.open({ isConnectUpdateDisabled: true, underWayMax: 1 })
  device = await fixture.connect('A')
  next = await fixture.connect('B')
  if (by === 'pin')
    for (const pinned of ['A', 'B']) await fixture.ask({ type: 'put_pin', device: pinned, firmware: '2.0.0' })
  await fixture.ask(putRelease('2.0.0'))
  await fixture.ask(
    by === 'rollout' ? putRollout('2.0.0') : { type: 'scan', request: { by: 'hook', devices: null, author: null } },
  )
  for (const status of reported) await device.report(status)
}

/** States, with the statuses that lead there. */
const running: [state: string, statuses: readonly Status[]][] = [
  ['offering', []],
  ['started', ['STARTED']],
  ['downloading', ['DOWNLOADING']],
]
const past: [state: string, statuses: readonly Status[]][] = [
  ['installing', ['INSTALLING']],
  ['rebooting', ['INSTALLED']],
]
const over: [state: string, statuses: readonly Status[]][] = [
  ['failed', ['FAILED']],
  ['refused', ['NOT_OK']],
]

const offersOf = ({ offers }: TestDevice) => offers.map(({ firmware }) => firmware)

describe('deleting a release', () => {
  test.each([...running, ...past])(
    'is refused while an update to it is %s, and the update completes',
    async (state, statuses) => {
      await begin('release', ...statuses)
      expect(fixture.stored('A')?.state).toBe(state)
      expect(await fixture.ask(deleteRelease)).toBe('conflict')
      await device.install()
      expect(fixture.stored('A')?.state).toBe('done')
      // The slot goes to the other device, which then uses the release.
      expect([offersOf(next), await fixture.ask(deleteRelease)]).toEqual([['2.0.0'], 'conflict'])
    },
  )

  test.each(over)('ends the retries of an update that %s', async (state, statuses) => {
    await begin('release', ...statuses)
    expect(fixture.stored('A')?.state).toBe(state)
    await next.install()
    expect(await fixture.ask(deleteRelease)).toBeUndefined()
    await fixture.world.advance(2 * 60 * 60_000)
    expect([offersOf(device), fixture.stored('A')?.state]).toEqual([['2.0.0'], state])
  })

  test.each([
    ['1.0.0', ['1.9.0']],
    ['1.9.5', []],
  ])('while a device with %s waits for a slot: it is then offered %j', async (firmware, offered) => {
    fixture = await FirmwareUpdatesFixture.open({ isConnectUpdateDisabled: true, underWayMax: 1 })
    device = await fixture.connect('A')
    next = await fixture.connect('B', { firmware })
    for (const version of ['1.9.0', '2.0.0']) await fixture.ask(putRelease(version))
    await fixture.ask({ type: 'put_pin', device: 'A', firmware: '1.9.0' })
    await fixture.ask(requestScan('hook', null))
    expect([offersOf(device), offersOf(next)]).toEqual([['1.9.0'], []])
    expect(await fixture.ask(deleteRelease)).toBeUndefined()
    await device.install()
    expect(offersOf(next)).toEqual(offered)
  })

  test('at the same time as a trigger: either the release is offered and stays, or there is no update', async () => {
    for (let steps = 0; steps < 12; steps++) {
      fixture = await FirmwareUpdatesFixture.open({ isConnectUpdateDisabled: true })
      device = await fixture.connect('A')
      await fixture.ask(putRelease('2.0.0'))
      const asked = fixture.trigger('A')
      for (let step = 0; step < steps; step++) {
        fixture.world.step()
        await Promise.resolve()
      }
      const code = await fixture.ask(deleteRelease)
      const seen = [code, fixture.stored('A')?.state, asked.outcome, device.offers.length]
      expect([
        ['conflict', 'offering', undefined, 1],
        [undefined, 'idle', 'NO_UPDATE', 0],
      ]).toContainEqual(seen)
    }
  })
})

test('deleting a pin to an older firmware while the device waits for a slot prevents the downgrade', async () => {
  fixture = await FirmwareUpdatesFixture.open({ isConnectUpdateDisabled: true, underWayMax: 1 })
  device = await fixture.connect('A', { firmware: '2.0.0' })
  next = await fixture.connect('B', { firmware: '2.0.0' })
  for (const pinned of ['A', 'B']) await fixture.ask({ type: 'put_pin', device: pinned, firmware: '1.0.0' })
  await fixture.ask(putRelease('1.0.0'))
  await fixture.ask(requestScan('hook', null))
  await fixture.ask({ type: 'delete_pin', device: 'B' })
  await device.install()
  expect([offersOf(device).length, offersOf(next)]).toEqual([0, []])
})

describe('a rollout is', () => {
  test.each([...running, ...past])(
    'paused or deleted while an update by it is %s: the update completes',
    async (state, statuses) => {
      for (const command of [{ type: 'pause', author }, { type: 'delete_rollout' }] as const) {
        await begin('rollout', ...statuses)
        expect(fixture.stored('A')?.state).toBe(state)
        expect(await fixture.ask(command)).toBeUndefined()
        // After the rollout was deleted the update still uses the release.
        expect(await fixture.ask(deleteRelease)).toBe('conflict')
        await device.install()
        expect([fixture.stored('A')?.state, fixture.project.tally.counts.done]).toEqual([
          'done',
          command.type === 'pause' ? 1 : 0,
        ])
      }
    },
  )

  test('paused while a device waits for a slot: nothing begins until it is resumed', async () => {
    await begin('rollout')
    await fixture.ask({ type: 'pause', author })
    await device.install()
    expect(offersOf(next)).toEqual([])
    await fixture.ask({ type: 'resume', author })
    expect(offersOf(next)).toEqual(['2.0.0'])
  })

  test('deleted while a device waits for a slot: the device is not offered the newest release', async () => {
    await begin('rollout')
    await fixture.ask(putRelease('3.0.0'))
    await fixture.ask({ type: 'delete_rollout' })
    await device.install()
    expect(offersOf(next)).toEqual([])
  })

  test.each(over)('deleted after an update %s: the newest release is not tried instead', async (state, statuses) => {
    await begin('rollout', ...statuses)
    await next.install()
    await fixture.ask(putRelease('3.0.0'))
    await fixture.ask({ type: 'delete_rollout' })
    await fixture.world.advance(2 * 60 * 60_000)
    expect([offersOf(device), fixture.stored('A')?.state]).toEqual([['2.0.0'], state])
  })
})

test.each([['waits', []], ...running, ...past] as [string, readonly Status[]][])(
  'a device is removed while its update %s: the next device gets the slot',
  async (state, statuses) => {
    await begin('rollout', ...statuses)
    await fixture.removeDevice(state === 'waits' ? 'B' : 'A')
    if (state === 'waits') await device.install()
    else expect(offersOf(next)).toEqual(['2.0.0'])
    expect(fixture.stored(state === 'waits' ? 'B' : 'A')).toBeUndefined()
  },
)

test('deleting the last release of a project ends the retries of a device', async () => {
  await begin('release')
  await device.install()
  await next.report('FAILED')
  expect(await fixture.ask(deleteRelease)).toBeUndefined()
  expect(fixture.project.releases.size).toBe(0)
  await fixture.world.advance(60 * 60_000)
  expect(offersOf(next)).toEqual(['2.0.0'])
})

/** The firmware module with the embedded update server, real connections, and a store in memory. */
class FirmwareUpdatesFixture extends ConnectedUpdates {
  readonly updates: FirmwareUpdates
  /** Log lines of the levels warn and error. */
  readonly warnings: string[] = []

  private constructor(options: Partial<UpdateOptions>) {
    const notices = noticeBus()
    super(
      new LinkFixture({
        offerUrl: (_, device, { url, sha256 }) => url ?? `http://here/${sha256}?device=${device}`,
        definitions: (journal) =>
          [
            storedDeviceActor(journal),
            tenantActor(notices),
            directoryActor(notices),
            updateActor({ notices, offerTimeoutMs }),
            updateScheduleActor,
            projectActor(notices),
          ] as unknown as AnyDefinition<Entry>[],
      }),
    )
    const { runtime, links } = this.linkFixture
    const warn = (fields: object, message: string) => this.warnings.push(`${message} ${JSON.stringify(fields)}`)
    this.updates = new FirmwareUpdates({
      system: runtime.system,
      notices,
      listing: new StoreListing(() => runtime.journal.storage),
      links,
      // Releases are created without an upload of their image.
      images: Object.assign(memoryBlobs({ bytesMax: 1_000 }), { sizeOf: async () => releaseOf('1.0.0').size }),
      options,
      offerTimeoutMs,
      scopeOf: () => everything,
      log: { warn, error: warn },
    })
  }

  static async open(options: Partial<UpdateOptions>): Promise<FirmwareUpdatesFixture> {
    const fixture = new FirmwareUpdatesFixture(options)
    const { runtime, presence } = fixture.linkFixture
    await runtime.open()
    presence.open()
    await during(fixture.world, fixture.updates.open())
    await fixture.settle()
    return fixture
  }

  /** Sends a command to the project; returns the code of a refusal. */
  async ask(command: ProjectCommand): Promise<string | undefined> {
    const asked = this.linkFixture.runtime.system.ask(projectAddress('default', 'boiler'), command).then(
      () => undefined,
      (problem: { code: string }) => problem.code,
    )
    const code = await during(this.world, asked)
    await this.settle()
    return code
  }

  get project(): ProjectState {
    return this.linkFixture.runtime.system.peek(projectAddress('default', 'boiler')) as ProjectState
  }

  trigger(device: string): RecordedTrigger {
    return new RecordedTrigger(this.updates.updater, device, 1, new AbortController().signal)
  }

  async removeDevice(device: string): Promise<void> {
    const address = { kind: 'device', tenant: 'default', id: device } as const
    await during(this.world, this.linkFixture.runtime.system.ask(address, { type: 'remove' }))
    await this.settle()
  }
}
