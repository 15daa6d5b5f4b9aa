import type { DeclaredService, DeviceCommand, Hello, Post, Report } from '#actors/device/commands'
import { deviceActor } from '#actors/device/device'
import type { DeviceState } from '#actors/device/state'
import type { Entry, Items } from '#model/entry'
import { propertyTypeOf } from '#model/property-type'
import type { Shape } from '#model/shape'
import type { Decision } from '#runtime/actor'
import { Shapes } from '#store/shapes'
import { ActingActor, startedAt } from '#test/actors/acting-actor'
import { shownState } from '#test/actors/shown-state'

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

/** A device actor without a runtime. */
export class ActingDevice extends ActingActor<DeviceState, DeviceCommand> {
  constructor(device = 'A') {
    super(definition, { id: device }, shownState)
  }

  /** One that exists, at address 7. */
  static added(device = 'A'): ActingDevice {
    const acting = new ActingDevice(device)
    acting.act({ type: 'add', flakeAddress: 7, meta: {} })
    return acting
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
