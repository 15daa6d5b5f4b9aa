import type { DeviceCommand, DeviceCommands, WriteOrder } from '#actors/device/commands'
import type { DesiredOrder } from '#actors/device/desired'
import type { DeviceState } from '#actors/device/state'
import type { ServerFrame } from '#link/codec'
import { jsonCodec } from '#link/codecs'
import type { DeviceLinks } from '#link/device-links'
import type { DevicePort } from '#link/device-port'
import type { Link, LinkedDevice } from '#link/link'
import { type OpenWrite, OpenWrites, openWrite, type WriteOutcome, type WriteResult } from '#link/open-writes'
import type { DesiredItem } from '#model/desired'
import type { ResultMessage } from '#model/link-message'
import { Problem } from '#model/problem'
import type { ServiceSchema } from '#model/service-schema'
import type { CommandOf } from '#runtime/actor'
import type { World } from '#runtime/world'

/** No WRITE is sent on a link with more unsent bytes: half of the limit that closes the link. */
const unsentBytesMax = 512 * 1024
/** Limit for one WRITE. It fits even if the unsent bytes are just below their limit. */
const frameBytesMax = 512 * 1024

export interface WritesOptions {
  readonly world: World
  readonly port: DevicePort
  readonly deviceLinks: DeviceLinks
  /** The time limit for RESULT. */
  readonly timeoutMs: number
  readonly schemaOf: (tenant: string, service: string) => ServiceSchema | undefined
  readonly failed: (error: unknown) => void
}

export interface WriteRequest {
  readonly tenant: string
  /** CRN of the user; undefined while authentication is off. */
  readonly user?: string | undefined
  readonly device: string
  readonly service: string
  /** Unchecked values by key. */
  readonly values: Readonly<Record<string, unknown>>
  readonly schema: ServiceSchema | undefined
  /** The id of the WRITE. A repeated request uses the same id. At most 36 characters. */
  readonly id: string
  /** If false, the answer is sent with the WRITE and not with its RESULT. */
  readonly isWaiting: boolean
  /** The request was made before, possibly to a process that has died: the device gets time to reconnect. */
  readonly isRepeated: boolean
}

/**
 * Handles writes to devices: from the turn that checks a write, until its RESULT. Contract 3.5, 7.
 *
 * - Writes are not stored: they wait in memory, up to the time limit. They are lost if the process dies; the caller may
 *   then repeat the request with the same id.
 * - Delivery is at least once, with the same id: a device that reconnects, or sends HELLO again, gets its open writes
 *   again after WELCOME, in order. A device answers a repeated id without a second execution.
 * - The answer is sent after the commit of all that the device sent before RESULT, so the caller reads the reported
 *   values. It is sent even if that commit fails, because the device has executed the write and will report again.
 */
export class Writes {
  readonly #options: WritesOptions
  readonly #open: OpenWrites
  /** Devices with writes that wait until the unsent bytes of their link are sent. */
  readonly #waitingForDrain = new WeakMap<Link, Set<LinkedDevice>>()
  readonly desired: DesiredWrites
  #isStopped = false
  /** `sent` includes repeated WRITEs. `answered` counts writes with a complete RESULT. */
  readonly counts = { sent: 0, answered: 0, timedOut: 0 }

  constructor(options: WritesOptions) {
    this.#options = options
    this.desired = new DesiredWrites({ ...options, write: (...order) => this.#writeDesired(...order) })
    this.#open = new OpenWrites(options.world, options.timeoutMs, (write) => {
      this.counts.timedOut++
      write.refused(new Problem('device_timeout'))
    })
  }

  get openCount(): number {
    return this.#open.size
  }

