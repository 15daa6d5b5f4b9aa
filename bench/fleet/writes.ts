import type { FleetCounts } from '#bench/fleet/counts'
import type { SimulatedDevice } from '#bench/fleet/device'
import type { DeviceValue, SimulatedProperty } from '#bench/fleet/encoding'
import type { Change } from '#bench/fleet/frames'
import { controlsService } from '#bench/fleet/kinds'
import type { SeededRandom } from '#bench/random'

/**
 * How a device takes a WRITE. `answer`: applies it, reports the value and answers. `slow`: the same after a pause.
 * `reject`: answers with an error. `never`: does nothing and never answers.
 */
const writeWays = ['answer', 'slow', 'reject', 'never'] as const
export type WriteWay = (typeof writeWays)[number]

/** `mixed`: devices behave in all of these ways in rotation. `none`: devices have no writable properties. */
export const writeManners = [...writeWays, 'mixed', 'none'] as const
export type WriteManner = (typeof writeManners)[number]

interface WriteResult {
  readonly propId: unknown
  readonly status: 'OK' | 'REJECTED'
  readonly message?: string
}

interface Asked {
  readonly order: string
  /** Undefined until there is a result. */
  results: readonly WriteResult[] | undefined
}

interface Update {
  readonly propId?: unknown
  readonly value?: unknown
}

/** The writes that one device received. It remembers every id for its whole life, and applies none twice. */
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
  /** The device reports its new values. */
  report(device: SimulatedDevice, changes: readonly Change[]): void
}

const slowMs = { low: 300, high: 3_000 }

/**
 * Receives the WRITEs of a link (contract 7). The same id is repeated when the server is not sure that it arrived: the
 * device repeats its answer and applies nothing twice. A fault: a repeated id with other content, a property that is
 * not writable, or a value that does not fit. The server must check all of these.
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

  /** A trigger counts once per id, even if the values are the same. */
  #done(device: SimulatedDevice, changes: readonly Change[]): readonly WriteResult[] {
    const { counts, report } = this.#parts
    for (const change of changes) {
      device.controls?.take(change)
      if (change.property.order === 'actionable') counts.writes.triggers++
    }
    report(device, changes)
    return changes.map(({ property }) => ({ propId: property.propId, status: 'OK' }))
  }

  /** An offline device receives the write again when it is back. */
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
