import type { Report } from '#actors/device/commands'
import { DeclarationRate } from '#link/declaration'
import {
  aboutOf,
  type BadUpdate,
  type DeviceFrame,
  type FrameAbout,
  messageOf,
  readItems,
  readOneByOne,
  type UpdateFrame,
} from '#link/device-frame'
import { DevicePort } from '#link/device-port'
import { FrameQueue, type FrameSteps, finish, smallFrameBytesMax } from '#link/frame-queue'
import { Hellos } from '#link/hello'
import {
  Acknowledgements,
  Link,
  type LinkedDevice,
  type LinkOpening,
  noErrors,
  type SharedByLinks,
  shapeOf,
} from '#link/link'
import { endAll, Openings } from '#link/links-by-credential'
import { type FirmwareEar, Offers, unheardFirmware } from '#link/offers'
import type { LinksOptions } from '#link/options'
import { Owners } from '#link/owners'
import { StatusWalks } from '#link/presence'
import { Writes } from '#link/writes'
import { linkWindowMessages, MessageHead, type ResultHead, type ResultMessage, WriteResult } from '#model/link-message'
import type { DeviceStatus } from '#model/meta'
import { Problem } from '#model/problem'
import { closeCodes } from '#runtime/close-codes'
import { Liveness } from '#runtime/liveness'
import type { Socket, SocketRoom } from '#runtime/socket'
import type { World } from '#runtime/world'

/** Of the objects that are made of a frame. */
const frameOverheadBytes = 200

/**
 * Turns frames into commands of device actors, and sends their answers after the commit. A device is on one link at a time:
 * the latest that sent HELLO for it. Contract 7.
 */
export class Links implements SocketRoom<LinkOpening> {
  readonly #options: LinksOptions
  readonly #world: World
  readonly port: DevicePort
  readonly #links = new Map<Socket, Link>()
  readonly #liveness: Liveness<Link>
  readonly #owners: Owners
  readonly #openings = new Openings()
  readonly #queue: FrameQueue
  readonly #shared: SharedByLinks
  readonly #walks: StatusWalks
  readonly #hellos: Hellos
  readonly declarations: DeclarationRate
  #ear: FirmwareEar = unheardFirmware
  readonly writes: Writes
  readonly offers: Offers
  /** `updates`, `changes`: UPDATE frames that were handed to their devices, and the properties in them. */
  readonly counts = { frames: 0, bytes: 0, updates: 0, changes: 0, refused: 0, hellos: 0 }
  readonly errors = noErrors()

