import type { DeviceState } from '#actors/device/state'
import type { LinkCodec, ServerFrame } from '#link/codec'
import type { FrameAbout } from '#link/device-frame'
import type { PortDevice, Speaker } from '#link/device-port'
import type { Entry } from '#model/entry'
import { serviceIdentifierOf } from '#model/identifier'
import { linkWindowMessages } from '#model/link-message'
import { type LinkErrorCode, linkErrorCodes, type Problem } from '#model/problem'
import type { Shape } from '#model/shape'
import type { Activation } from '#runtime/activation'
import { type CloseReason, closeCodes } from '#runtime/close-codes'
import type { Socket } from '#runtime/socket'
import type { World } from '#runtime/world'

/** What an upgrade decided about a link. */
export interface LinkOpening extends Speaker {
  readonly codec: LinkCodec
  /** What URLs of ours begin with as the link came to us: scheme, host, perhaps a path. Empty when its host can be none. */
  readonly origin: string
}

/** What a HELLO, and the actor that it woke, say of a device on a link. */
export type LinkedDeviceParts = Pick<LinkedDevice, 'link' | 'device' | 'session' | 'services' | 'activation'>

/** A device on a link: a generation of it, ended by BYE, by another HELLO or with the link. */
export class LinkedDevice implements PortDevice {
  readonly link: Link
  readonly tenant: string
  readonly device: string
  readonly flakeAddress: number
  readonly session: string
  /** In the order of HELLO: short frames say the place. */
  readonly services: readonly Shape[]
  activation: Activation<Entry>
  /** WELCOME, with the address that frames name, was sent. */
  isWelcomed = false
  /** The last UPDATE that came, for noticing gaps. */
  lastSeq = 0
  ackSeq = 0
  isAckWaiting = false
  isShort = false

  constructor({ link, device, session, services, activation }: LinkedDeviceParts) {
    this.link = link
    this.tenant = link.opening.tenant
    this.device = device
    this.flakeAddress = (activation.state as DeviceState).flakeAddress
    this.session = session
    this.services = services
    this.activation = activation
  }

  acknowledged(seq: number): void {
    this.link.acknowledge(this, seq)
  }

  refusing(): void {
    this.link.stopTaking()
  }

  refused(seq: number, problem: Problem): void {
    const { link, flakeAddress } = this
    link.countRefused()
    // The device was removed meanwhile, or is full. The link may carry other devices, and made no mistake.
    const isMistake = problem.code !== 'device_unknown' && problem.code !== 'memory_full'
    link.refuse(problem, { flakeAddress, seq }, true, isMistake)
  }
}

/** The same of all links. */
export interface SharedByLinks {
  readonly world: World
  readonly acknowledgements: Acknowledgements
  readonly counts: { refused: number }
  readonly errors: ErrorCounts
}

/** How often each was said. */
type ErrorCounts = Record<LinkErrorCode, number>

export function noErrors(): ErrorCounts {
  return Object.fromEntries(linkErrorCodes.map((code) => [code, 0])) as ErrorCounts
}

/** Frames in a row refused for their content, after which a link is closed. Contract 7. */
const refusedInRowMax = 10

/** One link: its devices, its window, and what is to be said to it. */
export class Link {
  readonly socket: Socket
  readonly opening: LinkOpening
  readonly devices = new Map<number, LinkedDevice>()
  readonly shapes = new ShapeLists()
  /** Addresses that another link took over: their late frames are no mistake. */
  readonly replaced = new Set<number>()
  /** Addresses of devices that were removed while they were here. */
  readonly removed = new Set<number>()
  /** No ping was answered of late. */
  isIdle = false
  isClosed = false
  #unacknowledged = 0
  #refusedInRow = 0
  #isEnding = false
  #hasStopped = false
  readonly #shared: SharedByLinks
  readonly #acks: LinkedDevice[] = []
  readonly #sendAcksNow = () => this.#sendAcks()
  #isFlushing = false

  constructor(shared: SharedByLinks, socket: Socket, opening: LinkOpening) {
    this.#shared = shared
    this.socket = socket
    this.opening = opening
  }

  /** Whether anything can still be said: not after we decided to close. */
  get isOpen(): boolean {
    return !this.isClosed && !this.#isEnding
  }

  /** Whether frames are still taken. */
  get isTaking(): boolean {
    return this.isOpen && !this.#hasStopped
  }

  /** A frame could not be taken, and that is about to be said: what comes behind it is not taken either. */
  stopTaking(): void {
    this.#hasStopped = true
  }

