import { afterEach, describe, expect, test } from 'vitest'
import { deviceAddress } from '#actors/device/device'
import { isEmpty } from '#actors/project/state'
import { Problem } from '#model/problem'
import { scopeOf } from '#model/scope'
import { UpdateServerFailed } from '#model/update-offer'
import { hello } from '#test/actors/acting-device'
import { ada } from '#test/actors/acting-project'
import { namesOf, ScanFixture } from '#test/firmware/scan-fixture'
import { during } from '#test/runtime/runtime-fixture'

let fleet: ScanFixture
afterEach(async () => {
  expect(fleet.runtime.bugs).toEqual([])
  await fleet.close()
})

const updating = (...devices: string[]) => scopeOf([{ permissions: { updates: ['update'] }, devices, services: ['*'] }])

async function open(...devices: string[]): Promise<void> {
  fleet = await ScanFixture.open()
  await fleet.addDevices(devices)
}

describe('a scan considers', () => {
  test('the devices of the project, by name, and of no other', async () => {
    await open('B', 'A', 'C')
    await fleet.addDevices(['D'], { project: 'boiler.2' })
    await fleet.addDevices(['E'], { project: undefined })
    await fleet.scan()
    expect(fleet.considered).toEqual(['A hook', 'B hook', 'C hook'])
    expect(isEmpty(fleet.project())).toBe(true)
  })

  test('the listed devices that exist in the project', async () => {
    await open('A', 'B', 'C')
    await fleet.addDevices(['D'], { project: 'pump' })
    await fleet.scan({ devices: ['C', 'D', 'X', 'A', 'C'] })
    expect(fleet.considered).toEqual(['A hook', 'C hook'])
  })

  test('no device for an empty list', async () => {
    await open('A')
    await fleet.scan({ devices: [] })
    expect(fleet.considered).toEqual([])
    expect(isEmpty(fleet.project())).toBe(true)
  })

  test('no device that was removed or moved to another project meanwhile', async () => {
    await open('A', 'B', 'C', 'D')
    const { system } = fleet.runtime
    fleet.onConsider = (device) => {
      if (device !== 'A') return
      void system.ask(deviceAddress('default', 'B'), { type: 'remove' })
      void system.ask(deviceAddress('default', 'C'), hello([], { project: 'pump' }))
    }
    await fleet.scan()
    expect(fleet.considered).toEqual(['A hook', 'D hook'])
  })

  test.each([
    ['hook', 'hook'],
    ['cron', 'cron'],
    ['rollout', 'hook'],
  ] as const)('by %s with the trigger %s', async (by, trigger) => {
    await open('A')
    // A scan for a rollout needs one.
    await fleet.putRollout()
    fleet.considered.length = 0
    await fleet.scan({ by })
    expect(fleet.considered).toEqual([`A ${trigger}`])
  })

  test('devices that the author may update at that moment', async () => {
    await open('A', 'B', 'C')
    fleet.scopeOf = (author) => (author === ada ? updating('A', 'B', 'C') : scopeOf([]))
    fleet.onConsider = (device) => {
      if (device === 'A') fleet.scopeOf = () => updating('A', 'C')
    }
    await fleet.scan({ author: ada })
    expect(fleet.considered).toEqual(['A hook', 'C hook'])
  })

  test('devices of one scan after those of the last, and two projects concurrently', async () => {
    await open('A', 'B')
    await fleet.addDevices(['P'], { project: 'pump' })
    let release = () => {}
    fleet.onConsider = (device) => (device === 'A' ? new Promise<void>((resolve) => (release = resolve)) : undefined)
    await fleet.scan({ devices: ['A'] })
    await fleet.scan({ devices: ['B'] })
    await fleet.scan({}, 'pump')
    expect(fleet.considered).toEqual(['A hook', 'P hook'])
    release()
    await fleet.world.settle()
    expect(fleet.considered).toEqual(['A hook', 'P hook', 'B hook'])
  })
})

