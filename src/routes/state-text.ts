import type { ServiceState } from '#actors/device/service-state'
import type { DeviceState } from '#actors/device/state'
import type { TenantState } from '#actors/tenant/state'
import { propertyText, quote } from '#events/object-updated'
import type { Caller } from '#model/caller'
import { isPropertyError } from '#model/entry'
import { formatPropertyIdHex } from '#model/identifier'
import { servicesOfDevicesWithin } from '#model/scope'
import { enumNameOf, nameOfProperty, type ServiceSchema } from '#model/service-schema'
import type { ShapeProperty } from '#model/shape'
import { schemasFor } from '#routes/bound-visibility'

/** Format of displayed state. Contract 3.1, 3.2. */
export interface StateForm {
  readonly depth: number
  readonly isRaw: boolean
  readonly isHex: boolean
}

export const fullDepth = 2

/** The format that a query asks for; `depth` is the default. */
export function formOf(
  query: {
    readonly depth?: number | undefined
    readonly raw?: boolean | undefined
    readonly hex?: boolean | undefined
  },
  depth: number,
): StateForm {
  return { depth: query.depth ?? depth, isRaw: query.raw ?? true, isHex: query.hex ?? false }
}

/** JSON text: whole, or in parts that are made one after the other, each in a few hundred microseconds. */
export type TextOrParts = string | Iterable<string>

/** Size of a part. One value may make it longer: 64 KiB of control characters are 384 KiB as JSON. */
const partCharacters = 16 * 1024

/**
 * Longer text is made in parts: this much takes about a millisecond. The length is estimated: the bytes of the values,
 * and for each property `propertyCharacters`, its longest text without the value.
 */
const wholeCharactersMax = 128 * 1024
const propertyCharacters = 200

/** State that one caller may see, as JSON text. */
export class StateText {
  /** Whether the caller may see this service of this device. */
  readonly mayRead: (device: string, service: string) => boolean
  readonly #schemas: Pick<TenantState['schemas'], 'get'>
  readonly #form: StateForm

  constructor(caller: Caller, tenant: TenantState, form: StateForm) {
    this.mayRead = servicesOfDevicesWithin(caller.scope, 'service', 'read')
    this.#schemas = schemasFor(caller, tenant)
    this.#form = form
  }

  /** `{deviceIdentifier, services?}`, with the readable services. */
  device(state: DeviceState): TextOrParts {
    const device = `{"deviceIdentifier":${quote(state.device)}`
    return this.#form.depth < 1 ? `${device}}` : this.#servicesWithin(`${device},"services":[`, state, ']}')
  }

  services(state: DeviceState): TextOrParts {
    return this.#servicesWithin('[', state, ']')
  }

  serviceOfDevice(service: ServiceState): TextOrParts {
    return this.#entry(`{"serviceIdentifier":${quote(service.shape.serviceIdentifier)}`, service)
  }

  /** A device with the properties of one service: an entry in `devices` of the service. */
  deviceOfService(device: string, service: ServiceState): TextOrParts {
    return this.#entry(`{"deviceIdentifier":${quote(device)}`, service)
  }

  properties(service: ServiceState): TextOrParts {
    return this.#propertiesWithin('{', service, '}')
  }

  #servicesWithin(before: string, state: DeviceState, after: string): TextOrParts {
    const shown = state.services.filter(({ shape }) => this.mayRead(state.device, shape.serviceIdentifier))
    if (this.#isLong(shown)) return this.#servicesInParts(before, shown, after)
    return before + shown.map((service) => this.serviceOfDevice(service)).join(',') + after
  }

  /** Each service is read synchronously. So an UPDATE, which is about one service, is shown entirely or not at all. */
  *#servicesInParts(before: string, services: readonly ServiceState[], after: string): Iterable<string> {
    let separator = before
    for (const service of services) {
      yield separator
      separator = ','
      const text = this.serviceOfDevice(service)
      if (typeof text === 'string') yield text
      else yield* text
    }
    yield separator === ',' ? after : before + after
  }

  #entry(head: string, service: ServiceState): TextOrParts {
    return this.#form.depth < fullDepth ? `${head}}` : this.#propertiesWithin(`${head},"properties":{`, service, '}}')
  }

  #propertiesWithin(before: string, service: ServiceState, after: string): TextOrParts {
    if (this.#isLong([service])) return this.#propertiesInParts(before, service.copy(), after)
    return before + this.#propertiesFrom({ index: 0 }, service, Number.POSITIVE_INFINITY) + after
  }

  *#propertiesInParts(before: string, service: ServiceState, after: string): Iterable<string> {
    yield before
    let separator = ''
    for (const place = { index: 0 }; place.index < service.shape.properties.length; ) {
      const text = this.#propertiesFrom(place, service, partCharacters)
      if (text === '') continue
      yield separator + text
      separator = ','
    }
    yield after
  }

  #isLong(services: readonly ServiceState[]): boolean {
    if (this.#form.depth < fullDepth) return false
    let characters = 0
    for (const { shape, valueBytes } of services)
      characters += shape.properties.length * propertyCharacters + valueBytes
    return characters > wholeCharactersMax
  }

  /** Advances `place` until the text has this length. */
  #propertiesFrom(place: { index: number }, service: ServiceState, charactersMax: number): string {
    const { shape } = service
    const { isRaw } = this.#form
    const schema = isRaw ? undefined : this.#schemas.get(shape.serviceIdentifier)
    let texts = ''
    for (; place.index < shape.properties.length && texts.length < charactersMax; place.index++) {
      const text = isRaw ? this.#rawProperty(service, place.index) : namedProperty(service, place.index, schema)
      if (text !== undefined) texts += texts === '' ? text : `,${text}`
    }
    return texts
  }

  #rawProperty(service: ServiceState, index: number): string {
    const { shape } = service
    const { propId } = shape.properties[index] as ShapeProperty
    const key = this.#form.isHex ? formatPropertyIdHex(propId) : propId
    return `"${key}":${propertyText(shape, index, service.stateOf(index), service.timeOf(index))}`
  }
}

function namedProperty(service: ServiceState, index: number, schema: ServiceSchema | undefined): string | undefined {
  const state = service.stateOf(index)
  if (state === null || isPropertyError(state)) return undefined
  const { propId, type } = service.shape.properties[index] as ShapeProperty
  const name = (schema && nameOfProperty(schema, propId)) ?? `${formatPropertyIdHex(propId)}.${type.wireName}`
  const value = (schema && enumNameOf(schema, propId, state)) ?? state
  return `${JSON.stringify(name)}:${JSON.stringify(value)}`
}