  /** Counts an UPDATE that came; false when that is more than the window holds. */
  enter(): boolean {
    return ++this.#unacknowledged <= linkWindowMessages
  }

  /** An UPDATE is stored, or was before. */
  acknowledge(linked: LinkedDevice, seq: number): void {
    this.#unacknowledged--
    this.#refusedInRow = 0
    if (!this.isOpen) return
    if (seq > linked.ackSeq) linked.ackSeq = seq
    if (linked.isAckWaiting) return
    linked.isAckWaiting = true
    this.#acks.push(linked)
    if (this.#isFlushing) return
    this.#isFlushing = true
    this.#shared.acknowledgements.add(this)
  }

  flushAcknowledgements(): void {
    this.#isFlushing = false
    if (this.isOpen && this.#acks.length > 0) this.socket.together(this.#sendAcksNow)
  }

  /** A frame was good: refusals are counted anew. */
  accepted(): void {
    this.#refusedInRow = 0
  }

  /** An UPDATE of an ended generation: it leaves the window unanswered. */
  acknowledgeNothing(): void {
    this.#unacknowledged--
  }

  countRefused(): void {
    this.#shared.counts.refused++
  }

  /** A frame was refused. For its content: says so, and closes after ten in a row. Else: closes, to be tried again. */
  refuse(problem: Problem, about: FrameAbout = {}, isUpdate = false, isMistake = true): void {
    if (isUpdate) this.#unacknowledged--
    if (!this.isOpen) return
    const code = problem.kind.link ?? 'BAD_MESSAGE'
    this.error(code, problem.message, about)
    if (problem.kind.isTemporary) this.end(closeCodes.tryLater)
    else if (isMistake && ++this.#refusedInRow >= refusedInRowMax) this.end(closeCodes.badMessage)
  }

  error(code: LinkErrorCode, message: string, about: FrameAbout = {}): void {
    if (this.isOpen) this.#shared.errors[code]++
    this.send({ type: 'ERROR', code, message, ...about })
  }

  send(message: ServerFrame): void {
    if (!this.isOpen) return
    const frame = this.opening.codec.encode(message)
    this.socket.together(() => {
      // What was stored before is acknowledged before.
      this.#sendAcks()
      this.socket.send(frame)
    })
  }

  end({ code, reason }: CloseReason): void {
    if (!this.isOpen) return
    this.#isEnding = true
    // Not from within what called us: closing runs the close handler at once.
    this.#shared.world.soon(() => {
      if (!this.isClosed) this.socket.end(code, reason)
    })
  }

  /** One per device: an ACK says everything up to its number. */
  #sendAcks(): void {
    const { codec } = this.opening
    for (const linked of this.#acks) {
      linked.isAckWaiting = false
      this.socket.send(codec.acknowledge(linked.flakeAddress, linked.ackSeq, linked.isShort))
    }
    this.#acks.length = 0
  }
}

/**
 * Links with something to acknowledge. Whatever is released in one turn of the loop is acknowledged together: one write
 * a link, one task for all of them.
 */
export class Acknowledgements {
  readonly #world: World
  #links: Link[] = []

  constructor(world: World) {
    this.#world = world
  }

  /** At most once before each `flushAcknowledgements` of the link. */
  add(link: Link): void {
    if (this.#links.push(link) === 1) this.#world.soon(() => this.#flush())
  }

  #flush(): void {
    const links = this.#links
    this.#links = []
    for (const link of links) link.flushAcknowledgements()
  }
}

/** Lists of shapes; devices of one link that say the same one after the other share theirs. */
class ShapeLists {
  #last: readonly Shape[] = []

  of(shapes: readonly Shape[]): readonly Shape[] {
    const last = this.#last
    if (shapes.length === last.length && shapes.every((shape, place) => shape === last[place])) return last
    this.#last = shapes
    return shapes
  }
}

/** The shape that a frame means: by its place in HELLO or by its name. */
export function shapeOf(
  { services }: Pick<LinkedDevice, 'services'>,
  { service }: { readonly service: number | string },
): Shape | undefined {
  if (typeof service === 'number') return services[service]
  for (let index = 0; index < services.length; index++) {
    const shape = services[index] as Shape
    if (shape.serviceIdentifier === service) return shape
  }
  // Written otherwise than in its normal form: a UUID in upper case.
  const normal = serviceIdentifierOf(service)
  return normal === undefined || normal === service ? undefined : shapeOf({ services }, { service: normal })
}
