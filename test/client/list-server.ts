import fc from 'fast-check'
import { FoldedState } from '#bench/dashboard/folded-state'
import type { RawAnswer, Request } from '#client/transport'
import type { EventOf, StreamEvent } from '#model/event'
import { modifierOf } from '#model/modifier'

export type ReportEvent = EventOf<'OBJECT_UPDATED'>

/** A change of a device. */
export type Change =
  | { readonly kind: 'add' | 'delete'; readonly device: string }
  | {
      readonly kind: 'report'
      readonly device: string
      readonly service: string
      readonly items: readonly { readonly propId: number; readonly value?: number; readonly error?: string }[]
    }

export const devices = ['A', 'B', 'C', 'D', 'E', 'F']
const services = ['climate', 'light']
const propIds = [1, 2, 3]

/** The number of properties of a device. */
export const propertyCount = services.length * propIds.length

const device = fc.constantFrom(...devices)
const item = fc.record({ propId: fc.constantFrom(...propIds) }).chain(({ propId }) =>
  fc.oneof(
    { weight: 6, arbitrary: fc.integer({ min: 0, max: 9 }).map((value) => ({ propId, value })) },
    { weight: 1, arbitrary: fc.constant({ propId, error: 'broken' }) },
    // A removed property.
    { weight: 1, arbitrary: fc.constant({ propId }) },
  ),
)
export const anyChange: fc.Arbitrary<Change> = fc.oneof(
  {
    weight: 8,
    arbitrary: fc.record({
      kind: fc.constant('report' as const),
      device,
      service: fc.constantFrom(...services),
      items: fc.array(item, { minLength: 1, maxLength: 4 }),
    }),
  },
  { weight: 1, arbitrary: fc.record({ kind: fc.constantFrom('add' as const, 'delete' as const), device }) },
)

/** A simple server of a device list. It has a state, events and pages. */
export class ListServer {
  readonly state = new FoldedState()
  readonly log: StreamEvent[] = []

  get head(): number {
    return this.log.length
  }

  apply(change: Change): void {
    const offset = this.head + 1
    const event = eventOf(change, { offset, timestamp: 1_000 + offset })
    this.log.push(event)
    this.state.apply(event)
  }

  answer({ path }: Request): RawAnswer {
    const query = new URLSearchParams(path.split('?')[1])
    const fields = { 'stream-epoch': 'e', 'stream-offset': String(this.head) }
    const limit = Number(query.get('limit'))
    const named = query.getAll('deviceIdentifier')
    const left = [...this.state.devices]
      .sort(([a], [b]) => (a < b ? -1 : 1))
      .filter(([name]) => named.length === 0 || named.includes(name))
      .filter(([name]) => name > (query.get('cursor') ?? ''))
    const page = left.slice(0, limit)
    const cursor = page.at(-1)?.[0]
    const link = `</api/v1/devices?depth=2&limit=${limit}&cursor=${cursor}>; rel="next"`
    const body = page.map(([deviceIdentifier, servicesOfDevice]) => ({
      deviceIdentifier,
      services: [...servicesOfDevice].map(([serviceIdentifier, properties]) => ({
        serviceIdentifier,
        properties: Object.fromEntries(
          [...properties].map(([propId, property]) => [
            propId,
            { ...property, propId, modifier: modifierOf(property.tag === 'error' ? 8 : 0) },
          ]),
        ),
      })),
    }))
    return { status: 200, headers: new Headers({ ...fields, ...(left.length > limit && { link }) }), body }
  }
}

function eventOf(change: Change, place: { readonly offset: number; readonly timestamp: number }): StreamEvent {
  const { device: deviceIdentifier } = change
  if (change.kind !== 'report') {
    const type = change.kind === 'add' ? 'DEVICE_ADD' : 'DEVICE_DELETE'
    return { type, ...place, deviceIdentifier }
  }
  return {
    type: 'OBJECT_UPDATED',
    ...place,
    flakeAddress: 1,
    deviceIdentifier,
    serviceIdentifier: change.service,
    updates: change.items.map(({ propId, value, error }) => ({
      propId,
      type: 'UINT8',
      modifier: modifierOf(error === undefined ? 0 : 8),
      tag: error !== undefined ? 'error' : value === undefined ? 'removed' : 'value',
      ...(value !== undefined && { value }),
      ...(error !== undefined && { error }),
    })),
  }
}
