import { deepStrictEqual } from 'node:assert'
import { Readable } from 'node:stream'
import { isDeepStrictEqual } from 'node:util'
import { anonymous } from '#access/built-in-callers'
import { History } from '#history/history'
import { dayMs, hourMs } from '#history/history-keys'
import type { Caller } from '#model/caller'
import { LinkBody } from '#model/link-message'
import { DeviceStatus } from '#model/meta'
import { Problem } from '#model/problem'
import { everything, scopeOf } from '#model/scope'
import { StorageFailure } from '#runtime/storage'
import { HistoryModel, nameOf } from '#test/history/history-model'
import {
  addShown,
  aggregates,
  hourOf,
  hoursOf,
  type Points,
  rowOf,
  rowsIn,
  rowsOf,
  type ShownSeries,
  storedOf,
} from '#test/simulation/history-answers'
import { randomLimits } from '#test/simulation/limits'
import { answerOf, type SimulatedRequest, SimulatedServer, tenant } from '#test/simulation/simulated-server'
import { SimulatedWorld } from '#test/simulation/simulated-world'
import { type MemoryBackend, memoryStorage, type WriteFault } from '#test/store/memory'

const devices = ['A', 'B', 'C'] as const
const services = ['one', 'two'] as const
const declarations = [
  ['FLOAT', 'BOOL', 'STRING'],
  ['FLOAT', 'UINT64', 'STRING'],
  ['INT32', 'BOOL'],
] as const

const all: Caller = { ...anonymous, tenant, scope: everything }
/** Reads one service of one device. */
const limited: Caller = {
  ...all,
  user: `${tenant}/limited`,
  scope: scopeOf([{ permissions: { service: ['read'] }, devices: ['A'], services: ['one'] }]),
}
const isReadable = (caller: Caller, device: string, service: string) =>
  caller === all || (device === 'A' && service === 'one')

/** The greatest age of a reported time; history keeps points longer. */
const oldestMs = 20 * dayMs
const limits = {
  ...{ unstoredMax: 60, runsMax: 3, blockPointsMin: 12 },
  ...{ rawMs: 40 * dayMs, hoursMs: 60 * dayMs, bytesMax: Number.POSITIVE_INFINITY },
}
const steps = 50

/**
 * One life of a server with history, from a seed: late and repeated times, kills, power losses that cut the stream,
 * full disks, imports, compactions. The answers of history are compared with plain lists of the points in the stream
 * and in the imports.
 */
class HistoryRun {
  readonly #world: SimulatedWorld
  readonly #store: MemoryBackend
  readonly #backend: MemoryBackend
  readonly #limits: ConstructorParameters<typeof SimulatedServer>[2]
  #server: SimulatedServer
  #fault: WriteFault | undefined
  #key = ''
  readonly #declared = new Map<string, readonly string[]>()
  /** Imported points, and the offset of the stream after which each was imported. */
  readonly #imported: { readonly after: number; readonly add: (model: HistoryModel) => void }[] = []
  checks = 0
  step = 0