  constructor(options: LinksOptions) {
    const { world } = options.system
    this.#options = options
    this.#world = world
    this.port = new DevicePort(options.system)
    this.#owners = new Owners(world)
    this.declarations = new DeclarationRate(world)
    this.#walks = new StatusWalks({ world, owners: this.#owners, presence: options.presence })
    this.writes = new Writes({ world, port: this.port, owners: this.#owners, timeoutMs: options.writeTimeoutMs })
    this.offers = new Offers({
      owners: this.#owners,
      urlOf: options.offerUrl ?? ((_, __, { url }) => url ?? undefined),
    })
    this.#hellos = new Hellos({
      world,
      port: this.port,
      intern: options.intern,
      memory: options.memory,
      owners: this.#owners,
      counts: this.counts,
      declarations: this.declarations,
      welcomed: (linked, said) => {
        this.writes.welcomed(linked)
        // By a later HELLO it may have another firmware by now.
        if (this.linkedOf(linked.tenant, linked.device) === linked) this.#ear.welcomed(linked, said)
      },
      refuse: (link, problem, about) => this.#refuse(link, problem, about),
      notAdmitted: (tenant, problem) => options.log.refused(tenant, problem),
    })
    this.#shared = { world, acknowledgements: new Acknowledgements(world), counts: this.counts, errors: this.errors }
    this.#queue = new FrameQueue({
      world,
      take: (link, data, isBinary) => this.#queued(link, data, isBinary),
      failed: (link, error) => {
        options.log.bug(error)
        link.stopTaking()
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

  /** Of the links that were opened with credentials. */
  linkCountOf(tenant: string): number {
    return this.#openings.countOf(tenant)
  }

  /** Those of links that closed just now included. */
  get deviceCount(): number {
    return this.#owners.size
  }

  statusOf(tenant: string, device: string): DeviceStatus {
    const link = this.#owners.get(tenant, device)?.link
    if (!link) return 'offline'
    return link.isIdle ? 'idle' : 'online'
  }

  linkedOf(tenant: string, device: string): LinkedDevice | undefined {
    return this.#owners.get(tenant, device)
  }

  hear(ear: FirmwareEar): void {
    this.#ear = ear
  }

  opened(socket: Socket, opening: LinkOpening): void {
    const link = new Link(this.#shared, socket, opening)
    this.#links.set(socket, link)
    this.#openings.add(link)
    this.#liveness.watch(link)
  }

  received(socket: Socket, data: Uint8Array, isBinary: boolean): void {
    const link = this.#links.get(socket)
    if (!link?.isTaking) return
    this.#liveness.heard(link)
    if (link.isIdle) this.#setIdle(link, false)
    this.counts.frames++
    this.counts.bytes += data.byteLength
    if (this.#queue.has(link)) this.#later(link, data, isBinary)
    else this.#frame(link, data, isBinary)
  }

  /** It does not read what it is told, and nobody would say it again: it is told by its next HELLO. */
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
    this.#liveness.heard(link)
    if (link.isIdle) this.#setIdle(link, false)
  }

  closed(socket: Socket): void {
    const link = this.#links.get(socket)
    if (!link) return
    this.#links.delete(socket)
    this.#openings.remove(link)
    this.#queue.forget(link)
    link.isClosed = true
    this.#liveness.forget(link)
    this.#walks.changed(link)
    this.#ear.closed(link)
    this.offers.closed(link)
  }

  /** The store takes no writes: every link is told and closed, to come back with what was not acknowledged. */
  storageFailed(): void {
    for (const link of [...this.#links.values()]) link.refuse(new Problem('storage'))
  }

  /**
   * The device of this address is no more: its link hears that the address means nothing. One of the same name that was
   * made since has another address, and is none of our business.
   */
  removed(tenant: string, device: string, flakeAddress: number): void {
    const linked = this.#owners.get(tenant, device)
    if (linked?.flakeAddress === flakeAddress) {
      this.#owners.delete(tenant, linked)
      linked.link.devices.delete(flakeAddress)
      linked.link.removed.add(flakeAddress)
      linked.link.error('UNKNOWN_DEVICE', `${device} was removed`, { flakeAddress })
    }
    this.writes.removed(tenant, device, flakeAddress)
    endAll(this.#world, this.#openings.ofDevice(tenant, device))
  }

  /**
   * A device's secret is void: links that were opened with it are closed, and the one that carries nothing else.
   * Contract 3.11. A gateway whose key may not speak for a device with a secret goes on without it.
   */
  credentialsChanged(tenant: string, device: string): void {
    endAll(this.#world, this.#openings.ofDevice(tenant, device))
    const linked = this.#owners.get(tenant, device)
    if (!linked?.link.isOpen) return
    const { link } = linked
    const notAllowed = this.port.whyNotPermitted(link.opening, device)
    if (link.devices.size === 1) link.end(closeCodes.sessionOver)
    else if (notAllowed) this.#dismiss(linked, notAllowed)
  }

  keyEnded(tenant: string, key: string): void {
    endAll(this.#world, this.#openings.ofKey(tenant, key))
  }

  tenantEnded(tenant: string): void {
    endAll(this.#world, this.#openings.ofTenant(tenant))
  }

  /**
   * The store was read again, and the credentials that let a link in may be no more. Those from before its failure are
   * closed (`storageFailed`); those that came since have said nothing that was taken, and come again to be judged by what
   * is stored.
   */
  recheckCredentials(): void {
    endAll(this.#world, this.#openings.all(), closeCodes.tryLater)
  }

  /**
   * From now on closed links mean nothing: the recorded status stands until the devices are back. Contract 3.10. Who waits
   * for a device hears that it did not answer.
   */
  stop(): void {
    this.writes.stop()
    this.#walks.stop()
    this.#liveness.stop()
  }

  /** UPDATE is the flood, and cheap: it is taken at once. What costs more is if it may, else it waits. */
  #frame(link: Link, data: Uint8Array, isBinary: boolean): void {
    const bytes = data.byteLength
    const frame = bytes <= smallFrameBytesMax ? this.#decoded(link, data, isBinary) : 'large'
    if (!frame) return
    if (frame === 'large') this.#later(link, data, isBinary)
    else if (frame.kind !== 'other') this.#update(link, frame, bytes)
    else if (!this.#queue.now(() => finish(this.#other(link, frame.message, bytes)))) this.#later(link, data, isBinary)
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
    if (!this.#queue.add(link, data, isBinary)) link.refuse(new Problem('overloaded'))
  }

  #update(link: Link, read: UpdateFrame | BadUpdate, bytes: number): void {
    if (!link.enter()) {
      link.refuse(new Problem('overloaded', `more than ${linkWindowMessages} messages unacknowledged`), {}, true)
      return
    }
    if (read.kind === 'bad_update') {
      this.#refuse(link, read.problem, aboutOf(read.message), true)
      return
    }
    const { flakeAddress, seq } = read
    const linked = link.devices.get(flakeAddress)
    if (!linked) {
      this.#refuseStranger(link, flakeAddress, seq)
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

  #refuseStranger(link: Link, flakeAddress: number, seq: number): void {
    if (link.replaced.has(flakeAddress)) {
      // A late frame of a generation that ended: nobody waits for its answer.
      link.acknowledgeNothing()
      return
    }
    if (link.removed.has(flakeAddress)) {
      // No mistake of the link's either: it does not count towards the ten.
      link.acknowledgeNothing()
      this.port.inOrder(() => link.error('UNKNOWN_DEVICE', `${flakeAddress} was removed`, { flakeAddress, seq }))
      return
    }
    const problem = new Problem('device_unknown', `${flakeAddress} said no HELLO on this link`)
    this.#refuse(link, problem, { flakeAddress, seq }, true)
  }

  #other(link: Link, frame: unknown, bytes: number): FrameSteps | undefined {
    const parsed = MessageHead.safeParse(frame)
    if (!parsed.success) {
      this.#refuse(link, new Problem('bad_request', messageOf(parsed.error)), aboutOf(frame))
      return undefined
    }
    const message = parsed.data
    switch (message.type) {
      case 'HELLO':
        return this.#hellos.take(link, message, bytes + frameOverheadBytes)
      case 'BYE':
        this.#bye(link, message.flakeAddress)
        break
      case 'RESULT':
        this.#result(link, message, readOneByOne(WriteResult, message.results, 'results'))
        break
      case 'FIRMWARE_STATUS': {
        // As with RESULT.
        const linked = link.devices.get(message.flakeAddress)
        if (linked) this.#ear.said(linked, message)
      }
    }
    return undefined
  }

  /** One to nothing we asked is no mistake: it was said too late, or twice. */
  #result(link: Link, message: ResultHead, results: ResultMessage['results'] | Problem): void {
    if (results instanceof Problem) {
      this.#refuse(link, results, aboutOf(message))
      return
    }
    const linked = link.devices.get(message.flakeAddress)
    if (linked && this.writes.result(linked, { ...message, results })) this.port.inOrder(() => link.accepted())
  }

  #bye(link: Link, flakeAddress: number): void {
    const linked = link.devices.get(flakeAddress)
    if (!linked) return
    link.devices.delete(flakeAddress)
    this.#left(linked)
  }

  #left(linked: LinkedDevice): void {
    this.#walks.left(linked)
    this.#ear.left(linked)
  }

  /** The link may not speak for this one any more: what it still says of it is no mistake, and means nothing. */
  #dismiss(linked: LinkedDevice, why: Problem): void {
    const { link, flakeAddress } = linked
    link.devices.delete(flakeAddress)
    link.replaced.add(flakeAddress)
    this.#left(linked)
    link.error('NOT_ALLOWED', why.message, { flakeAddress })
  }

  #setIdle(link: Link, isIdle: boolean): void {
    link.isIdle = isIdle
    this.#walks.changed(link)
  }

  /** Refusals at the border leave in order with what was stored before them. */
  #refuse(link: Link, problem: Problem, about: FrameAbout = {}, isFrame = false): void {
    this.counts.refused++
    this.port.inOrder(() => link.refuse(problem, about, isFrame))
  }
}