test('10 000 devices are scanned in short slices, without waking any', async () => {
  const devices = namesOf(10_000)
  await open(...devices)
  await fleet.sleep(devices)
  fleet.onConsider = () => fleet.world.spend(0.25)
  const asked = fleet.asking({ type: 'scan', request: { by: 'hook', devices: null, author: null } })
  let [most, before] = [0, 0]
  for (let rounds = 0; rounds < 20_000 && fleet.considered.length < 10_000; rounds++) {
    if (!fleet.world.step()) await new Promise((resolve) => setImmediate(resolve))
    most = Math.max(most, fleet.considered.length - before)
    before = fleet.considered.length
  }
  await during(fleet.world, asked)
  expect(fleet.considered).toHaveLength(10_000)
  // A slice is 1 ms, and each device takes 0.25 ms.
  expect(most).toBeLessThanOrEqual(8)
  expect(devices.filter((device) => fleet.isAwake(device))).toEqual([])
})

test('at most 64 devices of a project wait for the update server', async () => {
  await open(...namesOf(200))
  const ends: (() => void)[] = []
  fleet.onConsider = () => new Promise<void>((resolve) => ends.push(resolve))
  await fleet.scan()
  expect(fleet.considered).toHaveLength(64)
  for (const end of ends.splice(0, 10)) end()
  await fleet.world.settle()
  expect(fleet.considered).toHaveLength(74)
})

describe('a rollout counts its devices', () => {
  test('in the whole project', async () => {
    await open(...namesOf(2_500))
    await fleet.addDevices(['P'], { project: 'pump' })
    await fleet.putRollout()
    expect(fleet.considered).toHaveLength(2_500)
    expect(fleet.project().tally.counts.chosen).toBe(2_500)
  })

  test('within the permissions of its author', async () => {
    await open('A', 'B', 'C')
    fleet.scopeOf = () => updating('A', 'C')
    await fleet.putRollout()
    expect(fleet.considered).toEqual(['A hook', 'C hook'])
    expect(fleet.project().tally.counts.chosen).toBe(2)
  })

  test('not in a scan of listed devices', async () => {
    await open('A', 'B', 'C')
    await fleet.putRollout()
    await fleet.scan({ devices: ['A'] })
    expect(fleet.project().tally.counts.chosen).toBe(3)
  })

  test('until it is deleted', async () => {
    await open(...namesOf(600))
    let release = () => {}
    fleet.onConsider = (device) =>
      device === 'D-10000' ? new Promise<void>((resolve) => (release = resolve)) : undefined
    await fleet.putRollout()
    const before = fleet.considered.length
    await fleet.ask({ type: 'delete_rollout' })
    release()
    await fleet.world.settle()
    expect(before).toBe(256)
    expect(fleet.considered).toHaveLength(256)
    expect(isEmpty(fleet.project())).toBe(true)
  })
})

describe('a failing device does not stop the scan', () => {
  test.each<[name: string, error: Error, isReported: boolean]>([
    ['an error of the update server', new UpdateServerFailed('500'), false],
    ['a bug', new TypeError('a bug'), true],
  ])('%s', async (_, error, isReported) => {
    await open('A', 'B')
    fleet.onConsider = (device) => {
      if (device === 'A') throw error
    }
    await fleet.scan()
    expect(fleet.considered).toEqual(['A hook', 'B hook'])
    expect(fleet.failures).toEqual(isReported ? [error] : [])
    expect(fleet.project().scan).toBeUndefined()
  })

  test('overload, which is retried', async () => {
    await open('A', 'B')
    let isFull = true
    fleet.onConsider = (device) => {
      if (device === 'A' && isFull) throw new Problem('overloaded')
    }
    await fleet.scan()
    isFull = false
    await fleet.world.advance(1_000)
    expect(fleet.considered).toEqual(['A hook', 'B hook', 'A hook'])
    expect(fleet.failures).toEqual([])
    expect(fleet.project().scan).toBeUndefined()
  })
})

