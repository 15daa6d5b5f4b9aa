import WebSocket from 'ws'
import { parseObject } from '#bench/dashboard'
import type { FleetCounts } from '#bench/fleet/counts'
import type { FrameInFlight, SimulatedDevice } from '#bench/fleet/device'
import type { Change } from '#bench/fleet/kinds'
import type { FleetOptions } from '#bench/fleet/options'
import { UpdateAnswers } from '#bench/fleet/updates'
import { type AnsweringLink, receiveWrite } from '#bench/fleet/writes'
import { authorizationHeader, gateway } from '#bench/harness/identity'
import type { SeededRandom } from '#bench/random'

/** Maximum number of unanswered HELLOs per link: a gateway of thousands must not start with megabytes. */
const hellosUnansweredMax = 32
/** A link that waits for an answer this long without receiving anything is closed. */
const silenceMsMax = 30_000
/** A link that is open this long without WELCOME for one of its devices is closed, to try again. */
const unwelcomeMsMax = 15_000
/** How often a restarting device checks whether its frames are answered. */
const answeredPollMs = 10

interface LinkSettings {
  readonly options: FleetOptions
  readonly counts: FleetCounts
  readonly random: SeededRandom
  onRoom(link: FleetLink): void
}

/**
 * One websocket and its devices, which reconnects until it is stopped. After a disconnect it waits for a random part of
 * a doubling back-off. Then it sends HELLO for each device, and resends in order the frames that the server has not
 * stored.
 */
export class FleetLink {
  readonly devices: readonly SimulatedDevice[]
  readonly #settings: LinkSettings
  readonly #byAddress = new Map<number, SimulatedDevice>()
  readonly #byIdentifier: ReadonlyMap<string, SimulatedDevice>
  readonly #answering: AnsweringLink
  readonly #updates: UpdateAnswers
  #socket: WebSocket | undefined
  #isStopped = false
  #retry: NodeJS.Timeout | undefined
  #attempts = 0
  #helloNext = 0
  #hellosUnanswered = 0
  #unacknowledged = 0
  #window: number
  #turn = 0
  #lastReceivedAt = 0
  #openedAt = 0

