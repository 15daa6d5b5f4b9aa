import { deviceAddress } from '#actors/device/device'
import { type DeviceState, serviceOf } from '#actors/device/state'
import { tenantAddress } from '#actors/tenant/commands'
import { type Audit, statusOf } from '#http/request-log'
import type { Links } from '#link/links'
import type { Caller } from '#model/caller'
import { formatCrn } from '#model/crn'
import type { Entry } from '#model/entry'
import { deviceIdentifierOf, serviceIdentifierOf } from '#model/identifier'
import { Problem } from '#model/problem'
import { valueBytesMax } from '#model/property-type'
import { parseWriteKey, placeOf } from '#model/property-write'
import { reachesService, servicesWithin } from '#model/scope'
import { type ServiceSchema, withoutNames } from '#model/service-schema'
import type { Client, ClientMessage, Refusal } from '#mqtt/client'
import type { Answer } from '#mqtt/link-exchange'
import { nameOfLevel } from '#mqtt/reader-filter'
import { reasonOf, reasons } from '#mqtt/reason-codes'
import type { System } from '#runtime/system'

export interface SetParts {
  readonly system: System<Entry>
  readonly links: Links
  readonly audit: Audit
  /** Called for a message with QoS 2 that took effect. `answer` runs when its identifier is stored with the session. */
  readonly received: (client: Client, packetId: number, answer: () => void) => void
}

const prefix = 'v1/set/'
/** In JSON a character takes up to six bytes. */
const payloadBytesMax = 6 * valueBytesMax

const utf8 = new TextDecoder('utf-8', { fatal: true })

/** Writes of people and programs: the text of a value on the topic of its property. Contract 10. */
export class SetTopics {
  readonly #parts: SetParts

  constructor(parts: SetParts) {
    this.#parts = parts
  }

  static isTopic(topic: string): boolean {
    return topic.startsWith(prefix)
  }

  /**
   * Answers when the write was sent to the device. A message with QoS 2 may be written again if the process dies before
   * its identifier is stored.
   */
  publish(client: Client, message: ClientMessage, answer: Answer): void {
    const { topic, payload, qos, packetId } = message
    if (qos === 2) client.openPacketIds.add(packetId)
    const refused = (error: unknown) => {
      // In version 5 a refusal ends the exchange. MQTT 5.0 §4.3.3.
      if (client.version === 5) client.openPacketIds.delete(packetId)
      void this.#record(client, topic, statusOf(error))
      answer(refusalOf(error))
    }
    this.#write(client.principal.caller?.now(), topic, payload)
      .then(async () => {
        const recorded = this.#record(client, topic, 202)
        if (qos === 2) await new Promise<void>((stored) => this.#parts.received(client, packetId, stored))
        await recorded
      })
      .then(() => answer(), refused)
  }

  /** Adds a write of a person or a program to the audit. Devices have no entries. */
  async #record({ principal: { caller }, address }: Client, topic: string, status: number): Promise<void> {
    if (!caller) return
    const device = deviceIdentifierOf(nameOfLevel(topic.slice(prefix.length).split('/', 1)[0] ?? '') ?? '')
    const resourceIdentifier = device && formatCrn({ type: 'device', tenant: caller.tenant, name: device })
    await this.#parts.audit.add({ user: caller, address, method: 'PUBLISH', path: topic, resourceIdentifier, status })
  }

  /** @throws Problem */
  async #write(caller: Caller | undefined, topic: string, payload: Uint8Array): Promise<unknown> {
    const { system, links } = this.#parts
    const [device, service, property] = namesIn(topic)
    const isPermitted = caller && reachesService(caller.scope, 'service', 'update', device, service)
    if (!isPermitted) throw new Problem('forbidden', `these credentials do not permit writes to ${device}`)
    const { tenant, session, user, scope } = caller
    const text = textOf(payload)
    const stored = system.wake(tenantAddress(tenant)).schemas.get(service)
    const schema = stored && !servicesWithin(scope, 'schemas', 'read')(service) ? withoutNames(stored) : stored
    const state = system.peek(deviceAddress(tenant, device)) as DeviceState | undefined
    return links.writes.ask({
      tenant,
      ...(session && { user }),
      device,
      service,
      values: Object.fromEntries([[property, writtenValue(state, service, property, schema, text)]]),
      schema,
      id: `m:${Buffer.from(system.world.random(16)).toString('base64url')}`,
      isWaiting: false,
      isRepeated: false,
    })
  }
}

/** @throws Problem `not_found` */
function namesIn(topic: string): readonly [device: string, service: string, property: string] {
  const levels = topic.slice(prefix.length).split('/').map(nameOfLevel)
  const device = deviceIdentifierOf(levels[0] ?? '')
  const service = serviceIdentifierOf(levels[1] ?? '')
  const property = levels[2]
  if (levels.length !== 3 || !device || !service || !property) {
    throw new Problem('not_found', 'the topic must be v1/set/<device>/<service>/<property>')
  }
  return [device, service, property]
}

/** @throws Problem `bad_request` */
function textOf(payload: Uint8Array): string {
  if (payload.byteLength > payloadBytesMax) throw new Problem('bad_request', 'the value is too large')
  try {
    return utf8.decode(payload)
  } catch {
    throw new Problem('bad_request', 'the value must be UTF-8')
  }
}

/**
 * Reads a value from the text that `v1/state` sends for it: JSON for numbers, booleans and arrays, the text itself for
 * other types.
 */
function writtenValue(
  state: DeviceState | undefined,
  service: string,
  key: string,
  schema: ServiceSchema | undefined,
  text: string,
): unknown {
  const shape = state && serviceOf(state, service)?.shape
  const place = shape && placeOf(parseWriteKey(key), shape, schema)
  const type = place === undefined ? undefined : shape?.properties[place]?.type
  if (type?.accept(text) !== undefined) return text
  try {
    return JSON.parse(text)
  } catch {
    // The text may be a name in the enumeration of the schema.
    return text
  }
}

function refusalOf(error: unknown): Refusal {
  if (!(error instanceof Problem)) return { reason: reasons.implementationError, message: 'internal error' }
  const [detail] = error.details ?? []
  const message = detail ? `${detail.path} ${detail.message}` : error.message
  return { reason: reasonOf(error), message }
}
