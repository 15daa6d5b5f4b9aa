import type { DeclaredService, DeviceCommand, Hello, Post, Report } from '#actors/device/commands'
import { deviceActor } from '#actors/device/device'
import type { DeviceState } from '#actors/device/state'
import type { Entry, Items } from '#model/entry'
import { propertyTypeOf } from '#model/property-type'
import type { Shape } from '#model/shape'
import type { Decision, Recorded, Turn } from '#runtime/actor'
import { Shapes } from '#store/shapes'
import { shownState } from '#test/actors/shown-state'

/** When this process began, and the moment of the first turn. */
export const startedAt = 1_000_000
export const now = 2_000_000

export const shapes = new Shapes(() => undefined)

/** A shape from `1: 'uint8'`, modifiers all 0, or `[type, modifier]`. */
export function shapeOf(
  service: string,
  properties: Readonly<Record<number, string | readonly [string, number]>>,
): Shape {
  return shapes.intern(
    service,
    Object.entries(properties).map(([propId, said]) => {
      const [name, modifier] = typeof said === 'string' ? [said, 0] : said
      const type = propertyTypeOf(name)
      if (!type) throw new Error(`${name} is no type`)
      return { propId: Number(propId), type, modifier }
    }),
  )
}

const definition = deviceActor({ shapeById: (id) => shapes.byId(id), startedAt })

export function turnAt(at = now): Turn {
  return { tenant: 'default', now: at, random: (byteCount) => new Uint8Array(byteCount) }
}

/** A device actor without a runtime: what it decides is applied at once. */
export class ActingDevice {
  readonly state: DeviceState
  offset = 0
  at = now

  constructor(device = 'A') {
    this.state = definition.wake({ kind: 'device', tenant: 'default', id: device }, new Map())
  }

  /** One that exists, at address 7. */
  static added(device = 'A'): ActingDevice {
    const acting = new ActingDevice(device)
    acting.act({ type: 'add', flakeAddress: 7, meta: {} })
    return acting
  }

  decide(command: DeviceCommand): Decision<Entry> {
    return definition.decide(this.state, command, turnAt(this.at))
  }

  act(command: DeviceCommand): Decision<Entry> {
    const before = shownState(this.state)
    const decision = this.decide(command)
    const after = shownState(this.state)
    if (JSON.stringify(after) !== JSON.stringify(before)) throw new Error('a decision changed the state')
    if (decision.type === 'record') this.apply(decision)
    return decision
  }

  /** The same, of which only what is recorded counts. */
  record(command: DeviceCommand): Recorded<Entry> {
    const decision = this.act(command)
    if (decision.type !== 'record') throw new Error(`${command.type} records nothing: ${JSON.stringify(decision)}`)
    return decision
  }

  apply(decision: Recorded<Entry>): void {
    for (const change of decision.changes ?? []) definition.change?.(this.state, change)
    for (const event of decision.events) definition.apply(this.state, event, ++this.offset)
  }

  /** As it comes out of its snapshot. */
  restored(): DeviceState {
    const snapshot = definition.snapshot?.(this.state)
    return definition.wake({ kind: 'device', tenant: 'default', id: this.state.device }, new Map([['', snapshot]]))
  }
}

export function hello(services: readonly DeclaredService[] = [], more: Partial<Hello> = {}): Hello {
  return {
    type: 'hello',
    session: 's',
    services,
    project: undefined,
    firmwares: undefined,
    isAutoUpdated: true,
    isConnect: true,
    ...more,
  }
}

export function report(shape: Shape, seq: number, items: Items, more: Partial<Report> = {}): Report {
  return { type: 'report', shape, session: 's', seq, items, timestamp: undefined, ...more }
}

export function post(
  updates: readonly (readonly [service: string, propId: number, value: unknown, timestamp?: number])[],
  more: Partial<Post> = {},
): Post {
  return {
    type: 'post',
    session: undefined,
    seq: undefined,
    services: undefined,
    updates: updates.map(([serviceIdentifier, propId, value, timestamp]) => ({
      serviceIdentifier,
      propId,
      value,
      timestamp,
    })),
    ...more,
  }
}

/** Kinds of what is recorded, in order. */
export function kindsOf(decision: Decision<Entry>): string[] {
  return decision.type === 'record' ? decision.events.map(({ kind }) => kind) : [decision.type]
}
