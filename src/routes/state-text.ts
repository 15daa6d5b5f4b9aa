import type { ServiceState } from '#actors/device/service-state'
import type { DeviceState } from '#actors/device/state'
import type { TenantState } from '#actors/tenant/state'
import { propertyText, quote } from '#events/property-text'
import type { Caller } from '#iam/caller'
import { isPropertyError } from '#model/entry'
import { formatPropertyIdHex } from '#model/identifier'
import { servicesOfDevicesWithin } from '#model/scope'
import { enumNameOf, nameOfProperty } from '#model/service-schema'
import type { ShapeProperty } from '#model/shape'
import { schemasFor } from '#routes/sight'

/** How state is shown. Contract 3.1, 3.2. */
export interface StateForm {
  readonly depth: number
  readonly isRaw: boolean
  readonly isHex: boolean
}

export const fullDepth = 2

/** The form that a query asks for; `depth` where it says nothing. */
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

/** State as one caller may see it, as JSON text. */
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

  /** `{deviceIdentifier, services?}`, the services that may be read. */
  device(state: DeviceState): string {
    const device = `{"deviceIdentifier":${quote(state.device)}`
    return this.#form.depth < 1 ? `${device}}` : `${device},"services":${this.services(state)}}`
  }

  services(state: DeviceState): string {
    const texts = state.services
      .filter(({ shape }) => this.mayRead(state.device, shape.serviceIdentifier))
      .map((service) => this.serviceOfDevice(service))
    return `[${texts.join(',')}]`
  }

  serviceOfDevice(service: ServiceState): string {
    return `{"serviceIdentifier":${quote(service.shape.serviceIdentifier)}${this.#propertiesField(service)}}`
  }

  /** The mirror: an entry of a service's `devices`. */
  deviceOfService(device: string, service: ServiceState): string {
    return `{"deviceIdentifier":${quote(device)}${this.#propertiesField(service)}}`
  }

  properties(service: ServiceState): string {
    const text = this.#form.isRaw ? this.#rawProperties(service) : this.#namedProperties(service)
    return `{${text}}`
  }

  #propertiesField(service: ServiceState): string {
    return this.#form.depth < fullDepth ? '' : `,"properties":${this.properties(service)}`
  }

  #rawProperties(service: ServiceState): string {
    const { shape } = service
    let text = ''
    for (let index = 0; index < shape.properties.length; index++) {
      const { propId } = shape.properties[index] as ShapeProperty
      const key = this.#form.isHex ? formatPropertyIdHex(propId) : propId
      text += `${text === '' ? '' : ','}"${key}":${propertyText(shape, index, service.stateOf(index), service.timeOf(index))}`
    }
    return text
  }

  #namedProperties(service: ServiceState): string {
    const { shape } = service
    const schema = this.#schemas.get(shape.serviceIdentifier)
    const texts: string[] = []
    shape.properties.forEach(({ propId, type }, index) => {
      const state = service.stateOf(index)
      if (state === null || isPropertyError(state)) return
      const name = (schema && nameOfProperty(schema, propId)) ?? `${formatPropertyIdHex(propId)}.${type.wireName}`
      const value = (schema && enumNameOf(schema, propId, state)) ?? state
      texts.push(`${JSON.stringify(name)}:${JSON.stringify(value)}`)
    })
    return texts.join(',')
  }
}
