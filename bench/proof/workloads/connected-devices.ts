import { Fleet } from '#bench/fleet/fleet'
import { controlsService } from '#bench/fleet/kinds'
import { type Change, type Observed, observeEach, type Workload } from '#bench/proof/workloads/expected-state'
import type { ProofApi } from '#bench/proof/workloads/proof-api'
import { until } from '#bench/time'

/** Writes and updates that reach connected devices: each answer of a device is kept, and each write is applied once. */

const { serviceIdentifier } = controlsService
const setpoint = '0x2000'
const setpointPropId = 0x2000
const prefix = 'LINKED'
const devicesCount = 4
const onlineMsMax = 20_000
const doneMsMax = 30_000
/** The interval at which an update is requested again. */
const updatePollMs = 500
/** A simulated device starts with the first version. */
const versions = ['1.4.2', '1.5.0'] as const
const imageBytes = 3_000

/** Devices that execute writes and updates, and do not report by themselves. */
export class ConnectedDevices {
  readonly #url: string
  readonly #fleet: Fleet
  readonly written: readonly string[]
  readonly updated: readonly string[]

  /** `url`: `http://host:port`; `key`: a provisioning key. */
  constructor(url: string, key: string) {
    this.#url = url
    this.#fleet = new Fleet({
      ...{ url: url.replace(/^http/, 'ws'), key, prefix, writes: 'answer', updates: 'well' },
      ...{ devices: devicesCount, links: devicesCount, rate: 1, changes: 2, backoffMsMin: 50, backoffMsMax: 400 },
    })
    this.#fleet.pause()
    const identifiers = this.#fleet.devices.map(({ identifier }) => identifier)
    this.written = identifiers.slice(0, 2)
    this.updated = identifiers.slice(2)
  }

  /** Creates the releases, which a device gets only by its pin, and connects. */
  async start(api: ProofApi): Promise<void> {
    for (const slot of this.updated) {
      const project = this.projectOf(slot)
      await api.must('PUT', `${project}/rollout`, { body: { firmware: versions[1], percent: 0 } })
      for (const [place, version] of versions.entries())
        await api.must('PUT', `${project}/releases/${version}`, { body: Buffer.alloc(imageBytes, 1 + place) })
    }
    // The first `fetch` of a process waits until its time limit if the server is killed while the parser of HTTP is still
    // being loaded. The devices load images by `fetch`.
    const answer = await fetch(`${this.#url}/api/v1/health`)
    await answer.arrayBuffer()
    this.#fleet.start()
  }

  of(identifier: string) {
    const device = this.#fleet.devices.find((each) => each.identifier === identifier)
    if (!device) throw new RangeError(`no device ${identifier}`)
    return device
  }

  /** The path of the firmware project for a device. */
  projectOf(identifier: string): string {
    return `/updates/projects/${this.of(identifier).plan.kind.code.toLowerCase()}`
  }

  /**
   * Waits until all are connected and their reports are stored. @throws when they are not, or received invalid messages
   */
  async back(): Promise<void> {
    const areBack = (await this.#fleet.allOnline(onlineMsMax)) && (await this.#fleet.settled(onlineMsMax))
    const { faultCount, faults } = this.#fleet.counts
    if (faultCount > 0) throw new Error(faults.join('; '))
    if (!areBack) throw new Error(`devices are not connected again within ${onlineMsMax / 1000} s`)
  }

  /** How often a device applied a value. Each value is written once, by one id. */
  timesDone(identifier: string, value: number): number {
    const order = JSON.stringify([serviceIdentifier, [{ propId: setpointPropId, value }]])
    const writes = [...(this.of(identifier).controls?.received.values() ?? [])]
    return writes.filter((write) => write.order === order && write.results).length
  }

  async end(): Promise<void> {
    await this.#fleet.stop(false)
  }
}

export function isConnectedDevice(deviceIdentifier: string): boolean {
  return deviceIdentifier.startsWith(`${prefix}-`)
}

