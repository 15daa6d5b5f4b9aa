import { afterEach, describe, expect, test } from 'vitest'
import { deviceAddress } from '#actors/device/device'
import { isNothing } from '#actors/project/state'
import { Problem } from '#model/problem'
import { scopeOf } from '#model/scope'
import { UpdateServerFailed } from '#model/update-offer'
import { hello } from '#test/actors/acting'
import { ada } from '#test/actors/acting-project'
import { namesOf, WalkStage } from '#test/firmware/walk-stage'
import { during } from '#test/runtime/runtime-fixture'

let fleet: WalkStage
afterEach(async () => {
  expect(fleet.stage.bugs).toEqual([])
  await fleet.close()
})

const updating = (...devices: string[]) => scopeOf([{ permissions: { updates: ['update'] }, devices, services: ['*'] }])

async function open(...devices: string[]): Promise<void> {
  fleet = await WalkStage.open()
  await fleet.bring(devices)
}

describe('considered are', () => {
  test('the devices of the project, by name, and of no other', async () => {
    await open('B', 'A', 'C')
    await fleet.bring(['D'], { project: 'boiler.2' })
    await fleet.bring(['E'], { project: undefined })
    await fleet.walk()
    await fleet.world.settle()
    expect(fleet.considered).toEqual(['A hook', 'B hook', 'C hook'])
    expect(isNothing(fleet.project())).toBe(true)
  })

  test('those that are named, and are there and of the project', async () => {
    await open('A', 'B', 'C')
    await fleet.bring(['D'], { project: 'pump' })
    await fleet.walk({ devices: ['C', 'D', 'X', 'A', 'C'] })
    await fleet.world.settle()
    expect(fleet.considered).toEqual(['A hook', 'C hook'])
  })

  test('none when none is named', async () => {
    await open('A')
    await fleet.walk({ devices: [] })
    await fleet.world.settle()
    expect(fleet.considered).toEqual([])
    expect(isNothing(fleet.project())).toBe(true)
  })

  test('none that went to another project or away while others were looked at', async () => {
    await open('A', 'B', 'C', 'D')
    const { system } = fleet.stage
    fleet.considering = (device) => {
      if (device !== 'A') return
      void system.ask(deviceAddress('default', 'B'), { type: 'remove' })
      void system.ask(deviceAddress('default', 'C'), hello([], { project: 'pump' }))
    }
    await fleet.walk()
    await fleet.world.settle()
    expect(fleet.considered).toEqual(['A hook', 'D hook'])
  })

  test.each([
    ['hook', 'hook'],
    ['cron', 'cron'],
    ['rollout', 'hook'],
  ] as const)('by %s as by %s', async (by, trigger) => {
    await open('A')
    // Without a rollout there is no walk for one.
    await fleet.putRollout()
    await fleet.world.settle()
    fleet.considered.length = 0
    await fleet.walk({ by })
    await fleet.world.settle()
    expect(fleet.considered).toEqual([`A ${trigger}`])
  })

  test('those that whoever asked may update at that moment', async () => {
    await open('A', 'B', 'C')
    fleet.scopeOf = (author) => (author === ada ? updating('A', 'B', 'C') : scopeOf([]))
    fleet.considering = (device) => {
      if (device === 'A') fleet.scopeOf = () => updating('A', 'C')
    }
    await fleet.walk({ author: ada })
    await fleet.world.settle()
    expect(fleet.considered).toEqual(['A hook', 'C hook'])
  })

  test('those of one walk after those of the one before, of two projects at once', async () => {
    await open('A', 'B')
    await fleet.bring(['P'], { project: 'pump' })
    let goOn = () => {}
    fleet.considering = (device) => (device === 'A' ? new Promise<void>((resolve) => (goOn = resolve)) : undefined)
    await fleet.walk({ devices: ['A'] })
    await fleet.walk({ devices: ['B'] })
    await fleet.walk({}, 'pump')
    await fleet.world.settle()
    expect(fleet.considered).toEqual(['A hook', 'P hook'])
    goOn()
    await fleet.world.settle()
    expect(fleet.considered).toEqual(['A hook', 'P hook', 'B hook'])
  })
})

