import type { DeviceState } from '#actors/device/state'
import type { LinkCodec, ServerFrame } from '#link/codec'
import type { FrameAbout } from '#link/device-frame'
import type { ConnectionCredentials, PortDevice } from '#link/device-port'
import type { Entry } from '#model/entry'
import { serviceIdentifierOf } from '#model/identifier'
import { linkWindowMessages } from '#model/link-message'
import { type LinkErrorCode, linkErrorCodes, type Problem } from '#model/problem'
import type { Shape } from '#model/shape'
import type { Activation } from '#runtime/activation'
import { type CloseReason, closeCodes } from '#runtime/close-codes'
import type { Socket } from '#runtime/socket'
import type { World } from '#runtime/world'

/** The data with which a link is opened: the result of a websocket upgrade, or of an MQTT sign-in. */
export interface LinkOpening extends ConnectionCredentials {
  readonly codec: LinkCodec
  /** The device speaks MQTT, whose keep alive replaces pings. Absent: it speaks the link protocol over a websocket. */
  readonly isMqtt?: true
  /**
   * The base of the server's URLs as seen by the device: scheme, host, possibly a path. Empty for MQTT, and if the Host
   * header is not usable.
   */
  readonly origin: string
}

export type LinkedDeviceParts = Pick<LinkedDevice, 'link' | 'device' | 'session' | 'services' | 'activation'>

/**
 * A device on a link. The object is in use until BYE, another HELLO of the device, its removal, a change of its
 * credentials, or the close of the link.
 */
export class LinkedDevice implements PortDevice {
  readonly link: Link
  readonly tenant: string
  readonly device: string
  readonly flakeAddress: number
  readonly session: string
  /** In the order of HELLO: the short form of UPDATE names a service by its index. */
  readonly services: readonly Shape[]
  activation: Activation<Entry>
  /** WELCOME was sent, so the device knows its address. */
  isWelcomed = false
  /** The highest number of a received UPDATE, to detect gaps. */
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
    this.link.stopAccepting()
  }

  refused(seq: number, problem: Problem): void {
    const { link, flakeAddress } = this
    link.countRefused()
    // The device was removed or has reached its memory limit. This is not a mistake of the link, which may carry other
    // devices.
    const isMistake = problem.code !== 'device_unknown' && problem.code !== 'memory_full'
    link.refuse(problem, { flakeAddress, seq }, true, isMistake)
  }
}

/** Shared by all links. */
export interface LinkContext {
  readonly world: World
  /** Calls `flushAcknowledgements` of the link soon. */
  readonly flushLater: (link: Link) => void
  readonly counts: { refused: number }
  readonly errors: ErrorCounts
  readonly hasOtherNodes: boolean
}

/** How often each error was sent. */
type ErrorCounts = Record<LinkErrorCode, number>

export function zeroErrorCounts(): ErrorCounts {
  return Object.fromEntries(linkErrorCodes.map((code) => [code, 0])) as ErrorCounts
}

/** A link is closed after this many frames in a row that were refused for their content. Contract 7. */
const refusedInRowMax = 10

/** A link with its devices, its window and its outgoing messages. */
export class Link {
  readonly socket: Socket
  readonly opening: LinkOpening
  readonly devices = new Map<number, LinkedDevice>()
  /**
   * Addresses of devices that left this link for another link, or were dismissed: their late frames are not mistakes.
   */
  readonly replaced = new Set<number>()
  /** Addresses of devices that were removed while they were on this link. */
  readonly removed = new Set<number>()
  /** The last ping is still unanswered. */
  isIdle = false
  isClosed = false
  #unacknowledged = 0
  #refusedInRow = 0
  #isEnding = false
  #hasStopped = false
  readonly #context: LinkContext
  #lastShapes: readonly Shape[] = []
  readonly #acks: LinkedDevice[] = []
  readonly #sendAcksNow = () => this.#sendAcks()
  #isFlushing = false

  constructor(context: LinkContext, socket: Socket, opening: LinkOpening) {
    this.#context = context
    this.socket = socket
    this.opening = opening
  }

  /** Whether messages can be sent: false once the server has decided to close the link. */
  get isOpen(): boolean {
    return !this.isClosed && !this.#isEnding
  }

  /** Whether frames are accepted. */
  get isAccepting(): boolean {
    return this.isOpen && !this.#hasStopped
  }

  /** Call when a frame will be refused for a temporary reason: no later frames are accepted. */
  stopAccepting(): void {
    this.#hasStopped = true
  }

