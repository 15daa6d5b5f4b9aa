import type { Report } from '#actors/device/commands'
import { tenantAddress } from '#actors/tenant/commands'
import { DeclarationRate } from '#link/declaration'
import {
  type BadUpdate,
  type DeviceFrame,
  type FrameAbout,
  frameAboutOf,
  messageOf,
  readItems,
  readPropertyItems,
  type UpdateFrame,
} from '#link/device-frame'
import { DeviceLinks, endLinks, LinksByCredential } from '#link/device-links'
import { DevicePort } from '#link/device-port'
import { FrameQueue, type FrameSteps, finish, smallFrameBytesMax } from '#link/frame-queue'
import { HelloHandler } from '#link/hello'
import {
  acknowledgementFlush,
  Link,
  type LinkContext,
  type LinkedDevice,
  type LinkOpening,
  shapeOf,
  zeroErrorCounts,
} from '#link/link'
import { type FirmwareListener, noopFirmwareListener, Offers } from '#link/offers'
import type { LinksOptions } from '#link/options'
import { PresenceFanout } from '#link/presence'
import { Writes } from '#link/writes'
import { linkWindowMessages, MessageHead, type ResultHead, type ResultMessage, WriteResult } from '#model/link-message'
import type { DeviceStatus } from '#model/meta'
import { Problem } from '#model/problem'
import { closeCodes } from '#runtime/close-codes'
import { Liveness } from '#runtime/liveness'
import type { Socket, SocketHandler } from '#runtime/socket'
import type { World } from '#runtime/world'

/** Memory for the objects that a frame creates. */
const frameOverheadBytes = 200

/**
 * Converts frames to commands for device actors, and sends the answers after the commit. A device is on one link at a
 * time: the last link that sent HELLO for the device. Contract 7.
 */
export class Links implements SocketHandler<LinkOpening> {
  readonly #options: LinksOptions
  readonly #world: World
  readonly port: DevicePort
  readonly #links = new Map<Socket, Link>()
  readonly #liveness: Liveness<Link>
  readonly #deviceLinks: DeviceLinks
  readonly #byCredential = new LinksByCredential()
  readonly queue: FrameQueue
  readonly #context: LinkContext
  readonly #fanout: PresenceFanout
  readonly hellos: HelloHandler
  readonly declarations: DeclarationRate
  firmwareListener: FirmwareListener = noopFirmwareListener
  readonly writes: Writes
  readonly offers: Offers
  /** `updates`: UPDATE frames and free MQTT messages, passed to their devices. `changes`: the properties in them. */
  readonly counts = { frames: 0, bytes: 0, updates: 0, changes: 0, refused: 0, hellos: 0 }
  readonly errors = zeroErrorCounts()

