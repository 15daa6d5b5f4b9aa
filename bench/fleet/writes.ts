import type { FleetCounts } from '#bench/fleet/counts'
import type { SimulatedDevice } from '#bench/fleet/device'
import { type Change, controlsService, type DeviceValue, type SimulatedProperty } from '#bench/fleet/kinds'
import type { SeededRandom } from '#bench/random'

const mixedBehaviours = ['answer', 'slow', 'reject', 'never'] as const
/**
 * How a device takes a WRITE. `answer`: applies it, reports the value and answers. `slow`: the same after a pause.
 * `reject`: answers with an error. `never`: does nothing and never answers. `check`: as `answer`, but rejects values
 * beyond the range of their property.
 */
export type WriteBehaviour = (typeof mixedBehaviours)[number] | 'check'

/** `mixed`: devices behave in the first four ways in rotation. `none`: devices have no writable properties. */
export const writeModes = [...mixedBehaviours, 'check', 'mixed', 'none'] as const
export type WriteMode = (typeof writeModes)[number]

interface WriteResult {
  readonly propId: unknown
  readonly status: 'OK' | 'REJECTED'
  readonly message?: string
}

interface ReceivedWrite {
  readonly order: string
  /** Undefined until there is a result. */
  results: readonly WriteResult[] | undefined
}

interface Update {
  readonly propId?: unknown
  readonly value?: unknown
}

/** The writable values of one device, and the writes that it received, by their ids, so that it applies none twice. */
export class DeviceControls {
  readonly behaviour: WriteBehaviour
  readonly received = new Map<string, ReceivedWrite>()
  readonly #values = new Map<number, DeviceValue>([
    [0x2000, 20],
    [0x2001, false],
    [0x2002, 1],
  ])

  constructor(behaviour: WriteBehaviour) {
    this.behaviour = behaviour
  }

  valueOf({ propId }: SimulatedProperty): DeviceValue | undefined {
    return this.#values.get(propId)
  }

  take({ property, value }: Change): void {
    this.#values.set(property.propId, value)
  }
}

export function controlsOf(mode: WriteMode, index: number): DeviceControls | undefined {
  if (mode === 'none') return undefined
  return new DeviceControls(
    mode === 'mixed' ? (mixedBehaviours[index % mixedBehaviours.length] as WriteBehaviour) : mode,
  )
}

/** The link of devices that answer WRITE and FIRMWARE. */
export interface AnsweringLink {
  readonly counts: FleetCounts
  readonly random: SeededRandom
  send(message: object): void
  /** The device reports its new values. */
  report(device: SimulatedDevice, changes: readonly Change[]): unknown
  /**
   * Ends the device, and restarts it with a new session after this time. `isSudden`: without BYE, if the device has its
   * own link.
   */
  restart(device: SimulatedDevice, afterMs: number, isSudden: boolean): void
}

const slowMs = { low: 300, high: 3_000 }

/**
 * Receives the WRITEs of a link (contract 7). The server repeats an id when it is not sure that the message arrived:
 * the device repeats its answer and applies nothing twice. Each of these is a fault of the server: a WRITE without an
 * id or without updates, a repeated id with other content, a property that is not writable, and a value of the wrong
 * type.
 */
export function receiveWrite(
  link: AnsweringLink,
  device: SimulatedDevice,
  message: Readonly<Record<string, unknown>>,
): void {
  const { id, serviceIdentifier, updates } = message
  const { counts, random } = link
  counts.writes.received++
  if (typeof id !== 'string' || !Array.isArray(updates) || updates.length === 0) {
    counts.fault(`${device.identifier}: a WRITE without an id or without updates`)
    return
  }
  const order = JSON.stringify([serviceIdentifier, updates])
  const changes = device.controls ? changesOf(serviceIdentifier, updates) : undefined
  if (!device.controls || !changes) {
    const fault = 'a WRITE of a property that is not writable, or of a value with the wrong type'
    counts.fault(`${device.identifier}: ${fault}: ${order.slice(0, 200)}`)
    answer(link, device, id, rejected(updates, 'not writable, or the wrong type'))
    return
  }
  const { received, behaviour } = device.controls
  const known = received.get(id)
  if (known) {
    counts.writes.repeated++
    if (known.order !== order) counts.fault(`${device.identifier}: WRITE ${id} was repeated with other content`)
    else if (known.results) answer(link, device, id, known.results)
    return
  }
  const fresh: ReceivedWrite = { order, results: undefined }
  received.set(id, fresh)
  const refusal = behaviour === 'reject' ? 'not now' : behaviour === 'check' ? rangeRefusal(changes) : undefined
  const settle = () => {
    fresh.results = refusal === undefined ? done(link, device, changes) : rejected(updates, refusal)
    counts.writes[refusal === undefined ? 'done' : 'rejected']++
    answer(link, device, id, fresh.results)
  }
  if (behaviour === 'never') counts.writes.left++
  else if (behaviour === 'slow') setTimeout(settle, random.between(slowMs.low, slowMs.high)).unref()
  else settle()
}

/** Applies the changes. A change of an actionable property counts as a trigger, even if the value is the same. */
function done(link: AnsweringLink, device: SimulatedDevice, changes: readonly Change[]): readonly WriteResult[] {
  const { counts, report } = link
  for (const change of changes) {
    device.controls?.take(change)
    if (change.property.order === 'actionable') counts.writes.triggers++
  }
  report(device, changes)
  return changes.map(({ property }) => ({ propId: property.propId, status: 'OK' }))
}

/** Sends nothing while the device is offline: the server repeats the WRITE, and then gets the answer. */
function answer(link: AnsweringLink, device: SimulatedDevice, id: string, results: readonly WriteResult[]): void {
  if (device.isWelcomed) link.send({ type: 'RESULT', flakeAddress: device.flakeAddress, id, results })
}

function rejected(updates: readonly Update[], message: string): readonly WriteResult[] {
  return updates.map(({ propId }) => ({ propId, status: 'REJECTED', message }))
}

function changesOf(serviceIdentifier: unknown, updates: readonly Update[]): readonly Change[] | undefined {
  if (serviceIdentifier !== controlsService.serviceIdentifier) return undefined
  const changes = updates.flatMap(({ propId, value }): Change[] => {
    const property = controlsService.properties.find((each) => each.propId === propId)
    return property && hasTypeOf(property, value) ? [{ property, value }] : []
  })
  return changes.length === updates.length ? changes : undefined
}

/** The reason to refuse a value beyond the range of its property: the server does not know this range. */
function rangeRefusal(changes: readonly Change[]): string | undefined {
  for (const { property, value } of changes) {
    const [low, high] = property.range ?? [-Infinity, Infinity]
    if (Number(value) < low || Number(value) > high) return `${property.name} must be from ${low} to ${high}`
  }
  return undefined
}

const uint8Max = 255

function hasTypeOf({ type }: SimulatedProperty, value: unknown): value is boolean | number {
  if (type === 'BOOL') return typeof value === 'boolean'
  const isNumber = typeof value === 'number' && Number.isFinite(value)
  return isNumber && (type !== 'UINT8' || (Number.isInteger(value) && value >= 0 && value <= uint8Max))
}
