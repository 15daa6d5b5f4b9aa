import type { WriteOrder } from '#actors/device/commands'
import type { ServerFrame } from '#link/codec'
import { jsonCodec } from '#link/codecs'
import type { DevicePort } from '#link/device-port'
import type { Link, LinkedDevice } from '#link/link'
import { type OpenWrite, OpenWrites, openWrite, type WriteOutcome, type WriteResult } from '#link/open-writes'
import type { Owners } from '#link/owners'
import type { ResultMessage } from '#model/link-message'
import { Problem } from '#model/problem'
import type { ServiceSchema } from '#model/service-schema'
import type { World } from '#runtime/world'

/** Unsent bytes of a link above which nothing is asked of its devices: half of what costs the link its connection. */
const unsentBytesMax = 512 * 1024
/** Of one WRITE. With as much unsent before it, it still goes out whole. */
const frameBytesMax = 512 * 1024

export interface WritesOptions {
  readonly world: World
  readonly port: DevicePort
  readonly owners: Owners
  /** How long a device has to answer. */
  readonly timeoutMs: number
}

export interface WriteRequest {
  readonly tenant: string
  /** CRN of the user who asks; undefined while authentication is off. */
  readonly user?: string | undefined
  readonly device: string
  readonly service: string
  /** By key, as they came. */
  readonly values: Readonly<Record<string, unknown>>
  readonly schema: ServiceSchema | undefined
  /** Names the write towards the device; who asks for the same again gives the same. At most 36 characters. */
  readonly id: string
  /** False: whoever asks hears that it was sent, and no more. */
  readonly isWaiting: boolean
  /** Asked before, perhaps of a process that died since: the device is given the time to link again. */
  readonly isRepeated: boolean
}

/**
 * What is asked of devices, from the turn that checks it to what the device says became of it. Contract 3.5, 7.
 *
 * - Nothing of a write is stored and nothing is kept for later: it waits here, for as long as a device may take. A process
 *   that dies forgets it; who asked may ask again under the same id.
 * - At least once, under the same id: a device whose link broke, or who says HELLO anew, hears its open writes again
 *   behind its WELCOME, in their order. A device answers a repeated id without doing it twice.
 * - An answer comes after all that the device said before its RESULT is stored: who hears it reads what was reported. Where
 *   that could not be stored it comes as well, for the device did it, and will report again.
 */
export class Writes {
  readonly #options: WritesOptions
  readonly #open: OpenWrites
  /** Of links that have too much unsent: the devices whose writes wait for that to leave. */
  readonly #held = new WeakMap<Link, Set<LinkedDevice>>()
  #isStopped = false
  /** WRITEs, also those said again; writes that all of their properties were answered of; those that were not in time. */
  readonly counts = { sent: 0, answered: 0, timedOut: 0 }

