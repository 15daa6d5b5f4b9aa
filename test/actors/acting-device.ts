import { expect } from 'vitest'
import type { DeclaredService, DeviceCommand, Hello, Post, Report } from '#actors/device/commands'
import { deviceActor } from '#actors/device/device'
import type { DeviceRules } from '#actors/device/report'
import type { DeviceState } from '#actors/device/state'
import { type DeviceFunctions, noDeviceFunctions } from '#actors/device/turn-runs'
import type { Entry, Items } from '#model/entry'
import { propertyTypeOf } from '#model/property-type'
import type { Shape } from '#model/shape'
import type { Decision } from '#runtime/actor'
import { MsgpackReader } from '#store/msgpack-reader'
import { MsgpackWriter } from '#store/record-codec'
import { Shapes } from '#store/shapes'
import { ActingActor, startedAt } from '#test/actors/acting-actor'

export const noRuleViews: DeviceRules = {
  of: () => undefined,
  isLoaded: true,
  counts: { transitions: 0 },
  skipped() {},
}

export const shapes = new Shapes(() => undefined)

/** A shape from `1: 'uint8'` with modifiers 0, or from `[type, modifier]`. */
export function shapeOf(service: string, properties: Record<number, string | readonly [string, number]>): Shape {
  return shapes.intern(
    service,
    Object.entries(properties).map(([propId, declared]) => {
      const [name, modifier] = typeof declared === 'string' ? [declared, 0] : declared
      const type = propertyTypeOf(name)
      if (!type) throw new Error(`${name} is not a type`)
      return { propId: Number(propId), type, modifier }
    }),
  )
}

export function deviceWith(rules: DeviceRules, functions: DeviceFunctions = noDeviceFunctions) {
  return deviceActor({ shapeById: (id) => shapes.byId(id), startedAt, rules, functions })
}

const definition = deviceWith(noRuleViews)

/** A device actor without a runtime. */
export class ActingDevice extends ActingActor<DeviceState, DeviceCommand> {
  constructor(device = 'A', by = definition) {
    super(by, { id: device }, shownState)
  }

  /** An added device with address 7. */
  static added(device = 'A', by = definition): ActingDevice {
    const acting = new ActingDevice(device, by)
    acting.act({ type: 'add', flakeAddress: 7, meta: {} })
    return acting
  }

  /** The device's snapshot; empty if the device does not exist. */
  saved(): Uint8Array {
    const writer = new MsgpackWriter()
    this.definition.writeSnapshot?.(this.state, writer)
    return writer.written
  }

  /** The device that a snapshot restores. */
  restored(snapshot = this.saved()): DeviceState {
    if (snapshot.length === 0) return this.woken()
    const { definition, address } = this
    const state = new MsgpackReader().whole(snapshot, (reader) => definition.readSnapshot?.(address, reader))
    return state ?? expect.fail('the snapshot cannot be read')
  }

  /** Delivers a due reminder at the present time. */
  due(): Decision<Entry> {
    const dueAt = this.reminder ?? this.at
    this.reminder = null
    return this.act({ type: 'reminder_due', dueAt })
  }
}

export function hello(services: readonly DeclaredService[] = [], more: Partial<Hello> = {}): Hello {
  const defaults = { session: 's', project: undefined, firmwares: undefined, isAutoUpdated: true, isConnect: true }
  return { type: 'hello', services, ...defaults, ...more }
}

export function report(shape: Shape, seq: number, items: Items, more: Partial<Report> = {}): Report {
  return { type: 'report', shape, session: 's', seq, items, timestamp: undefined, ...more }
}

export function post(
  updates: readonly (readonly [service: string, propId: number, value: unknown, timestamp?: number])[],
  more: Partial<Post> = {},
): Post {
  const defaults = { session: undefined, seq: undefined, services: undefined }
  const named = updates.map(([serviceIdentifier, propId, value, timestamp]) => {
    return { serviceIdentifier, propId, value, timestamp }
  })
  return { type: 'post', ...defaults, updates: named, ...more }
}

export function kindsOf(decision: Decision<Entry>): string[] {
  return decision.type === 'record' ? decision.events.map(({ kind }) => kind) : [decision.type]
}

/**
 * The state of a device as plain values for comparison. The fields of services are private, so methods read them.
 * `rules` and `functions` are left out.
 */
export function shownState(state: DeviceState) {
  const services = state.services.map((service) => ({
    shape: service.shape.id,
    states: service.states(),
    times: service.times(),
    offsets: service.offsets(),
  }))
  const { rules: _, functions: __, ...kept } = state
  return structuredClone({ ...kept, services })
}