  /** Counts a received UPDATE. Returns false if it exceeds the window. */
  addToWindow(): boolean {
    return ++this.#unacknowledged <= linkWindowMessages
  }

  /** Acknowledges an UPDATE that is now stored, or was stored before. */
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
    this.#context.flushLater(this)
  }

  flushAcknowledgements(): void {
    this.#isFlushing = false
    if (this.isOpen && this.#acks.length > 0) this.socket.cork(this.#sendAcksNow)
  }

  /** Shares a list of shapes between consecutive devices that declare the same services. */
  sharedShapes(shapes: readonly Shape[]): readonly Shape[] {
    const last = this.#lastShapes
    const isSame = shapes.length === last.length && shapes.every((shape, place) => shape === last[place])
    if (!isSame) this.#lastShapes = shapes
    return this.#lastShapes
  }

  /** Resets the count of refused frames in a row, because a frame was accepted. */
  accepted(): void {
    this.#refusedInRow = 0
  }

  /** Removes an UPDATE from the window without an answer, because its device has left the link. */
  removeFromWindow(): void {
    this.#unacknowledged--
  }

  countRefused(): void {
    this.#context.counts.refused++
  }

  /**
   * Refuses a frame with an ERROR. Ten mistakes in a row close the link. A temporary reason closes it at once, so that
   * the device reconnects and tries again.
   */
  refuse(problem: Problem, about: FrameAbout = {}, isUpdate = false, isMistake = true): void {
    if (isUpdate) this.#unacknowledged--
    if (!this.isOpen) return
    const code = problem.kind.link ?? 'BAD_MESSAGE'
    this.error(code, problem.message, about)
    if (problem.kind.isTemporary) this.end(this.#closeReasonOf(problem))
    else if (isMistake && ++this.#refusedInRow >= refusedInRowMax) this.end(closeCodes.badMessage)
  }

  /**
   * After a storage failure in a cluster the device reconnects at once, because another node takes over. Contract 11.
   */
  #closeReasonOf({ code }: Problem): CloseReason {
    return code === 'storage' && this.#context.hasOtherNodes ? closeCodes.restarting : closeCodes.tryLater
  }

  error(code: LinkErrorCode, message: string, about: FrameAbout = {}): void {
    if (this.isOpen) this.#context.errors[code]++
    this.send({ type: 'ERROR', code, message, ...about })
  }

  send(message: ServerFrame): void {
    if (!this.isOpen) return
    const frame = this.opening.codec.encode(message)
    this.socket.cork(() => {
      // Acknowledgements of earlier frames must be sent first.
      this.#sendAcks()
      this.socket.send(frame)
    })
  }

  end({ code, reason }: CloseReason): void {
    if (!this.isOpen) return
    this.#isEnding = true
    // Closing runs the close handler synchronously, so the socket must not be closed while the caller runs.
    this.#context.world.soon(() => {
      if (!this.isClosed) this.socket.end(code, reason)
    })
  }

  /** Sends one ACK for each device: it covers all earlier numbers. */
  #sendAcks(): void {
    const { codec } = this.opening
    for (const linked of this.#acks) {
      linked.isAckWaiting = false
      const frame = codec.acknowledge(linked.flakeAddress, linked.ackSeq, linked.isShort)
      if (frame !== undefined) this.socket.send(frame)
    }
    this.#acks.length = 0
  }
}

/**
 * All acknowledgements of one cycle of the event loop are sent together, with one task and one write for each link. Each
 * link is added at most once before its `flushAcknowledgements`.
 */
export function acknowledgementFlush(world: World): LinkContext['flushLater'] {
  let links: Link[] = []
  const flush = () => {
    const flushed = links
    links = []
    for (const link of flushed) link.flushAcknowledgements()
  }
  return (link) => {
    if (links.push(link) === 1) world.soon(flush)
  }
}

/** Finds the service that a frame names, by its index in HELLO or by its identifier. */
export function shapeOf(
  { services }: Pick<LinkedDevice, 'services'>,
  { service }: { readonly service: number | string },
): Shape | undefined {
  if (typeof service === 'number') return services[service]
  for (let index = 0; index < services.length; index++) {
    const shape = services[index] as Shape
    if (shape.serviceIdentifier === service) return shape
  }
  // The frame may contain another form of the identifier, such as a UUID in upper case.
  const normal = serviceIdentifierOf(service)
  return normal === undefined || normal === service ? undefined : shapeOf({ services }, { service: normal })
}