  constructor(options: WritesOptions) {
    this.#options = options
    this.#open = new OpenWrites(options.world, options.timeoutMs, (write) => {
      this.counts.timedOut++
      write.refused(new Problem('device_timeout'))
    })
  }

  /** Writes that somebody waits for. */
  get openCount(): number {
    return this.#open.size
  }

  /**
   * @throws Problem `not_found`, `property_unknown` and `invalid` of what is asked; `device_offline` when no link speaks for
   * the device, `device_timeout` when it did not answer in time, which does not mean that it did nothing; `too_large`,
   * `overloaded`, `stopping`, `storage` when nothing was sent
   */
  async ask(request: WriteRequest): Promise<WriteOutcome> {
    const { port, owners } = this.#options
    const { tenant, device, service, values, schema, id, isWaiting } = request
    const order = await port.orderOf(tenant, device, { type: 'write', service, values, schema })
    if (this.#isStopped) throw new Problem('stopping')
    const same = this.#open.get(tenant, device, id)
    if (same) return same.outcome
    const linked = owners.get(tenant, device)
    const link = linked?.flakeAddress === order.flakeAddress && linked.link.isOpen ? linked.link : undefined
    if (!link && !(request.isRepeated && isWaiting)) throw new Problem('device_offline')
    const { encode } = link?.opening.codec ?? jsonCodec
    const bytes = Buffer.byteLength(encode(writeMessage(order, id)))
    if (bytes > frameBytesMax) throw new Problem('too_large', `all of it is more than ${frameBytesMax} bytes`)
    if (link && link.socket.bufferedBytes() > unsentBytesMax) throw new Problem('overloaded')
    const write = openWrite(tenant, device, id, request.user, order, isWaiting)
    this.#open.add(write)
    if (linked && link) this.#sendOpen(linked)
    return write.outcome
  }

  /**
   * A device said what became of a write, of all its properties or of some. False when nobody waits for it.
   * `linked`: the generation that speaks for the device now.
   */
  result(linked: LinkedDevice, { id, results }: ResultMessage): boolean {
    const write = this.#open.get(linked.tenant, linked.device, id)
    if (!write || write.order.flakeAddress !== linked.flakeAddress) return false
    for (const { propId, status, message } of results) {
      // The first word counts, and only about what was asked.
      if (!write.unanswered.delete(propId)) continue
      write.results.set(propId, { propId, status, ...(message !== undefined && { message }) })
    }
    if (write.unanswered.size > 0) return true
    this.#open.remove(write)
    this.counts.answered++
    const outcome = { updates: write.order.updates.map(({ propId }) => write.results.get(propId) as WriteResult) }
    this.#options.port.inOrder(() => write.answered(outcome))
    return true
  }

  /** A device was told by which address it is spoken to: it hears what is open, whether it heard it before or not. */
  welcomed(linked: LinkedDevice): void {
    if (this.#options.owners.get(linked.tenant, linked.device) === linked) this.#sendOpen(linked)
  }

  /** A link has room again for what was held back. */
  drained(link: Link): void {
    const held = this.#held.get(link)
    this.#held.delete(link)
    for (const linked of held ?? []) this.welcomed(linked)
  }

  /** The device of this address is no more. */
  removed(tenant: string, device: string, flakeAddress: number): void {
    for (const write of this.#open.of(tenant, device)) {
      if (write.order.flakeAddress === flakeAddress) this.#refuse(write, new Problem('not_found'))
    }
  }

  /** Nobody will hear a device any more, though it may do what it was asked. */
  stop(): void {
    this.#isStopped = true
    for (const write of this.#open.all()) this.#refuse(write, new Problem('device_timeout'))
  }

  /** What this generation of a device did not hear yet, in the order it was asked. */
  #sendOpen(linked: LinkedDevice): void {
    const { link, tenant, device, flakeAddress } = linked
    if (!linked.isWelcomed) return
    for (const write of this.#open.of(tenant, device)) {
      if (write.sentTo === linked || write.order.flakeAddress !== flakeAddress) continue
      if (link.socket.bufferedBytes() > unsentBytesMax) {
        const held = this.#held.get(link)
        if (held) held.add(linked)
        else this.#held.set(link, new Set([linked]))
        return
      }
      this.#send(write, linked)
    }
  }

  #send(write: OpenWrite, linked: LinkedDevice): void {
    const { link } = linked
    write.sentTo = linked
    this.counts.sent++
    link.send(writeMessage(write.order, write.id))
    if (write.isWaiting) return
    this.#open.remove(write)
    write.answered({ updates: write.order.updates.map(({ propId }) => ({ propId, status: 'SENT' })) })
  }

  #refuse(write: OpenWrite, problem: Problem): void {
    if (this.#open.remove(write)) write.refused(problem)
  }
}

/** WRITE. The same order gives the same message each time. Contract 7. */
function writeMessage({ flakeAddress, service, updates }: WriteOrder, id: string): ServerFrame {
  return { type: 'WRITE', flakeAddress, id, serviceIdentifier: service, updates }
}
