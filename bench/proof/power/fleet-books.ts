import WebSocket from 'ws'
import { Dashboard, type StreamEvent } from '#bench/dashboard'
import { SimulatedDevice } from '#bench/fleet/device'
import type { Fleet } from '#bench/fleet/fleet'
import { HeardBooks, type HeardUpdate } from '#bench/fleet/heard'
import { wires } from '#bench/fleet/wire'
import { authorizationHeader, gateway } from '#bench/harness/identity'
import { fleetWays, proofFleets } from '#bench/proof/fleets'

export interface FleetBooksOptions {
  /** `http://host:port` of the server that they report to. */
  readonly url: string
  readonly seed: number
  /** In all. */
  readonly devices: number
  /** Changes a second, in all. */
  readonly rate: number
  /** A provisioning key. */
  readonly key: string
}

/** Another server, on a copy of the folder. */
export interface CopyPlace {
  readonly url: string
  readonly authorization: string
  /** From where on its stream is read. */
  readonly first: { readonly epoch: string; readonly offset: number }
}

/** Up to which frame a device knew its reports to be settled, at a time in Unix ms. */
interface Known {
  readonly at: number
  readonly settled: number
}

/** How often it is looked at: what was known is at most so much younger than it is taken for. */
const lookMs = 1
const onlineMsMax = 20_000
const catchUpMsMax = 20_000
const welcomeMsMax = 10_000
const detailsMax = 3

/**
 * Fleets that report over links, in every way of speaking, and when they knew what of it was stored: by ACK, or by the `seq`
 * of WELCOME. Of any moment it can be said what a server on a copy of the folder must hold.
 */
export class FleetBooks {
  readonly fleets: readonly Fleet[]
  readonly #key: string
  readonly #known = new Map<SimulatedDevice, Known[]>()
  #looking: NodeJS.Timeout | undefined

  constructor({ url, seed, devices, rate, key }: FleetBooksOptions) {
    this.#key = key
    this.fleets = proofFleets(url, { ways: fleetWays, devices, rate, seed, key })
    for (const fleet of this.fleets) for (const device of fleet.devices) this.#known.set(device, [])
  }

  /** They report from now on, over every life of the server. @throws when they are not let in */
  async start(): Promise<void> {
    this.#looking = setInterval(() => this.#look(), lookMs)
    for (const fleet of this.fleets) fleet.start()
    for (const fleet of this.fleets)
      if (!(await fleet.allOnline(onlineMsMax))) throw new Error(`fleet ${fleet.options.prefix} did not come in`)
  }

