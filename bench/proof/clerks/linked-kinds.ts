import { Fleet } from '#bench/fleet/fleet'
import { controlsService } from '#bench/fleet/kinds'
import type { Found, LedgerKind, Wish } from '#bench/proof/clerks/ledger'
import type { ProofApi } from '#bench/proof/clerks/proof-api'

/** Writes that reach devices on a link: what each of them answered is what is told, and none does anything twice. */

const { serviceIdentifier } = controlsService
const setpoint = '0x2000'
const setpointPropId = 0x2000
const prefix = 'LINKED'
const linkedDevices = 4
const onlineMsMax = 20_000
const doneMsMax = 30_000
const pollMs = 50
/** So many of the last actions are asked for again behind every kill. */
const actionsAgain = 5

/** Devices that do what they are asked, and say nothing else. */
export class LinkedDevices {
  readonly #fleet: Fleet
  readonly written: readonly string[]
  readonly acted: readonly string[]

  /** `url`: `http://host:port`; `key`: a provisioning key. */
  constructor(url: string, key: string) {
    this.#fleet = new Fleet({
      ...{ url: url.replace(/^http/, 'ws'), key, prefix, writes: 'answer' },
      ...{ devices: linkedDevices, links: linkedDevices, rate: 1, changes: 2, backoffMsMin: 50, backoffMsMax: 400 },
    })
    this.#fleet.pause()
    this.#fleet.start()
    const identifiers = this.#fleet.devices.map(({ identifier }) => identifier)
    this.written = identifiers.filter((_, place) => place % 2 === 0)
    this.acted = identifiers.filter((_, place) => place % 2 === 1)
  }

  /** A link was ended because the store took nothing: devices may have been away when it was their turn. */
  get wereSentAway(): boolean {
    return (this.#fleet.counts.closes.get('1013') ?? 0) > 0
  }

  /** All are there, and all that they said is stored. @throws when they are not welcome, or something was said that must not be */
  async back(): Promise<void> {
    const areBack = (await this.#fleet.allOnline(onlineMsMax)) && (await this.#fleet.settled(onlineMsMax))
    const { faultCount, faults } = this.#fleet.counts
    if (faultCount > 0) throw new Error(faults.join('; '))
    if (!areBack) throw new Error(`devices are not back on their links within ${onlineMsMax / 1000} s`)
  }

  /** How often a device did it: for each value it is asked once, by one id. `idPrefix`: what the ids of the WRITE begin with. */
  timesDone(identifier: string, value: number, idPrefix = ''): number {
    const order = JSON.stringify([serviceIdentifier, [{ propId: setpointPropId, value }]])
    const asked = this.#fleet.devices.find((device) => device.identifier === identifier)?.controls?.asked ?? new Map()
    return [...asked].filter(([id, it]) => id.startsWith(idPrefix) && it.order === order && it.results).length
  }

  async end(): Promise<void> {
    await this.#fleet.stop(false)
  }
}

export function isLinked(deviceIdentifier: string): boolean {
  return deviceIdentifier.startsWith(`${prefix}-`)
}

/** One property of one device. Whoever asks again under the same key because of a kill has it done once. */
export function linkedWritesKind(devices: LinkedDevices): LedgerKind {
  return {
    name: 'writes to linked devices',
    slots: devices.written,
    // Most of the time is theirs to be cut off in.
    pauseMs: 15,
    // Its link was ended because the store took nothing, and is not back.
    busy: [409],
    wish: (slot, _, number): Wish => ({
      method: 'PUT',
      path: number % 2 === 0 ? writePath(slot) : writePathOfService(slot),
      body: { [setpoint]: setpointOf(number) },
      held: `${slot} ${setpointOf(number)}`,
    }),
    async look(api, entries) {
      if (!api.isCopy) await devices.back()
      const found = await valuesOf(api, devices.written)
      if (api.isCopy) return found
      for (const [slot, { found: before, pending }] of entries) {
        const times = (held: string | undefined) => devices.timesDone(slot, Number(held?.split(' ').at(-1)))
        if (before && times(before.held) !== 1)
          throw new Error(`${before.held} was acknowledged, and done ${times(before.held)} times`)
        if (pending && times(String(pending.wish.held)) > 1) throw new Error(`${pending.wish.held} was done twice`)
      }
      return found
    },
  }
}

/** Both lead to the same. */
function writePath(device: string): string {
  return `/devices/${device}/services/${serviceIdentifier}/properties`
}

function writePathOfService(device: string): string {
  return `/services/${serviceIdentifier}/devices/${device}/properties`
}

async function valuesOf(api: ProofApi, identifiers: readonly string[]): Promise<ReadonlyMap<string, Found>> {
  const query = identifiers.map((device) => `&deviceIdentifier=${device}`).join('')
  const rows = await api.rows<DeviceRow>(`/devices?depth=2${query}`)
  return new Map(
    rows.flatMap(({ deviceIdentifier, services }): [string, Found][] => {
      const controls = services.find((service) => service.serviceIdentifier === serviceIdentifier)
      const value = controls?.properties[setpointPropId]?.value
      return value === undefined || value < setpointOf(0)
        ? []
        : [[deviceIdentifier, { held: `${deviceIdentifier} ${value}` }]]
    }),
  )
}

/** Above what it is as it leaves the works. */
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

/** Of many devices. It goes on behind a kill until each has answered; the answers of earlier ones are there all the same. */
export function linkedActionsKind(devices: LinkedDevices): LedgerKind {
  /** By id, the last ones that were acknowledged: what was asked for, and what was answered once all had. */
  const last = new Map<string, { readonly value: number; answers: string | undefined }>()
  const keep = (id: string, value: number) => {
    last.set(id, { value, answers: undefined })
    for (const old of [...last.keys()].slice(0, -actionsAgain)) last.delete(old)
    return id
  }
  const read = (api: ProofApi, id: string) => api.must<Action>('GET', `/devices/actions/${id}`)
  return {
    name: 'actions on linked devices',
    slots: ['linked action'],
    pauseMs: 200,
    wish: (_, __, number) => ({
      method: 'POST',
      path: '/devices/actions',
      body: { devices: devices.acted, serviceIdentifier, updates: { [setpoint]: setpointOf(number) } },
      held: ({ text }) => keep((JSON.parse(text) as { id: string }).id, setpointOf(number)),
    }),
    async look(api, entries) {
      const held = entries.get('linked action')?.found?.held
      if (api.isCopy) {
        if (held === undefined) return new Map()
        const { counts } = await read(api, held)
        return new Map(counts.total === devices.acted.length ? [['linked action', { held, id: held }]] : [])
      }
      await devices.back()
      for (const [id, action] of last) {
        const answers = await answersOf(() => read(api, id))
        const said = answers.map(({ deviceIdentifier, status }) => `${deviceIdentifier} ${status}`).join(', ')
        if (action.answers !== undefined && action.answers !== said)
          throw new Error(`action ${id} was ${action.answers}, and is ${said}`)
        action.answers = said
        for (const device of devices.acted) {
          const status = answers.find(({ deviceIdentifier }) => deviceIdentifier === device)?.status
          const times = devices.timesDone(device, action.value, `a:${id}:`)
          const isAway = devices.wereSentAway && (status === 'DEVICE_OFFLINE' || status === 'DEVICE_TIMEOUT')
          if (times > 1 || (status === 'OK' ? times === 0 : !isAway))
            throw new Error(`action ${id} is ${status} on ${device}, which did it ${times} times`)
        }
      }
      return held === undefined ? new Map() : new Map([['linked action', { held, id: held }]])
    },
  }
}

/** Once all have answered. */
async function answersOf(read: () => Promise<Action>): Promise<Action['devices']> {
  for (const end = performance.now() + doneMsMax; ; await new Promise((resolve) => setTimeout(resolve, pollMs))) {
    const { state, devices } = await read()
    if (state === 'done') return devices
    if (performance.now() > end) throw new Error(`an action is ${state} after ${doneMsMax / 1000} s`)
  }
}