describe('stored scans continue after a kill', () => {
  const devices = namesOf(2_500)

  test.each([0, 1])('and consider each device at least once, with %i writes in flight kept', async (kept) => {
    // Each round is killed later, from before the first step to after the last.
    let rounds = 0
    for (let steps = 0; ; steps += 41) {
      rounds++
      fleet = await ScanFixture.open()
      fleet.onConsider = () => fleet.world.spend(0.1)
      await fleet.addDevices(devices)
      let isStored = false
      const request = { by: 'hook', devices: null, author: null } as const
      const stored = () => {
        isStored = true
      }
      fleet.asking({ type: 'scan', request }).then(stored, () => {})
      let done = 0
      while (done < steps && fleet.considered.length < devices.length) {
        if (!fleet.world.step()) await new Promise((resolve) => setImmediate(resolve))
        done++
      }
      const isComplete = fleet.considered.length === devices.length
      fleet = await fleet.restart(kept)
      await fleet.world.advance(2_000)
      // A scan may only be lost if it was not acknowledged.
      const isLost = fleet.considered.length === 0 && !isStored
      expect(new Set(fleet.considered).size).toBe(isLost ? 0 : devices.length)
      // Only devices after the stored cursor are considered twice.
      expect(fleet.considered.length).toBeLessThanOrEqual(devices.length + 1_024 + 256 + 64)
      expect(isEmpty(fleet.project())).toBe(true)
      if (isComplete) break
      await fleet.close()
    }
    expect(rounds).toBeGreaterThan(10)
  })

  test('the cursor never passes a device that is being considered', async () => {
    await open(...devices)
    const ends = new Map<string, () => void>()
    fleet.onConsider = (device) =>
      device === 'D-11000' ? new Promise<void>((resolve) => ends.set(device, resolve)) : undefined
    await fleet.scan()
    fleet = await fleet.restart()
    await fleet.world.settle()
    expect(fleet.considered.filter((line) => line === 'D-11000 hook')).toHaveLength(2)
    expect(new Set(fleet.considered).size).toBe(devices.length)
  })

  test.each([
    ['all', null],
    ['listed devices', devices],
  ])('devices in progress at a failed write are considered again: %s', async (_, listed) => {
    await open(...devices)
    const ends: (() => void)[] = []
    fleet.onConsider = () => new Promise<void>((resolve) => ends.push(resolve))
    await fleet.scan({ devices: listed })
    const first = [...fleet.considered]
    fleet.faults.next = { fail: 'full', reachedDisk: false }
    await expect(fleet.scan({ devices: ['X'] }, 'pump')).rejects.toMatchObject({ code: 'storage' })
    // The store takes writes again.
    await fleet.world.advance(60_000)
    expect(fleet.runtime.log).toContain('recovered')
    await fleet.resume()
    fleet.onConsider = () => {}
    for (const end of ends) end()
    await fleet.world.advance(2_000)
    for (const line of first) expect(fleet.considered.filter((other) => other === line)).toHaveLength(2)
    expect(new Set(fleet.considered).size).toBe(devices.length)
    expect(fleet.project().scan).toBeUndefined()
  })
})

test('a stopped scan considers no more devices, and keeps its cursor', async () => {
  await open(...namesOf(2_000))
  let count = 0
  fleet.onConsider = () => {
    if (++count === 1_100) fleet.scans.stop()
  }
  await fleet.scan()
  expect(fleet.considered).toHaveLength(1_100)
  expect(fleet.project().scan?.cursor).toBe('D-11023')
  fleet = await fleet.restart()
  await fleet.world.settle()
  expect(fleet.considered).toHaveLength(1_100 + 976)
})

test('the scan of a deleted tenant ends', async () => {
  await open(...namesOf(300))
  fleet.onConsider = (device) => {
    if (device === 'D-10050') fleet.scans.tenantEnded('default')
  }
  await fleet.scan()
  await fleet.world.advance(10_000)
  expect(fleet.considered).toHaveLength(51)
  expect(fleet.failures).toEqual([])
})