  /** What the server said that it must not say. */
  async stop(): Promise<readonly string[]> {
    clearInterval(this.#looking)
    await Promise.all(this.fleets.map((fleet) => fleet.stop(false)))
    return this.fleets.flatMap((fleet) => fleet.counts.faults)
  }

  get framesAcknowledged(): number {
    return this.fleets.reduce((sum, { counts }) => sum + counts.framesAcknowledged, 0)
  }

  /** How many frames were known to be stored at a moment. */
  framesBy(at: number): number {
    return this.#devicesAt(at).reduce((sum, device) => sum + framesOf(device), 0)
  }

  /**
   * What is wrong with a copy made of a moment: a frame that was acknowledged before and is not in the stream, or twice, or
   * not as it was sent; a state that is not what the stream says; a session that begins elsewhere than its frames end.
   */
  async faultsAt(at: number, { url, authorization, first }: CopyPlace): Promise<readonly string[]> {
    const devices = this.#devicesAt(at)
    const books = new HeardBooks(devices)
    const lastOf = new Map<string, number>()
    const onEvent = (event: StreamEvent) => {
      if (event.type !== 'OBJECT_UPDATED') return
      const update = event as unknown as HeardUpdate
      books.hear(update)
      noteLast(lastOf, this.#byIdentifier.get(update.deviceIdentifier), update)
    }
    const reader = new Dashboard({ url, from: first, authorization, backoffMsMax: 50, onEvent })
    reader.start()
    const hasAll = await reader.caughtUp(catchUpMsMax)
    const differences = hasAll ? await reader.differences(detailsMax) : ['the stream could not be read to its end']
    reader.stop()
    const { lost, doubled, disordered, wrong, refusedHeard, details } = books.report()
    const counted: readonly (readonly [number, string])[] = [
      [lost, 'acknowledged frames are not in the stream'],
      [doubled, 'frames are in the stream twice'],
      [disordered, 'frames are out of order'],
      [wrong, 'events are not what was sent'],
      [refusedHeard, 'refused frames are in the stream'],
    ]
    const found = counted.filter(([count]) => count > 0).map(([count, what]) => `${count} ${what}`)
    return [
      ...(found.length > 0 ? [`fleets: ${found.join(', ')} (${details.slice(0, detailsMax).join('; ')})`] : []),
      ...differences.map((text) => `the stream, folded, against GET /devices: ${text}`),
      ...(await this.#sessionFaults(url, lastOf)),
    ]
  }

  /** A device that comes back goes on behind the last frame that is stored: else one would be there twice, or never. */
  async #sessionFaults(url: string, lastOf: ReadonlyMap<string, number>): Promise<readonly string[]> {
    const named = this.fleets.flatMap((fleet) => (fleet.options.session === 'named' ? fleet.devices : []))
    const back = named.filter(({ identifier }) => lastOf.has(identifier))
    const said = await welcomesOf(url, this.#key, back)
    return back
      .flatMap((device) => {
        const last = device.seqOf(lastOf.get(device.identifier) ?? 0)
        const seq = said.get(device.identifier)
        return seq === last
          ? []
          : [`${device.identifier}: WELCOME says seq ${seq}, and its last frame stored is ${last}`]
      })
      .slice(0, detailsMax)
  }

  #look(): void {
    const at = performance.timeOrigin + performance.now()
    for (const [device, known] of this.#known)
      if (device.settled !== (known.at(-1)?.settled ?? 0)) known.push({ at, settled: device.settled })
  }

  /** As they knew themselves then; what they sent since may be there, too. */
  #devicesAt(at: number): readonly SimulatedDevice[] {
    return [...this.#known].map(([device, known]) => {
      const then = new SimulatedDevice(device.index, device.identifier, device.plan, undefined)
      then.sent = device.sent
      then.settled = known.findLast((each) => each.at < at)?.settled ?? 0
      // A frame that was given up, or refused, never turns out to be stored after all.
      for (const frame of device.uncertain) then.uncertain.add(frame)
      for (const frame of device.refused) then.refused.add(frame)
      return then
    })
  }

  get #byIdentifier(): ReadonlyMap<string, SimulatedDevice> {
    return new Map([...this.#known.keys()].map((device) => [device.identifier, device]))
  }
}

function framesOf(device: SimulatedDevice): number {
  let count = 0
  for (let frame = 1; frame <= device.settled; frame++) if (device.isAcknowledged(frame)) count++
  return count
}

function noteLast(lastOf: Map<string, number>, device: SimulatedDevice | undefined, update: HeardUpdate): void {
  const frame = device?.plan.frameNumberOf(update.serviceIdentifier, update.updates)
  if (device && frame !== undefined) lastOf.set(device.identifier, frame)
}

/** All of them say HELLO over one link. The `seq` of each WELCOME, by device. */
function welcomesOf(
  url: string,
  key: string,
  devices: readonly SimulatedDevice[],
): Promise<ReadonlyMap<string, number>> {
  const wire = wires.json
  const said = new Map<string, number>()
  if (devices.length === 0) return Promise.resolve(said)
  const socket = new WebSocket(`${url.replace(/^http/, 'ws')}/api/v1/link`, [wire.subprotocol], {
    headers: authorizationHeader(gateway(key)),
    perMessageDeflate: false,
  })
  return new Promise((resolve) => {
    const timer = setTimeout(() => socket.terminate(), welcomeMsMax)
    socket.on('open', () => {
      for (const device of devices) socket.send(wire.encode(device.hello(wire)))
    })
    socket.on('message', (data: Buffer) => {
      const { type, deviceIdentifier, seq } = wire.decode(data) as Record<string, unknown>
      if (type === 'WELCOME') said.set(String(deviceIdentifier), Number(seq))
      if (said.size === devices.length) socket.terminate()
    })
    socket.on('error', () => undefined)
    socket.on('close', () => {
      clearTimeout(timer)
      resolve(said)
    })
  })
}