  constructor(devices: readonly SimulatedDevice[], settings: LinkSettings) {
    this.devices = devices
    this.#settings = settings
    this.#byIdentifier = new Map(devices.map((device) => [device.identifier, device]))
    this.#window = settings.options.window
    this.#answering = {
      ...settings,
      send: (message) => this.#sendMessage(message),
      // An offline device reports its values in its next HELLO.
      report: (device, changes) => device.isWelcomed && this.send(device, changes),
      restart: (device, afterMs, isSudden) => void this.#restart(device, afterMs, isSudden),
    }
    this.#updates = new UpdateAnswers(this.#answering)
  }

  get isOpen(): boolean {
    return this.#socket?.readyState === WebSocket.OPEN
  }

  get hasRoom(): boolean {
    return this.#unacknowledged < this.#window
  }

  connect(): void {
    if (this.#isStopped) return
    const { url, key } = this.#settings.options
    const socket = new WebSocket(`${url}/api/v1/link`, ['link.v1.json'], {
      headers: authorizationHeader(key === '' ? undefined : gateway(key)),
      perMessageDeflate: false,
      handshakeTimeout: 10_000,
    })
    this.#socket = socket
    socket.on('open', () => this.#opened())
    socket.on('message', (data: Buffer) => this.#received(data))
    // 'close' follows every error; only this event has the reason for a refused connection or upgrade.
    socket.on('error', (error: NodeJS.ErrnoException) => this.#settings.counts.error(error.code ?? error.message))
    socket.on('close', (code) => this.#closed(socket, code))
  }

  /** Breaks the connection without a close frame. The link reconnects by itself. */
  cut(): void {
    if (this.isOpen) this.#settings.counts.cuts++
    this.#socket?.terminate()
  }

  /** Stops for good; with `isPolite` each device sends BYE first. */
  stop(isPolite: boolean): void {
    this.#isStopped = true
    this.#updates.stop()
    clearTimeout(this.#retry)
    if (!this.isOpen || !isPolite) {
      this.#socket?.terminate()
      return
    }
    for (const device of this.devices) {
      if (device.isWelcomed) this.#sendMessage({ type: 'BYE', flakeAddress: device.flakeAddress })
    }
    const socket = this.#socket
    socket?.close(1000)
    setTimeout(() => socket?.terminate(), 1_000).unref()
  }

  /** The next device of this link that may send, in rotation. */
  nextDevice(): SimulatedDevice | undefined {
    for (let tries = 0; tries < this.devices.length; tries++) {
      const device = this.devices[this.#turn++ % this.devices.length]
      if (device?.isWelcomed) return device
    }
    return undefined
  }

  /** `changes`: results of a write. */
  send(device: SimulatedDevice, changes?: readonly Change[]): void {
    // Every other device has its own clock and sends timestamps.
    const frame = device.nextFrame(device.index % 2 === 1 ? Date.now() : undefined, changes)
    this.#settings.counts.framesSent++
    this.#transmit(device, frame)
  }

  /** Closes a link whose server has not answered for too long, or does not welcome one of the devices. */
  checkLiveness(now: number): void {
    if (!this.isOpen) return
    const isSilent = this.#unacknowledged > 0 && now - this.#lastReceivedAt > silenceMsMax
    const isUnwelcome = this.devices.some(
      ({ isWelcomed, isDown, begunAt }) =>
        !isWelcomed && !isDown && now - Math.max(this.#openedAt, begunAt) > unwelcomeMsMax,
    )
    if (!isSilent && !isUnwelcome) return
    this.#settings.counts.error(isSilent ? 'CLIENT_SILENCE' : 'CLIENT_UNWELCOME')
    this.cut()
  }

  #opened(): void {
    this.#settings.counts.connects++
    this.#openedAt = performance.now()
    this.#lastReceivedAt = this.#openedAt
    this.#helloNext = 0
    this.#hellosUnanswered = 0
    this.#greet()
  }

  #greet(): void {
    while (this.#hellosUnanswered < hellosUnansweredMax && this.#helloNext < this.devices.length) {
      const device = this.devices[this.#helloNext++]
      if (!device) break
      if (!device.isDown) this.#sendHello(device)
    }
  }

  #sendHello(device: SimulatedDevice): void {
    this.#hellosUnanswered++
    this.#sendMessage(device.hello())
  }

  /**
   * Restarts a device. It sends BYE after its frames are answered, because frames in flight are counted by link. A
   * sudden restart closes a link with a single device; a gateway stays open and sends BYE.
   */
  async #restart(device: SimulatedDevice, afterMs: number, isSudden: boolean): Promise<void> {
    device.restart()
    const socket = this.#socket
    const isSame = () => this.#socket === socket
    if (isSudden && this.devices.length === 1) this.cut()
    else {
      while (device.inFlight.length > 0 && isSame()) await pause(answeredPollMs)
      if (isSame()) this.#sendMessage({ type: 'BYE', flakeAddress: device.flakeAddress })
    }
    await pause(afterMs)
    device.isDown = false
    device.begunAt = performance.now()
    // Otherwise the HELLO of the device is still queued, or the link is closed.
    if (this.isOpen && this.devices.indexOf(device) < this.#helloNext) this.#sendHello(device)
  }

  #received(data: Buffer): void {
    this.#lastReceivedAt = performance.now()
    const message = parseObject(data)
    const answer = answers.get(message?.type)
    if (message && answer) this[answer](message)
    else this.#settings.counts.fault(`not a message of a known type: ${data.toString('latin1', 0, 120)}`)
  }

  onWelcome(message: Record<string, unknown>): void {
    const device = this.#byIdentifier.get(String(message.deviceIdentifier))
    const { flakeAddress, seq, window } = message
    if (!device || typeof flakeAddress !== 'number' || typeof seq !== 'number') {
      this.#settings.counts.fault(`a WELCOME that fits no HELLO: ${JSON.stringify(message)}`)
      return
    }
    this.#attempts = 0
    this.#hellosUnanswered--
    if (typeof window === 'number') this.#window = Math.min(this.#settings.options.window, window)
    this.#byAddress.set(flakeAddress, device)
    const settled = device.welcome(flakeAddress, seq)
    if (typeof settled === 'string') this.#settings.counts.fault(`${device.identifier}: ${settled}`)
    else for (const frame of settled) this.#settle(frame)
    for (const frame of device.inFlight) {
      this.#settings.counts.framesResent++
      this.#transmit(device, frame)
    }
    this.#updates.welcomed(device)
    this.#greet()
    this.#settings.onRoom(this)
  }

  onError(message: Record<string, unknown>): void {
    const { flakeAddress, seq, code } = message
    this.#settings.counts.error(String(code))
    const device = typeof flakeAddress === 'number' ? this.#byAddress.get(flakeAddress) : undefined
    const isFinal = code !== 'OVERLOADED' && code !== 'STORAGE'
    if (device && code === 'REPLACED') device.isWelcomed = false
    // An ERROR without `seq` is the answer to a HELLO, so the next HELLO can be sent.
    if (seq === undefined && this.#hellosUnanswered > 0) {
      this.#hellosUnanswered--
      this.#greet()
    }
    if (!device || typeof seq !== 'number' || !isFinal || !device.refuse(seq)) return
    this.#unacknowledged--
    this.#settings.counts.framesRefused++
    this.#settings.onRoom(this)
  }

  /** A WRITE or FIRMWARE. A device that is down misses a FIRMWARE. */
  onOrder(message: Record<string, unknown>): void {
    const device = this.#byAddress.get(Number(message.flakeAddress))
    if (!device) {
      const text = JSON.stringify(message).slice(0, 200)
      this.#settings.counts.fault(`a ${message.type} to an unknown device: ${text}`)
    } else if (message.type === 'WRITE') receiveWrite(this.#answering, device, message)
    else if (!device.isDown) this.#updates.receive(device, message)
  }

  onAck({ flakeAddress, seq }: Record<string, unknown>): void {
    const device = typeof flakeAddress === 'number' ? this.#byAddress.get(flakeAddress) : undefined
    const settled = device && typeof seq === 'number' ? device.acknowledge(seq) : undefined
    if (!device || !settled) {
      this.#settings.counts.fault(`an ACK of a frame that was not sent: ${String(flakeAddress)}, seq ${String(seq)}`)
      return
    }
    this.#unacknowledged -= settled.length
    for (const frame of settled) this.#settle(frame)
    this.#settings.onRoom(this)
  }

  #settle({ frame, isResent, sentAt }: FrameInFlight): void {
    const { counts } = this.#settings
    counts.framesAcknowledged++
    counts.changesAcknowledged += frame.changes.length
    if (!isResent) counts.recordLatency(this.#lastReceivedAt - sentAt)
  }

  #transmit({ flakeAddress }: SimulatedDevice, { seq, frame, timestamp }: FrameInFlight): void {
    this.#unacknowledged++
    this.#sendMessage({
      ...{ type: 'UPDATE', flakeAddress, seq, serviceIdentifier: frame.service.serviceIdentifier },
      updates: frame.changes.map(({ property, value }) => ({ propId: property.propId, value })),
      ...(timestamp !== undefined && { timestamp }),
    })
  }

  #sendMessage(message: object): void {
    if (this.isOpen) this.#socket?.send(JSON.stringify(message))
  }

  #closed(socket: WebSocket, code: number): void {
    if (socket !== this.#socket) return
    this.#settings.counts.close(code)
    this.#socket = undefined
    this.#unacknowledged = 0
    this.#byAddress.clear()
    for (const device of this.devices) device.isWelcomed = false
    if (this.#isStopped) return
    const { backoffMsMin, backoffMsMax } = this.#settings.options
    const ceiling = Math.min(backoffMsMax, backoffMsMin * 2 ** Math.min(this.#attempts++, 16))
    this.#retry = setTimeout(() => this.connect(), this.#settings.random.between(ceiling / 4, ceiling))
  }
}

const answers: ReadonlyMap<unknown, 'onWelcome' | 'onAck' | 'onError' | 'onOrder'> = new Map([
  ['WELCOME', 'onWelcome'],
  ['ACK', 'onAck'],
  ['ERROR', 'onError'],
  ['WRITE', 'onOrder'],
  ['FIRMWARE', 'onOrder'],
])

function pause(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms).unref())
}