  /**
   * @throws Problem `not_found`, `property_unknown` or `invalid` for the request; `device_offline` if the device has no
   * link; `device_timeout` if it did not answer in time (it may still have executed the write); `too_large`,
   * `too_many_requests`, `overloaded`, `stopping` or `storage` if nothing was sent
   */
  async ask(request: WriteRequest): Promise<WriteOutcome> {
    const { port, deviceLinks } = this.#options
    const { tenant, device, service, values, schema, id, isWaiting } = request
    const order = await port.orderOf(tenant, device, { type: 'write', service, values, schema })
    if (this.#isStopped) throw new Problem('stopping')
    const same = this.#open.get(tenant, device, id)
    if (same) return same.outcome
    const linked = deviceLinks.get(tenant, device)
    const link = linked?.flakeAddress === order.flakeAddress && linked.link.isOpen ? linked.link : undefined
    if (!link && !(request.isRepeated && isWaiting)) throw new Problem('device_offline')
    const codec = link?.opening.codec ?? jsonCodec
    const bytes = Buffer.byteLength(codec.encode(writeMessage(order, id)))
    if (bytes > frameBytesMax) throw new Problem('too_large', `the WRITE has more than ${frameBytesMax} bytes`)
    if (link && link.socket.bufferedBytes() > unsentBytesMax) throw new Problem('overloaded')
    const write = openWrite({ tenant, device, id, user: request.user, writeOrder: order, isWaiting })
    this.#open.add(write)
    if (linked && link) this.#sendOpen(linked)
    return write.outcome
  }

  /**
   * Handles a RESULT for all or some of the properties. Returns false if there is no open write. `linked`: the device
   * that sent RESULT.
   */
  result(linked: LinkedDevice, message: ResultMessage): boolean {
    if (this.desired.result(linked, message)) return true
    const { id, results } = message
    const write = this.#open.get(linked.tenant, linked.device, id)
    if (!write || write.writeOrder.flakeAddress !== linked.flakeAddress) return false
    for (const { propId, status, message } of results) {
      // Only the first result of a requested property counts.
      if (!write.unanswered.delete(propId)) continue
      write.results.set(propId, { propId, status, ...(message !== undefined && { message }) })
    }
    if (write.unanswered.size > 0) return true
    this.#open.remove(write)
    this.counts.answered++
    const outcome = { updates: write.writeOrder.updates.map(({ propId }) => write.results.get(propId) as WriteResult) }
    this.#options.port.inOrder(() => write.answered(outcome))
    return true
  }

  /** The protocol of the device has no answer to this write, so the caller is answered as if it did not wait. */
  sent(linked: LinkedDevice, id: string): void {
    const write = this.#open.get(linked.tenant, linked.device, id)
    if (write && this.#open.remove(write)) write.answered(sentOutcome(write))
  }

  /** WELCOME was sent: sends the open writes, including those that were sent before, and desired values. */
  welcomed(linked: LinkedDevice): void {
    if (this.#options.deviceLinks.get(linked.tenant, linked.device) !== linked) return
    this.#sendOpen(linked)
    this.desired.send(linked)
  }

  /** The unsent bytes of a link were sent. */
  drained(link: Link): void {
    const waiting = this.#waitingForDrain.get(link)
    this.#waitingForDrain.delete(link)
    for (const linked of waiting ?? []) this.welcomed(linked)
  }

  /** The device of this address was removed. */
  removed(tenant: string, device: string, flakeAddress: number): void {
    for (const write of this.#open.of(tenant, device)) {
      if (write.writeOrder.flakeAddress === flakeAddress) this.#refuse(write, new Problem('not_found'))
    }
  }

  /** Ends all writes with a timeout, although devices may still execute them. */
  stop(): void {
    this.#isStopped = true
    for (const write of this.#open.all()) this.#refuse(write, new Problem('device_timeout'))
  }

  /** Sends the writes that this connected device has not received, in order. */
  #sendOpen(linked: LinkedDevice): void {
    const { link, tenant, device, flakeAddress } = linked
    if (!linked.isWelcomed) return
    for (const write of this.#open.of(tenant, device)) {
      if (write.sentTo === linked || write.writeOrder.flakeAddress !== flakeAddress) continue
      if (link.socket.bufferedBytes() > unsentBytesMax) {
        this.#sendWhenDrained(linked)
        return
      }
      this.#send(write, linked)
    }
  }

  #sendWhenDrained(linked: LinkedDevice): void {
    const waiting = this.#waitingForDrain.get(linked.link)
    if (waiting) waiting.add(linked)
    else this.#waitingForDrain.set(linked.link, new Set([linked]))
  }

  #writeDesired(linked: LinkedDevice, order: WriteOrder, id: string): boolean {
    const { link } = linked
    const isFull = link.socket.bufferedBytes() > unsentBytesMax
    if (isFull) this.#sendWhenDrained(linked)
    else link.send(writeMessage(order, id))
    return !isFull
  }

  #send(write: OpenWrite, linked: LinkedDevice): void {
    const { link } = linked
    write.sentTo = linked
    this.counts.sent++
    link.send(writeMessage(write.writeOrder, write.id))
    if (write.isWaiting) return
    if (this.#open.remove(write)) write.answered(sentOutcome(write))
  }

  #refuse(write: OpenWrite, problem: Problem): void {
    if (this.#open.remove(write)) write.refused(problem)
  }
}

function sentOutcome({ writeOrder }: OpenWrite): WriteOutcome {
  return { updates: writeOrder.updates.map(({ propId }) => ({ propId, status: 'SENT' })) }
}

/** Builds WRITE. The same order always gives the same message. Contract 7. */
function writeMessage({ flakeAddress, service, updates }: WriteOrder, id: string): ServerFrame {
  return { type: 'WRITE', flakeAddress, id, serviceIdentifier: service, updates }
}

interface DesiredWritesOptions extends Omit<WritesOptions, 'world' | 'timeoutMs'> {
  /** Sends a WRITE. Returns false if the connection has too many unsent bytes: `send` is called again later. */
  readonly write: (linked: LinkedDevice, order: WriteOrder, id: string) => boolean
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
  async set(
    tenant: string,
    device: string,
    command: CommandOf<DeviceCommands, 'set_desired'>,
    bytes: number,
  ): Promise<readonly DesiredItem[]> {
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
    const command: DeviceCommand = { type: 'send_desired', sent, schemas }
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
