import type { SendDesired, SetDesired } from '#actors/device/commands'
import type { DesiredOrder } from '#actors/device/desired'
import type { DeviceState } from '#actors/device/state'
import type { DeviceLinks } from '#link/device-links'
import type { DevicePort } from '#link/device-port'
import type { LinkedDevice } from '#link/link'
import type { DesiredItem } from '#model/desired'
import type { ResultMessage } from '#model/link-message'
import { Problem } from '#model/problem'
import type { ServiceSchema } from '#model/service-schema'

export interface DesiredWritesOptions {
  readonly port: DevicePort
  readonly deviceLinks: DeviceLinks
  readonly schemaOf: (tenant: string, service: string) => ServiceSchema | undefined
  /** Sends a WRITE. Returns false if the connection has too many unsent bytes: `send` is called again later. */
  readonly write: (linked: LinkedDevice, order: DesiredOrder['order'], id: string) => boolean
  readonly failed: (error: unknown) => void
}

/** The id of a WRITE of desired values begins with this. */
const idPrefix = 'd:'

/**
 * Sends desired values to connected devices, after WELCOME and after each change. Each change is sent once on a
 * connection. Delivery is at least once, with the same id. Contract 12.
 */
export class DesiredWrites {
  readonly #options: DesiredWritesOptions
  /** For each connection, the ids of the desired values that were sent on it. */
  readonly #sent = new WeakMap<LinkedDevice, Set<string>>()

  constructor(options: DesiredWritesOptions) {
    this.#options = options
  }

  /** Stores desired values, and sends them if the device is connected. @throws Problem */
  async set(tenant: string, device: string, command: SetDesired, bytes: number): Promise<readonly DesiredItem[]> {
    const { port, deviceLinks } = this.#options
    const items = (await port.ask(tenant, device, command, bytes)) as readonly DesiredItem[]
    const linked = deviceLinks.get(tenant, device)
    if (linked) this.send(linked)
    return items
  }

  /** Sends the desired values that this connection has not received. */
  send(linked: LinkedDevice): void {
    const { port, schemaOf, failed } = this.#options
    const { tenant, device } = linked
    if (!this.#isPresent(linked)) return
    const { desired } = port.wake(tenant, device).state as DeviceState
    if (desired.size === 0) return
    const sent = this.#sent.get(linked) ?? new Set()
    this.#sent.set(linked, sent)
    const schemas = new Map(Array.from(desired.keys(), (service) => [service, schemaOf(tenant, service)]))
    const command: SendDesired = { type: 'send_desired', sent, schemas }
    // 0 bytes, so that an overloaded server does not refuse the command.
    port.ask(tenant, device, command, 0).then((orders) => {
      for (const { id, order } of orders as readonly DesiredOrder[]) {
        // Two calls at the same time get the same orders.
        if (sent.has(id) || order.flakeAddress !== linked.flakeAddress || !this.#isPresent(linked)) continue
        if (!this.#options.write(linked, order, idPrefix + id)) return
        sent.add(id)
      }
    }, ignoreProblem(failed))
  }

  /** Returns false if the RESULT is not about desired values. */
  result(linked: LinkedDevice, { id, results }: ResultMessage): boolean {
    if (!id.startsWith(idPrefix)) return false
    const { port, failed } = this.#options
    const command = { type: 'desired_result', id: id.slice(idPrefix.length), results } as const
    port.ask(linked.tenant, linked.device, command, 0).catch(ignoreProblem(failed))
    return true
  }

  #isPresent(linked: LinkedDevice): boolean {
    const { deviceLinks } = this.#options
    return linked.isWelcomed && linked.link.isOpen && deviceLinks.get(linked.tenant, linked.device) === linked
  }
}

/**
 * Ignores a `Problem`, because the connection ends after a failed commit. The device then gets the values after its
 * next HELLO.
 */
function ignoreProblem(failed: (error: unknown) => void): (error: unknown) => void {
  return (error) => {
    if (!(error instanceof Problem)) failed(error)
  }
}