/** Writes a property of one device. A write that is repeated under the same key after a kill is applied once. */
export function writesWorkload(devices: ConnectedDevices): Workload {
  return {
    name: 'writes to connected devices',
    slots: devices.written,
    // Short, so that most kills interrupt a write that waits for its device.
    pauseMs: 15,
    // Offline: the server closed the device's connection because its store refused writes.
    busyStatuses: [409],
    nextChange: (slot, _, number) => ({
      method: 'PUT',
      // The two paths are equivalent.
      path:
        number % 2 === 0
          ? `/devices/${slot}/services/${serviceIdentifier}/properties`
          : `/services/${serviceIdentifier}/devices/${slot}/properties`,
      body: { [setpoint]: setpointOf(number) },
      content: String(setpointOf(number)),
    }),
    async observe(api, entries) {
      if (!api.isCopy) await devices.back()
      const values = [...(await api.values(devices.written, serviceIdentifier, setpointPropId))]
      const found = new Map<string, Observed>(
        values
          .filter(([, value]) => value >= setpointOf(0))
          .map(([device, value]) => [device, { content: `${value}` }]),
      )
      if (api.isCopy) return found
      for (const [slot, { observed: before, pending }] of entries) {
        const times = (content: unknown) => devices.timesDone(slot, Number(content))
        if (before && times(before.content) !== 1)
          throw new Error(`${slot}: ${before.content} was acknowledged, and done ${times(before.content)} times`)
        if (pending && times(pending.change.content) > 1)
          throw new Error(`${slot}: ${pending.change.content} was done twice`)
      }
      return found
    },
  }
}

/** Above every initial value. */
function setpointOf(number: number): number {
  return 1_000 + number
}

/**
 * Firmware updates: a device is pinned to the other version and updated to it. After every kill the device reaches the
 * pinned version, and the server shows that version.
 */
export function updatesWorkload(devices: ConnectedDevices): Workload {
  return {
    name: 'updates',
    slots: devices.updated,
    pauseMs: 100,
    nextChange(slot, before): Change {
      const { firmware: installed, isWelcomed } = devices.of(slot)
      if (before && before.content !== installed.version && isWelcomed)
        return { method: 'POST', path: `/updates/${slot}`, content: before.content }
      const firmware = versions.find((each) => each !== installed.version) as string
      return { method: 'PUT', path: `${devices.projectOf(slot)}/pins/${slot}`, body: { firmware }, content: firmware }
    },
    async observe(api, entries) {
      if (!api.isCopy) await devices.back()
      return observeEach(entries, async (slot) => {
        const { status, text } = await api.ask('GET', `${devices.projectOf(slot)}/pins/${slot}`)
        if (status !== 200) return undefined
        const { firmware } = JSON.parse(text) as { firmware: string }
        if (!api.isCopy) await mustBeUpdated(api, devices, slot, firmware)
        return { content: firmware }
      })
    },
  }
}

async function mustBeUpdated(api: ProofApi, devices: ConnectedDevices, slot: string, pinned: string): Promise<void> {
  type Shown = { readonly firmware: string; readonly update?: { readonly status: string } }
  let shown: Shown | undefined
  const isUpdated = async () => {
    ;[shown] = (await api.must<{ firmwares: readonly Shown[] }>('GET', `/updates/${slot}?depth=2`)).firmwares
    // The device is also updated when it connects, so this request may have nothing to do.
    if (shown?.firmware !== pinned) await api.ask('POST', `/updates/${slot}`)
    const isAtRest = ['DONE', 'IDLE'].includes(String(shown?.update?.status))
    return isAtRest && shown?.firmware === pinned && devices.of(slot).firmware.version === pinned
  }
  if (!(await until(isUpdated, doneMsMax, updatePollMs)))
    throw new Error(`${slot} is pinned to ${pinned}, and is ${JSON.stringify(shown)} after ${doneMsMax / 1000} s`)
}