test('10 000 devices are gone through a little at a time, and none is woken', async () => {
  const devices = namesOf(10_000)
  await open(...devices)
  await fleet.sleep(devices)
  fleet.considering = () => fleet.world.spend(0.25)
  const asked = fleet.asking({ type: 'scan', request: { by: 'hook', devices: null, author: null } })
  let [most, before] = [0, 0]
  for (let rounds = 0; rounds < 20_000 && fleet.considered.length < 10_000; rounds++) {
    if (!fleet.world.step()) await new Promise((resolve) => setImmediate(resolve))
    most = Math.max(most, fleet.considered.length - before)
    before = fleet.considered.length
  }
  await during(fleet.world, asked)
  expect(fleet.considered).toHaveLength(10_000)
  // A slice of a millisecond, at a quarter of one each.
  expect(most).toBeLessThanOrEqual(8)
  expect(devices.filter((device) => fleet.isAwake(device))).toEqual([])
})

test('at most 64 devices of a project wait for the update server', async () => {
  await open(...namesOf(200))
  const ends: (() => void)[] = []
  fleet.considering = () => new Promise<void>((resolve) => ends.push(resolve))
  await fleet.walk()
  await fleet.world.settle()
  expect(fleet.considered).toHaveLength(64)
  for (const end of ends.splice(0, 10)) end()
  await fleet.world.settle()
  expect(fleet.considered).toHaveLength(74)
})

describe('a rollout is told how many it means', () => {
  test('of all, whoever was considered', async () => {
    await open(...namesOf(2_500))
    await fleet.bring(['P'], { project: 'pump' })
    await fleet.putRollout()
    await fleet.world.settle()
    expect(fleet.considered).toHaveLength(2_500)
    expect(fleet.project().tally.counts.chosen).toBe(2_500)
  })

  test('of those that its author reaches', async () => {
    await open('A', 'B', 'C')
    fleet.scopeOf = () => updating('A', 'C')
    await fleet.putRollout()
    await fleet.world.settle()
    expect(fleet.considered).toEqual(['A hook', 'C hook'])
    expect(fleet.project().tally.counts.chosen).toBe(2)
  })

  test('not by a walk through some devices', async () => {
    await open('A', 'B', 'C')
    await fleet.putRollout()
    await fleet.world.settle()
    await fleet.walk({ devices: ['A'] })
    await fleet.world.settle()
    expect(fleet.project().tally.counts.chosen).toBe(3)
  })

  test('and when it is deleted nothing more is looked at', async () => {
    await open(...namesOf(600))
    let goOn = () => {}
    fleet.considering = (device) =>
      device === 'D-10000' ? new Promise<void>((resolve) => (goOn = resolve)) : undefined
    await fleet.putRollout()
    await fleet.world.settle()
    const before = fleet.considered.length
    await fleet.ask({ type: 'delete_rollout' })
    goOn()
    await fleet.world.settle()
    expect(before).toBe(256)
    expect(fleet.considered).toHaveLength(256)
    expect(isNothing(fleet.project())).toBe(true)
  })
})

describe('one device keeps no other from being considered:', () => {
  test.each<[what: string, error: Error, isSaid: boolean]>([
    ['the server fails for it', new UpdateServerFailed('500'), false],
    ['a bug does', new TypeError('a bug'), true],
  ])('%s', async (_, error, isSaid) => {
    await open('A', 'B')
    fleet.considering = (device) => {
      if (device === 'A') throw error
    }
    await fleet.walk()
    await fleet.world.settle()
    expect(fleet.considered).toEqual(['A hook', 'B hook'])
    expect(fleet.failures).toEqual(isSaid ? [error] : [])
    expect(fleet.project().scan).toBeUndefined()
  })

  test('too much waits: it is tried again', async () => {
    await open('A', 'B')
    let isFull = true
    fleet.considering = (device) => {
      if (device === 'A' && isFull) throw new Problem('overloaded')
    }
    await fleet.walk()
    await fleet.world.settle()
    isFull = false
    await fleet.world.advance(1_000)
    expect(fleet.considered).toEqual(['A hook', 'B hook', 'A hook'])
    expect(fleet.failures).toEqual([])
    expect(fleet.project().scan).toBeUndefined()
  })
})