  constructor(seed: number) {
    this.#world = new SimulatedWorld(seed)
    const { random } = this.#world
    const world = this.#world.process().world
    const delayMsMax = random.next() < 0.5 ? 0 : 6
    this.#store = memoryStorage({ world, delayMsMax })
    const beforeWrite = () => {
      const fault = this.#fault
      this.#fault = undefined
      return fault
    }
    this.#backend = memoryStorage({ world, delayMsMax, faults: { beforeWrite } })
    this.#limits = {
      ...randomLimits(random, () => this.#world.now()),
      ...{ retainedBytesMax: 2 ** 30, uncommittedBytesMax: 1_000_000 },
      history:
        (own) =>
        ({ shapes }) => {
          const parts = { world: own, backend: this.#backend, shapes, limits }
          return new History({ ...parts, setAside: this.#setAside, failed: this.#failed })
        },
    }
    this.#server = new SimulatedServer(this.#world, this.#store, this.#limits)
  }

  readonly #setAside = () => {
    const error = new Error('history started again from the beginning of the stream')
    this.#server.errors.push(error)
    return Promise.reject(error)
  }
  readonly #failed = (error: unknown) => {
    if (!(error instanceof StorageFailure)) this.#server.errors.push(error as Error)
  }

  async begin(): Promise<void> {
    await this.#pumped(this.#server.open())
    const { body } = await this.#pumped(this.#server.call('createProvisioningKey', { body: { name: 'devices' } }))
    this.#key = JSON.parse(body).key
  }

  async act(): Promise<void> {
    const { random } = this.#world
    const tried = random.next()
    const device = random.pick(devices) as string
    if (tried < 0.6)
      for (let left = 1 + random.below(6); left > 0; left--) await this.#report(random.pick(devices) as string)
    else if (tried < 0.64) this.#declared.delete(`${device} ${random.pick(services)}`)
    else if (tried < 0.66) await this.#import(device)
    else if (tried < 0.69) await this.#remove(device)
    else if (tried < 0.7) await this.#asked('compactHistory', {})
    else if (tried < 0.78) await this.#world.advance(random.between(0, 20_000))
    else if (tried < 0.84) await this.#world.leap(random.below(3) === 0 ? dayMs : random.between(0, 2 * hourMs))
    else if (tried < 0.88) this.#backend.setRoom(false)
    else if (tried < 0.91) this.#fault = { fail: random.next() < 0.5 ? 'full' : 'io', reachedDisk: random.next() < 0.5 }
    else if (tried < 0.95) await this.#die(() => this.#backend.crash(random.below(3)))
    else {
      await this.#die(() => {
        this.#store.losePower()
        // Each database has the writes that reached the disk.
        if (random.next() < 0.5) this.#backend.losePower()
        else this.#backend.crash()
      })
    }
    if (random.next() < 0.2) await this.#check()
    const [error] = this.#server.errors
    if (error) throw error
  }

  async #die(place: () => void): Promise<void> {
    for (let left = this.#world.random.below(4); left > 0; left--) await this.#world.step()
    this.#server.die()
    this.#fault = undefined
    this.#store.crash(this.#world.random.below(3))
    place()
    this.#server = new SimulatedServer(this.#world, this.#store, this.#limits)
    await this.begin()
  }

  async #report(device: string): Promise<void> {
    const { random } = this.#world
    const declared = services.map((service) => {
      const name = `${device} ${service}`
      const types = this.#declared.get(name) ?? (random.pick(declarations) as readonly string[])
      this.#declared.set(name, types)
      return { serviceIdentifier: service, properties: types.map((type, place) => ({ propId: place + 1, type })) }
    })
    const now = Math.floor(this.#world.now())
    const late = random.below(8) === 0 ? oldestMs : 3 * hourMs
    const timestamp = random.next() < 0.6 ? now : now - Math.floor(random.below(late) / 60_000) * 60_000
    const updates = declared.flatMap(({ serviceIdentifier, properties }) =>
      properties.flatMap(({ propId, type }) =>
        random.next() < 0.6 ? [{ serviceIdentifier, propId, value: this.#valueOf(type), timestamp }] : [],
      ),
    )
    const body = LinkBody.parse({ deviceIdentifier: device, services: declared, updates })
    const authorization = `Basic ${Buffer.from(`${tenant}/*:${this.#key}`).toString('base64')}`
    const answer = await this.#asked('postLink', { authorization, body })
    if (answer === undefined) for (const service of services) this.#declared.delete(`${device} ${service}`)
  }

  /** Imports one value, as if from an earlier system, often for a time that already has one. */
  async #import(device: string): Promise<void> {
    const { random } = this.#world
    const service = random.pick(services) as string
    const propId = 1 + random.below(3)
    const type = this.#declared.get(`${device} ${service}`)?.[propId - 1]
    // The import must not meet an injected fault.
    this.#allowWrites()
    const parameters = { deviceIdentifier: device, serviceIdentifier: service }
    if (!type || !(await this.#text('readDeviceHistory', { parameters, query: {} }))) return
    const time = (Math.floor(this.#world.now() / 60_000) - random.below(3 * 60)) * 60_000
    const value = this.#valueOf(type)
    const file = `deviceIdentifier,serviceIdentifier,propId,time,value\n${device},${service},${propId},${time},${value}\n`
    const pieces = Object.assign(Readable.from([Buffer.from(file)]), { lengthBytes: file.length })
    const answer = await this.#asked('importHistory', { pieces })
    // An earlier write failed: the point is in memory only.
    if (answer === undefined) await this.#die(() => this.#backend.crash())
    if (answer === undefined || JSON.parse(answer).stored !== 1) return
    const after = (await this.#pumped(this.#server.stream())).at(-1)?.offset ?? 0
    const name = nameOf(device, service, propId, type.toLowerCase())
    this.#imported.push({ after, add: (model) => model.set(name, time, storedOf(value)) })
  }

  #valueOf(type: string): unknown {
    const number = this.#world.random.below(1_000)
    if (type === 'BOOL') return number > 500
    if (type === 'STRING') return `text ${number}`
    if (type === 'UINT64' && number > 800) return '18446744073709551615'
    return type === 'FLOAT' ? number / 10 : number
  }

  async #remove(device: string): Promise<void> {
    for (const service of services) this.#declared.delete(`${device} ${service}`)
    await this.#asked('deleteDevice', { parameters: { deviceIdentifier: device } })
  }

  /** The body of the answer; undefined: refused. */
  async #asked(name: string, request: SimulatedRequest): Promise<string | undefined> {
    const { body, refused } = await this.#pumped(answerOf(this.#server.call(name, request)))
    return refused === undefined ? body : undefined
  }

  #allowWrites(): void {
    this.#backend.setRoom(true)
    this.#fault = undefined
  }

  async #check(): Promise<void> {
    this.#allowWrites()
    this.checks++
    const now = Math.floor(this.#world.now()) + 1
    const from = hourOf(now - oldestMs)
    const span = { from: { at: from }, to: { at: now } }
    const { points } = await this.#points(from, now)
    await this.#checkStatus(from, now)
    for (const caller of [all, limited]) {
      const found: Points = {}
      const buckets: Record<string, unknown> = {}
      for (const device of devices) {
        for (const service of services) {
          const parameters = { deviceIdentifier: device, serviceIdentifier: service }
          const raw = await this.#read('readDeviceHistory', { caller, parameters, query: { ...span, limit: 10_000 } })
          if (!raw) continue
          for (const series of raw) addShown(found, device, service, series)
          const query = { ...span, interval: hourMs, aggregates, properties: '1' }
          for (const hours of (await this.#read('readDeviceHistory', { caller, parameters, query })) ?? []) {
            if (hours.time.length > 0) buckets[`${device} ${service} 1 ${hours.type.toLowerCase()}`] = rowsOf(hours)
          }
        }
      }
      const readable = Object.entries(points).filter(([name]) => {
        const [device = '', service = ''] = name.split(' ')
        return isReadable(caller, device, service)
      })
      const model: Points = Object.fromEntries(readable)
      deepStrictEqual(found, model, 'history differs from the stream')
      await this.#checkSelection(caller, span, model)
      const message = 'an export differs from the stream, or from what the caller may read'
      deepStrictEqual(await this.#exported(caller, span), rowsIn(model), message)
      const hours = Object.entries(model).filter(([name]) => / 1 \w+$/.test(name))
      const expected = Object.fromEntries(hours.map(([name, list]) => [name, hoursOf(list)]))
      deepStrictEqual(buckets, expected, 'the hours of history differ from the stream')
    }
  }

  /** A query of many series leaves out the series outside of the scope. */
  async #checkSelection(caller: Caller, span: object, model: Points): Promise<void> {
    const series = devices.flatMap((deviceIdentifier) =>
      services.map((serviceIdentifier) => ({ deviceIdentifier, serviceIdentifier })),
    )
    const found: Points = {}
    const body = { series, ...span, limit: 10_000 }
    for (const each of (await this.#read('queryHistory', { caller, body })) ?? []) {
      addShown(found, each.deviceIdentifier ?? '', each.serviceIdentifier ?? '', each)
    }
    deepStrictEqual(found, model, 'a query of many series differs from the stream, or from what the caller may read')
    const across = { serviceIdentifier: 'one', property: '1', aggregate: 'count', across: 'sum', interval: dayMs }
    const text = await this.#asked('queryHistory', { caller, body: { ...across, ...span } })
    // Of a property that had several types, only the newest series counts.
    const names = Object.keys(model)
    const most = devices.filter((device) => names.some((name) => name.startsWith(`${device} one 1 `))).length
    if (text !== undefined && JSON.parse(text).devices > most)
      throw new Error('a query across devices counts more of them than have values that the caller may read')
  }

  /** The rows of an export, without the types of the properties. */
  async #exported(caller: Caller, span: object): Promise<readonly string[]> {
    const query = { ...span, deviceIdentifier: devices, serviceIdentifier: services, format: 'ndjson' }
    const text = (await this.#text('exportHistory', { caller, query })) ?? ''
    const rows = text.split('\n').filter((row) => row !== '')
    const read = (row: string) => {
      const { deviceIdentifier, serviceIdentifier, propId, time, value } = JSON.parse(row)
      return rowOf(deviceIdentifier, serviceIdentifier, propId, Date.parse(time), storedOf(value))
    }
    return rows.map(read).sort()
  }

  /** Time goes on during the check, so devices may become offline. */
  async #checkStatus(from: number, to: number): Promise<void> {
    for (;;) {
      const { status } = await this.#points(from, to)
      const found = await this.#status({ from: { at: from }, to: { at: to } })
      if (!isDeepStrictEqual(status, (await this.#points(from, to)).status)) continue
      deepStrictEqual(found, status, 'the status of devices differs from the stream')
      return
    }
  }

  async #status(span: object): Promise<Points> {
    const found: Points = {}
    for (const device of devices) {
      const text = await this.#text('readStatusHistory', { parameters: { deviceIdentifier: device }, query: span })
      const { time, status } = JSON.parse(text ?? '{"time":[],"status":[]}')
      const points = time.map((at: number, index: number) => [at, DeviceStatus.options.indexOf(status[index])])
      if (points.length > 0) found[nameOf(device, '', 0, 'status')] = points
    }
    return found
  }

  async #read(name: string, request: SimulatedRequest): Promise<readonly ShownSeries[] | undefined> {
    const text = await this.#text(name, request)
    return text === undefined ? undefined : (JSON.parse(text) as { series: ShownSeries[] }).series
  }

  /** The answer, as soon as history is open; undefined if the caller may not read the series, or there is none. */
  async #text(name: string, request: SimulatedRequest): Promise<string | undefined> {
    for (let round = 0; round < 20; round++) {
      try {
        return (await this.#pumped(this.#server.call(name, request))).body
      } catch (error) {
        if (!(error instanceof Problem)) throw error
        if (error.code === 'not_found' || error.code === 'forbidden') return undefined
        // History is opened again after a failure.
        if (error.code !== 'history_behind' && error.code !== 'storage') throw error
        await this.#world.advance(3_000)
      }
    }
    throw this.#server.errors[0] ?? new Error('history does not get to the end of the stream')
  }

  /** The points within a span of time, from the stream and from imports; and the status of each device. */
  async #points(from: number, to: number): Promise<{ readonly points: Points; readonly status: Points }> {
    const stream = await this.#pumped(this.#server.stream())
    if (stream[0] && stream[0].offset !== 1) throw new Error('the stream does not hold everything')
    const model = new HistoryModel()
    for (const { offset, entry } of stream) {
      model.apply(entry)
      for (const { after, add } of this.#imported) if (after === offset) add(model)
    }
    const [points, status]: [Points, Points] = [{}, {}]
    for (const [name, list] of Object.entries(model.points)) {
      const recent = list.filter(([time]) => time >= from && time < to)
      const isOfService = name.split(' ')[1] !== ''
      if (recent.length > 0) (isOfService ? points : status)[name] = recent
    }
    return { points, status }
  }

  #pumped<T>(promise: Promise<T>): Promise<T> {
    return this.#world.pumped(promise, 5)
  }
}

/** Throws at the first difference; the same seed throws at the same one. */
export async function runHistory(seed: number) {
  const run = new HistoryRun(seed)
  try {
    await run.begin()
    for (run.step = 1; run.step <= steps; run.step++) await run.act()
    return run.checks
  } catch (error) {
    const what = error instanceof Error ? error.message : String(error)
    const again = `HISTORY_SEED=${seed} npm test -- test/simulation/history-seeds`
    throw new Error(`seed ${seed} of history, step ${run.step}: ${what}. Again: ${again}`, { cause: error })
  }
}