  constructor(options: LinksOptions) {
    const { world } = options.system
    this.#options = options
    this.#world = world
    this.port = new DevicePort(options.system)
    this.#deviceLinks = new DeviceLinks(world)
    this.declarations = new DeclarationRate(world)
    this.#fanout = new PresenceFanout({ world, deviceLinks: this.#deviceLinks, presence: options.presence })
    const parts = { world, port: this.port, deviceLinks: this.#deviceLinks }
    this.writes = new Writes({
      ...parts,
      timeoutMs: options.writeTimeoutMs,
      schemaOf: (tenant, service) => options.system.wake(tenantAddress(tenant)).schemas.get(service),
      failed: (error) => options.log.bug(error),
    })
    this.offers = new Offers({ ...parts, urlOf: options.offerUrl ?? ((_, __, { url }) => url ?? undefined) })
    this.hellos = new HelloHandler({
      ...parts,
      intern: options.intern,
      memory: options.memory,
      counts: this.counts,
      declarations: this.declarations,
      welcomed: (linked, firmwares) => {
        this.writes.welcomed(linked)
        // After a later HELLO, only the firmware in that HELLO counts.
        if (this.linkedOf(linked.tenant, linked.device) === linked) this.firmwareListener.welcomed(linked, firmwares)
      },
      refuse: (link, problem, about) => this.#refuse(link, problem, about),
      admissionRefused: (tenant, problem) => options.log.refused(tenant, problem),
    })
    const { counts, errors } = this
    const { hasOtherNodes = false } = options
    this.#context = { world, flushLater: acknowledgementFlush(world), counts, errors, hasOtherNodes }
    this.queue = new FrameQueue({
      world,
      take: (link, data, isBinary) => this.#queued(link, data, isBinary),
      failed: (link, error) => {
        options.log.bug(error)
        link.stopAccepting()
        link.end(closeCodes.failed)
      },
    })
    this.#liveness = new Liveness(world, (link) => link.socket, {
      unanswered: (link) => this.#setIdle(link, true),
      dead: (link) => link.end(closeCodes.dead),
    })
  }

  get linkCount(): number {
    return this.#links.size
  }

  /** Counts links that were opened with credentials. */
  linkCountOf(tenant: string): number {
    return this.#byCredential.countOf(tenant)
  }

  /** Includes devices of links that closed a moment ago. */
  get deviceCount(): number {
    return this.#deviceLinks.size
  }

  statusOf(tenant: string, device: string): DeviceStatus {
    const link = this.#deviceLinks.get(tenant, device)?.link
    if (!link) return 'offline'
    return link.isIdle ? 'idle' : 'online'
  }

  linkedOf(tenant: string, device: string): LinkedDevice | undefined {
    return this.#deviceLinks.get(tenant, device)
  }

  opened(socket: Socket, opening: LinkOpening): Link {
    const link = new Link(this.#context, socket, opening)
    this.#links.set(socket, link)
    this.#byCredential.add(link)
    if (!opening.isMqtt) this.#liveness.watch(link)
    return link
  }

  received(socket: Socket, data: Uint8Array, isBinary: boolean): void {
    const link = this.#links.get(socket)
    if (!link?.isAccepting) return
    this.#liveness.touch(link)
    if (link.isIdle) this.#setIdle(link, false)
    this.counts.frames++
    this.counts.bytes += data.byteLength
    if (this.queue.has(link)) this.#later(link, data, isBinary)
    else this.#frame(link, data, isBinary)
  }

  /** The client does not read. Lost messages are not repeated on a link, so the device has to connect again. */
  dropped(socket: Socket): void {
    this.#links.get(socket)?.end(closeCodes.tryLater)
  }

  drained(socket: Socket): void {
    this.ponged(socket)
    const link = this.#links.get(socket)
    if (!link) return
    this.writes.drained(link)
    this.offers.drained(link)
  }

  ponged(socket: Socket): void {
    const link = this.#links.get(socket)
    if (!link) return
    this.#liveness.touch(link)
    if (link.isIdle) this.#setIdle(link, false)
  }

  closed(socket: Socket): void {
    const link = this.#links.get(socket)
    if (!link) return
    this.#links.delete(socket)
    this.#byCredential.remove(link)
    this.queue.forget(link)
    link.isClosed = true
    this.#liveness.forget(link)
    this.#fanout.restart(link)
    this.firmwareListener.closed(link)
    this.offers.closed(link)
  }

  /** The store refuses writes. Devices send unacknowledged reports again after they reconnect. */
  storageFailed(): void {
    for (const link of [...this.#links.values()]) link.refuse(new Problem('storage'))
  }

  /** The device of this address was removed. A new device of the same name has another address. */
  removed(tenant: string, device: string, flakeAddress: number): void {
    const linked = this.#deviceLinks.get(tenant, device)
    if (linked?.flakeAddress === flakeAddress) {
      this.#deviceLinks.delete(tenant, linked)
      linked.link.devices.delete(flakeAddress)
      linked.link.removed.add(flakeAddress)
      linked.link.error('UNKNOWN_DEVICE', `${device} was removed`, { flakeAddress })
    }
    this.writes.removed(tenant, device, flakeAddress)
    endLinks(this.#world, this.#byCredential.ofDevice(tenant, device))
  }

  /**
   * The secret of a device is void: links opened with it are closed, and so is a link that carries this device only.
   * Contract 3.11. A gateway whose key does not permit a device with a secret continues without this device.
   */
  credentialsChanged(tenant: string, device: string): void {
    endLinks(this.#world, this.#byCredential.ofDevice(tenant, device))
    const linked = this.#deviceLinks.get(tenant, device)
    if (!linked?.link.isOpen) return
    const { link } = linked
    const notAllowed = this.port.whyNotPermitted(link.opening, device)
    if (link.devices.size === 1) link.end(closeCodes.sessionOver)
    else if (notAllowed) this.#dismiss(linked, notAllowed)
  }

  keyEnded(tenant: string, key: string): void {
    endLinks(this.#world, this.#byCredential.ofKey(tenant, key))
  }

  tenantEnded(tenant: string): void {
    endLinks(this.#world, this.#byCredential.ofTenant(tenant))
  }

  /**
   * The store was read again, and some credentials may be gone, so all links with credentials are closed, and their
   * devices authenticate again. `storageFailed` closed all links before, and no message was taken on later links.
   */
  recheckCredentials(): void {
    endLinks(this.#world, this.#byCredential.all(), closeCodes.tryLater)
  }

  /** From now on closed links do not change the recorded status. Waiting writes end. Contract 3.10. */
  stop(): void {
    this.writes.stop()
    this.#fanout.stop()
    this.#liveness.stop()
  }

  /** A small UPDATE is processed at once, other small frames only if there is time. All other frames are queued. */
  #frame(link: Link, data: Uint8Array, isBinary: boolean): void {
    const bytes = data.byteLength
    const frame = bytes <= smallFrameBytesMax ? this.#decoded(link, data, isBinary) : 'large'
    if (!frame) return
    if (frame === 'large') this.#later(link, data, isBinary)
    else if (frame.kind !== 'other') this.#update(link, frame, bytes)
    else if (!this.queue.now(() => finish(this.#other(link, frame.message, bytes)))) this.#later(link, data, isBinary)
  }

  #queued(link: Link, data: Uint8Array, isBinary: boolean): FrameSteps | undefined {
    const frame = this.#decoded(link, data, isBinary)
    if (frame?.kind === 'other') return this.#other(link, frame.message, data.byteLength)
    if (frame) this.#update(link, frame, data.byteLength)
    return undefined
  }

  #decoded(link: Link, data: Uint8Array, isBinary: boolean): DeviceFrame | undefined {
    try {
      return link.opening.codec.decode(data, isBinary)
    } catch (error) {
      if (!(error instanceof Problem)) throw error
      this.#refuse(link, error)
      return undefined
    }
  }

  #later(link: Link, data: Uint8Array, isBinary: boolean): void {
    if (!this.queue.add(link, data, isBinary)) link.refuse(new Problem('overloaded'))
  }

  #update(link: Link, read: UpdateFrame | BadUpdate, bytes: number): void {
    if (!link.addToWindow()) {
      link.refuse(new Problem('overloaded', `more than ${linkWindowMessages} messages unacknowledged`), {}, true)
      return
    }
    if (read.kind === 'bad_update') {
      this.#refuse(link, read.problem, frameAboutOf(read.message), true)
      return
    }
    const { flakeAddress, seq } = read
    const linked = link.devices.get(flakeAddress)
    if (!linked) {
      this.#refuseUnknownDevice(link, flakeAddress, seq)
      return
    }
    linked.isShort = read.isShort
    if (seq > linked.lastSeq + 1 && linked.lastSeq > 0) {
      this.#options.log.gap(linked.tenant, linked.device, linked.lastSeq, seq)
    }
    if (seq > linked.lastSeq) linked.lastSeq = seq
    const shape = shapeOf(linked, read)
    const items = shape
      ? readItems(read, shape)
      : new Problem('service_unknown', `service ${read.service} is not declared`)
    if (!shape || items instanceof Problem) {
      this.#refuse(link, items as Problem, { flakeAddress, seq }, true)
      return
    }
    this.counts.updates++
    this.counts.changes += items.length >> 1
    const report: Report = { type: 'report', shape, session: linked.session, seq, items, timestamp: read.timestamp }
    this.port.report(linked, report, bytes + frameOverheadBytes)
  }

  #refuseUnknownDevice(link: Link, flakeAddress: number, seq: number): void {
    if (link.replaced.has(flakeAddress)) {
      // A late frame of a device that has left this link needs no answer.
      link.removeFromWindow()
      return
    }
    if (link.removed.has(flakeAddress)) {
      // The link made no mistake, so this does not count as a refused frame.
      link.removeFromWindow()
      this.port.inOrder(() => link.error('UNKNOWN_DEVICE', `${flakeAddress} was removed`, { flakeAddress, seq }))
      return
    }
    const problem = new Problem('device_unknown', `${flakeAddress} has sent no HELLO on this connection`)
    this.#refuse(link, problem, { flakeAddress, seq }, true)
  }

  #other(link: Link, frame: unknown, bytes: number): FrameSteps | undefined {
    const parsed = MessageHead.safeParse(frame)
    if (!parsed.success) {
      this.#refuse(link, new Problem('bad_request', messageOf(parsed.error)), frameAboutOf(frame))
      return undefined
    }
    const message = parsed.data
    switch (message.type) {
      case 'HELLO':
        return this.hellos.take(link, message, bytes + frameOverheadBytes)
      case 'BYE':
        this.bye(link, message.flakeAddress)
        break
      case 'RESULT':
        this.#result(link, message, readPropertyItems(WriteResult, message.results, 'results'))
        break
      case 'FIRMWARE_STATUS': {
        // A status for an unknown address is no mistake: it may come late.
        const linked = link.devices.get(message.flakeAddress)
        if (linked) this.firmwareListener.statusReceived(linked, message)
      }
    }
    return undefined
  }

  /** A RESULT without an open write is no mistake: it came late, or twice. */
  #result(link: Link, message: ResultHead, results: ResultMessage['results'] | Problem): void {
    if (results instanceof Problem) {
      this.#refuse(link, results, frameAboutOf(message))
      return
    }
    const linked = link.devices.get(message.flakeAddress)
    if (linked && this.writes.result(linked, { ...message, results })) this.port.inOrder(() => link.accepted())
  }

  bye(link: Link, flakeAddress: number): void {
    const linked = link.devices.get(flakeAddress)
    if (!linked) return
    link.devices.delete(flakeAddress)
    this.#removeDevice(linked)
  }

  #removeDevice(linked: LinkedDevice): void {
    this.#fanout.left(linked)
    this.firmwareListener.left(linked)
  }

  /** Removes a device that the link is no longer permitted to carry. Late frames of the device are no mistake. */
  #dismiss(linked: LinkedDevice, why: Problem): void {
    const { link, flakeAddress } = linked
    link.devices.delete(flakeAddress)
    link.replaced.add(flakeAddress)
    this.#removeDevice(linked)
    link.error('NOT_ALLOWED', why.message, { flakeAddress })
  }

  #setIdle(link: Link, isIdle: boolean): void {
    link.isIdle = isIdle
    this.#fanout.restart(link)
  }

  /** Sends the refusal after the answers to earlier frames. */
  #refuse(link: Link, problem: Problem, about: FrameAbout = {}, isUpdate = false): void {
    this.counts.refused++
    this.port.inOrder(() => link.refuse(problem, about, isUpdate))
  }
}
