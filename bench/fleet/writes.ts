import type { FleetCounts } from '#bench/fleet/counts'
import type { SimulatedDevice } from '#bench/fleet/device'
import type { DeviceValue, SimulatedProperty } from '#bench/fleet/encoding'
import type { Change } from '#bench/fleet/frames'
import { controlsService } from '#bench/fleet/kinds'
import type { SeededRandom } from '#bench/random'

/**
 * How a device takes a WRITE. `answer`: does it, reports it and says so. `slow`: the same after a while. `reject`: does
 * nothing and says so. `never`: does nothing and says nothing.
 */
const writeWays = ['answer', 'slow', 'reject', 'never'] as const
export type WriteWay = (typeof writeWays)[number]

/** `mixed`: each device in one of the ways, in turn. `none`: devices have nothing that could be written. */
export const writeManners = [...writeWays, 'mixed', 'none'] as const
export type WriteManner = (typeof writeManners)[number]

interface WriteResult {
  readonly propId: unknown
  readonly status: 'OK' | 'REJECTED'
  readonly message?: string
}

interface Asked {
  readonly order: string
  /** Undefined as long as nothing has become of it. */
  results: readonly WriteResult[] | undefined
}

interface Update {
  readonly propId?: unknown
  readonly value?: unknown
}

/** What one device was asked to become and to do. It remembers every id for its whole life, and does none twice. */
export class DeviceControls {
  readonly way: WriteWay
  readonly asked = new Map<string, Asked>()
  readonly #values = new Map<number, DeviceValue>([
    [0x2000, 20],
    [0x2001, false],
    [0x2002, 1],
  ])

  constructor(way: WriteWay) {
    this.way = way
  }

  valueOf({ propId }: SimulatedProperty): DeviceValue | undefined {
    return this.#values.get(propId)
  }

  take({ property, value }: Change): void {
    this.#values.set(property.propId, value)
  }
}

export function controlsOf(manner: WriteManner, index: number): DeviceControls | undefined {
  if (manner === 'none') return undefined
  return new DeviceControls(manner === 'mixed' ? (writeWays[index % writeWays.length] as WriteWay) : manner)
}

export interface WriteAnswersParts {
  readonly counts: FleetCounts
  readonly random: SeededRandom
  say(message: object): void
  /** The device reports what it became. */
  report(device: SimulatedDevice, changes: readonly Change[]): void
}

const slowMs = { low: 300, high: 3_000 }

/**
 * Hears the WRITEs of a link (contract 7). The same id comes again when the server is not sure that it was heard: it is
 * answered as the first time, and nothing is done again. One that asks for something else by then, for what is not
 * writable, or for a value that does not fit, is a fault: the server has to look at all that before.
 */
export class WriteAnswers {
  readonly #parts: WriteAnswersParts

  constructor(parts: WriteAnswersParts) {
    this.#parts = parts
  }

  hear(device: SimulatedDevice, { id, serviceIdentifier, updates }: Readonly<Record<string, unknown>>): void {
    const { counts, random } = this.#parts
    counts.writes.heard++
    if (typeof id !== 'string' || !Array.isArray(updates) || updates.length === 0) {
      counts.fault(`${device.identifier}: a WRITE that asks for nothing`)
      return
    }
    const order = JSON.stringify([serviceIdentifier, updates])
    const changes = device.controls ? changesOf(serviceIdentifier, updates) : undefined
    if (!device.controls || !changes) {
      counts.fault(`${device.identifier}: a WRITE of what is not writable, or does not fit: ${order.slice(0, 200)}`)
      this.#answer(device, id, rejected(updates, 'read-only'))
      return
    }
    const { asked, way } = device.controls
    const known = asked.get(id)
    if (known) {
      counts.writes.again++
      if (known.order !== order)
        counts.fault(`${device.identifier}: WRITE ${id} came again and asks for something else`)
      else if (known.results) this.#answer(device, id, known.results)
      return
    }
    const fresh: Asked = { order, results: undefined }
    asked.set(id, fresh)
    const settle = () => {
      fresh.results = way === 'reject' ? rejected(updates, 'not now') : this.#done(device, changes)
      counts.writes[way === 'reject' ? 'rejected' : 'done']++
      this.#answer(device, id, fresh.results)
    }
    if (way === 'never') counts.writes.left++
    else if (way === 'slow') setTimeout(settle, random.between(slowMs.low, slowMs.high)).unref()
    else settle()
  }

  /** A trigger is one however often the same is asked for. */
  #done(device: SimulatedDevice, changes: readonly Change[]): readonly WriteResult[] {
    const { counts, report } = this.#parts
    for (const change of changes) {
      device.controls?.take(change)
      if (change.property.order === 'actionable') counts.writes.triggers++
    }
    report(device, changes)
    return changes.map(({ property }) => ({ propId: property.propId, status: 'OK' }))
  }

  /** Whoever is away by now is asked again when it is back. */
  #answer(device: SimulatedDevice, id: string, results: readonly WriteResult[]): void {
    if (device.isWelcome) this.#parts.say({ type: 'RESULT', flakeAddress: device.flakeAddress, id, results })
  }
}

function rejected(updates: readonly Update[], message: string): readonly WriteResult[] {
  return updates.map(({ propId }) => ({ propId, status: 'REJECTED', message }))
}

function changesOf(serviceIdentifier: unknown, updates: readonly Update[]): readonly Change[] | undefined {
  if (serviceIdentifier !== controlsService.serviceIdentifier) return undefined
  const changes = updates.flatMap(({ propId, value }): Change[] => {
    const property = controlsService.properties.find((each) => each.propId === propId)
    return property && isFitting(property, value) ? [{ property, value }] : []
  })
  return changes.length === updates.length ? changes : undefined
}

const uint8Max = 255

function isFitting({ type }: SimulatedProperty, value: unknown): value is boolean | number {
  if (type === 'BOOL') return typeof value === 'boolean'
  const isNumber = typeof value === 'number' && Number.isFinite(value)
  return isNumber && (type !== 'UINT8' || (Number.isInteger(value) && value >= 0 && value <= uint8Max))
}
