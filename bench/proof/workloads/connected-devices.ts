import { Fleet } from '#bench/fleet/fleet'
import { controlsService } from '#bench/fleet/kinds'
import { type Observed, pass, type Workload } from '#bench/proof/workloads/expected-state'
import type { ProofApi } from '#bench/proof/workloads/proof-api'

/** Writes and actions that reach connected devices: the answer of each device is kept, and none does anything twice. */

const { serviceIdentifier } = controlsService
const setpoint = '0x2000'
const setpointPropId = 0x2000
const prefix = 'LINKED'
const devicesCount = 4
const onlineMsMax = 20_000
const doneMsMax = 30_000
const pollMs = 50
/** How many of the last actions are read again after every kill. */
const actionsAgain = 5
const actionSlot = 'action on connected devices'

/** Devices that do what they are asked, and do not report by themselves. */
export class ConnectedDevices {
  readonly #fleet: Fleet
  readonly written: readonly string[]
  readonly acted: readonly string[]

  /** `url`: `http://host:port`; `key`: a provisioning key. */
  constructor(url: string, key: string) {
    this.#fleet = new Fleet({
      ...{ url: url.replace(/^http/, 'ws'), key, prefix, writes: 'answer' },
      ...{ devices: devicesCount, links: devicesCount, rate: 1, changes: 2, backoffMsMin: 50, backoffMsMax: 400 },
    })
    this.#fleet.pause()
    this.#fleet.start()
    const identifiers = this.#fleet.devices.map(({ identifier }) => identifier)
    this.written = identifiers.filter((_, place) => place % 2 === 0)
    this.acted = identifiers.filter((_, place) => place % 2 === 1)
  }

  /** The server ended a connection because its store took nothing: devices may have been offline for an action. */
  get wereDisconnected(): boolean {
    return (this.#fleet.counts.closes.get('1013') ?? 0) > 0
  }

  /** All are connected, and all that they reported is stored. @throws when they are not, or received what they must not */
  async back(): Promise<void> {
    const areBack = (await this.#fleet.allOnline(onlineMsMax)) && (await this.#fleet.settled(onlineMsMax))
    const { faultCount, faults } = this.#fleet.counts
    if (faultCount > 0) throw new Error(faults.join('; '))
    if (!areBack) throw new Error(`devices are not connected again within ${onlineMsMax / 1000} s`)
  }

  /** How often a device did it: each value is asked for once, by one id. `idPrefix`: of the WRITE. */
  timesDone(identifier: string, value: number, idPrefix = ''): number {
    const order = JSON.stringify([serviceIdentifier, [{ propId: setpointPropId, value }]])
    const asked = this.#fleet.devices.find((device) => device.identifier === identifier)?.controls?.asked ?? new Map()
    return [...asked].filter(([id, it]) => id.startsWith(idPrefix) && it.order === order && it.results).length
  }

  async end(): Promise<void> {
    await this.#fleet.stop(false)
  }
}

export function isConnectedDevice(deviceIdentifier: string): boolean {
  return deviceIdentifier.startsWith(`${prefix}-`)
}

/** A property of one device. Repeated under the same key after a kill, a write is done once. */
export function writesWorkload(devices: ConnectedDevices): Workload {
  return {
    name: 'writes to connected devices',
    slots: devices.written,
    // So that most kills meet a write that waits for its device.
    pauseMs: 15,
    // The server ended its connection because its store took nothing.
    busyStatuses: [409],
    nextChange: (slot, _, number) => ({
      method: 'PUT',
      // Both paths do the same.
      path:
        number % 2 === 0
          ? `/devices/${slot}/services/${serviceIdentifier}/properties`
          : `/services/${serviceIdentifier}/devices/${slot}/properties`,
      body: { [setpoint]: setpointOf(number) },
      content: `${slot} ${setpointOf(number)}`,
    }),
    async observe(api, entries) {
      if (!api.isCopy) await devices.back()
      const found = await setpointsOf(api, devices.written)
      if (api.isCopy) return found
      for (const [slot, { observed: before, pending }] of entries) {
        const times = (content: unknown) => devices.timesDone(slot, Number(String(content).split(' ').at(-1)))
        if (before && times(before.content) !== 1)
          throw new Error(`${before.content} was acknowledged, and done ${times(before.content)} times`)
        if (pending && times(pending.change.content) > 1) throw new Error(`${pending.change.content} was done twice`)
      }
      return found
    },
  }
}

async function setpointsOf(api: ProofApi, identifiers: readonly string[]): Promise<ReadonlyMap<string, Observed>> {
  const query = identifiers.map((device) => `&deviceIdentifier=${device}`).join('')
  const found = new Map<string, Observed>()
  for (const { deviceIdentifier, services } of await api.rows<DeviceRow>(`/devices?depth=2${query}`)) {
    const controls = services.find((service) => service.serviceIdentifier === serviceIdentifier)
    const value = controls?.properties[setpointPropId]?.value
    if (value !== undefined && value >= setpointOf(0))
      found.set(deviceIdentifier, { content: `${deviceIdentifier} ${value}` })
  }
  return found
}

/** Above every initial value. */
function setpointOf(number: number): number {
  return 1_000 + number
}

interface DeviceRow {
  readonly deviceIdentifier: string
  readonly services: readonly {
    readonly serviceIdentifier: string
    readonly properties: Readonly<Record<string, { readonly value?: number }>>
  }[]
}

interface Action {
  readonly state: string
  readonly counts: { readonly total: number }
  readonly devices: readonly { readonly deviceIdentifier: string; readonly status: string }[]
}

/** Actions go on after a kill until each device has answered; the answers from before are kept. */
export function connectedActionsWorkload(devices: ConnectedDevices): Workload {
  /** By id, the last acknowledged ones: the value, and all answers once they were there. */
  const last = new Map<string, { readonly value: number; answers: string | undefined }>()
  const keep = (id: string, value: number) => {
    last.set(id, { value, answers: undefined })
    for (const old of [...last.keys()].slice(0, -actionsAgain)) last.delete(old)
    return id
  }
  const read = (api: ProofApi, id: string) => api.must<Action>('GET', `/devices/actions/${id}`)
  return {
    name: actionSlot,
    slots: [actionSlot],
    pauseMs: 200,
    nextChange: (_, __, number) => ({
      method: 'POST',
      path: '/devices/actions',
      body: { devices: devices.acted, serviceIdentifier, updates: { [setpoint]: setpointOf(number) } },
      content: ({ text }) => keep((JSON.parse(text) as { id: string }).id, setpointOf(number)),
    }),
    async observe(api, entries) {
      const id = entries.get(actionSlot)?.observed?.content
      const found = new Map(id === undefined ? [] : [[actionSlot, { content: id, id }]])
      if (api.isCopy) {
        if (id !== undefined && (await read(api, id)).counts.total !== devices.acted.length) return new Map()
        return found
      }
      await devices.back()
      for (const [each, action] of last) await mustBeDone(devices, each, action, () => read(api, each))
      return found
    },
  }
}

async function mustBeDone(
  devices: ConnectedDevices,
  id: string,
  action: { readonly value: number; answers: string | undefined },
  read: () => Promise<Action>,
): Promise<void> {
  const statuses = await statusesOf(read)
  const answers = statuses.map(({ deviceIdentifier, status }) => `${deviceIdentifier} ${status}`).join(', ')
  if (action.answers !== undefined && action.answers !== answers)
    throw new Error(`action ${id} was ${action.answers}, and is ${answers}`)
  action.answers = answers
  for (const device of devices.acted) {
    const status = statuses.find(({ deviceIdentifier }) => deviceIdentifier === device)?.status
    const times = devices.timesDone(device, action.value, `a:${id}:`)
    const wasAway = devices.wereDisconnected && (status === 'DEVICE_OFFLINE' || status === 'DEVICE_TIMEOUT')
    if (times > 1 || (status === 'OK' ? times === 0 : !wasAway))
      throw new Error(`action ${id} is ${status} on ${device}, which did it ${times} times`)
  }
}

/** Waits until all devices have answered. */
async function statusesOf(read: () => Promise<Action>): Promise<Action['devices']> {
  for (const end = performance.now() + doneMsMax; ; await pass(pollMs)) {
    const { state, devices } = await read()
    if (state === 'done') return devices
    if (performance.now() > end) throw new Error(`an action is ${state} after ${doneMsMax / 1000} s`)
  }
}