describe('killed at any moment, what is stored goes on:', () => {
  const devices = namesOf(2_500)

  test.each([0, 1])(
    'each device is considered at least once, %i of the writes in flight kept',
    async (kept) => {
      // What there is to be killed in grows with the rounds: first nothing, at last all of it.
      let rounds = 0
      for (let steps = 0; ; steps += 13) {
        rounds++
        fleet = await WalkStage.open()
        fleet.considering = () => fleet.world.spend(0.1)
        await fleet.bring(devices)
        let isTaken = false
        const request = { by: 'hook', devices: null, author: null } as const
        const taken = () => {
          isTaken = true
        }
        fleet.asking({ type: 'scan', request }).then(taken, () => {})
        let done = 0
        while (done < steps && fleet.considered.length < devices.length) {
          if (!fleet.world.step()) await new Promise((resolve) => setImmediate(resolve))
          done++
        }
        const isThrough = fleet.considered.length === devices.length
        fleet = await fleet.restart(kept)
        await fleet.world.advance(2_000)
        // Nobody was told that all are considered while that was not stored.
        const isNone = fleet.considered.length === 0 && !isTaken
        expect(new Set(fleet.considered).size).toBe(isNone ? 0 : devices.length)
        // What was not stored yet, with a page that was begun, is all that is done twice.
        expect(fleet.considered.length).toBeLessThanOrEqual(devices.length + 1_024 + 256 + 64)
        expect(isNothing(fleet.project())).toBe(true)
        if (isThrough) break
        await fleet.close()
      }
      expect(rounds).toBeGreaterThan(10)
    },
    120_000,
  )

  test('the cursor is behind what was considered', async () => {
    await open(...devices)
    const ends = new Map<string, () => void>()
    fleet.considering = (device) =>
      device === 'D-11000' ? new Promise<void>((resolve) => ends.set(device, resolve)) : undefined
    await fleet.walk()
    await fleet.world.settle()
    fleet = await fleet.restart()
    await fleet.world.settle()
    expect(fleet.considered.filter((line) => line === 'D-11000 hook')).toHaveLength(2)
    expect(new Set(fleet.considered).size).toBe(devices.length)
  })

  test.each([
    ['all', null],
    ['those that are named', devices],
  ])('what was being considered when a write failed is considered again: %s', async (_, named) => {
    await open(...devices)
    const ends: (() => void)[] = []
    fleet.considering = () => new Promise<void>((resolve) => ends.push(resolve))
    await fleet.walk({ devices: named })
    await fleet.world.settle()
    const first = [...fleet.considered]
    fleet.faults.next = { fail: 'full', reachedDisk: false }
    await expect(fleet.walk({ devices: ['X'] }, 'pump')).rejects.toMatchObject({ code: 'storage' })
    // The store takes writes again.
    await fleet.world.advance(60_000)
    expect(fleet.stage.log).toContain('recovered')
    await fleet.resume()
    fleet.considering = () => {}
    for (const end of ends) end()
    await fleet.world.advance(2_000)
    for (const line of first) expect(fleet.considered.filter((other) => other === line)).toHaveLength(2)
    expect(new Set(fleet.considered).size).toBe(devices.length)
    expect(fleet.project().scan).toBeUndefined()
  })
})

test('when it is stopped nothing more is considered, and nothing said to be', async () => {
  await open(...namesOf(2_000))
  let count = 0
  fleet.considering = () => {
    if (++count === 1_100) fleet.walks.stop()
  }
  await fleet.walk()
  await fleet.world.settle()
  expect(fleet.considered).toHaveLength(1_100)
  expect(fleet.project().scan?.cursor).toBe('D-11023')
  fleet = await fleet.restart()
  await fleet.world.settle()
  expect(fleet.considered).toHaveLength(1_100 + 976)
})

test('a tenant that ends is left alone', async () => {
  await open(...namesOf(300))
  fleet.considering = (device) => {
    if (device === 'D-10050') fleet.walks.tenantEnded('default')
  }
  await fleet.walk()
  await fleet.world.advance(10_000)
  expect(fleet.considered).toHaveLength(51)
  expect(fleet.failures).toEqual([])
})
