import { createHash } from 'node:crypto'
import { get } from 'node:http'
import { Packr, Unpackr } from 'msgpackr'
import { clientFrame, FrameReader, opcodes } from '#bench/load/frames'
import { RawSocket } from '#bench/load/raw-socket'

const packr = new Packr({ useRecords: false })
const unpackr = new Unpackr({ useRecords: false, int64AsType: 'number' })

/** What its devices have before, and come back with. */
const oldFirmware = '1.0.0'

export interface UpdatedFleetOptions {
  readonly port: number
  readonly authorization?: string | undefined
  readonly project: string
  readonly devices: number
  /** Of which each speaks for as many devices. */
  readonly links: number
}

interface Offer {
  readonly flakeAddress: number
  readonly id: string
  readonly firmware: string
  readonly url: string
  readonly sha256: string
  readonly size: number
}

/**
 * Devices that say nothing but what they are, and take the firmware that they are offered: each downloads its image on a
 * connection of its own, holds it against its SHA-256, and comes back with it at once. No model of a device (`bench/fleet`
 * is): whatever goes wrong ends the measurement.
 */
export class UpdatedFleet {
  /** Came back with a new firmware, and were welcomed. */
  updated = 0
  bytes = 0
  downloadsAtOnceMax = 0
  #downloads = 0
  #failure: Error | undefined
  #isClosing = false
  readonly #options: UpdatedFleetOptions
  readonly #sockets: RawSocket[] = []

  constructor(options: UpdatedFleetOptions) {
    this.#options = options
  }

  /** Resolves when all devices are welcome. */
  async open(): Promise<void> {
    const { devices, links } = this.#options
    const share = Math.ceil(devices / links)
    for (let link = 0; link < links; link++) {
      await this.#open(link, link * share, Math.min(share, devices - link * share))
    }
  }

  close(): void {
    this.#isClosing = true
    for (const socket of this.#sockets) socket.close()
  }

  /** Throws what went wrong, if something did. */
  check(): void {
    if (this.#failure) throw this.#failure
  }

  async allUpdated(timeoutMs: number): Promise<void> {
    const end = performance.now() + timeoutMs
    while (this.updated < this.#options.devices) {
      this.check()
      if (performance.now() > end) throw new Error(`${this.updated} devices were updated in time`)
      await new Promise((resolve) => setTimeout(resolve, 10))
    }
  }

  async #open(link: number, first: number, count: number): Promise<void> {
    const { port, authorization, project } = this.#options
    const names = Array.from({ length: count }, (_, place) => `UPDATED-${String(first + place).padStart(6, '0')}`)
    const nameOf = new Map<number, string>()
    const wanted = new Map<string, string>()
    await new Promise<void>((resolve, reject) => {
      const fail = (why: string) => {
        this.#failure ??= new Error(why)
        reject(this.#failure)
      }
      const say = (message: object) => this.#sockets[link]?.write(clientFrame(packr.pack(message)))
      const sayHello = (deviceIdentifier: string, firmware: string) =>
        say({
          type: 'HELLO',
          deviceIdentifier,
          session: `${sessionName}-${firmware}`,
          project,
          firmwares: [{ firmware, index: 0 }],
          services: [],
        })
      const heard = (message: Record<string, unknown>) => {
        if (message.type === 'WELCOME') {
          const { deviceIdentifier, flakeAddress } = message as { deviceIdentifier: string; flakeAddress: number }
          if (wanted.delete(deviceIdentifier)) this.updated++
          nameOf.set(flakeAddress, deviceIdentifier)
          const next = names[nameOf.size]
          if (nameOf.size === count) resolve()
          else if (next !== undefined && wanted.size === 0) sayHello(next, oldFirmware)
        } else if (message.type === 'FIRMWARE') {
          const offer = message as unknown as Offer
          const deviceIdentifier = nameOf.get(offer.flakeAddress) ?? ''
          const status = (said: object) =>
            say({ type: 'FIRMWARE_STATUS', flakeAddress: offer.flakeAddress, id: offer.id, ...said })
          status({ status: 'STARTED' })
          this.#download(offer).then(
            () => {
              status({ status: 'DOWNLOADING', progress: 100 })
              status({ status: 'INSTALLING' })
              status({ status: 'INSTALLED' })
              wanted.set(deviceIdentifier, offer.firmware)
              sayHello(deviceIdentifier, offer.firmware)
            },
            (error) => fail(String(error)),
          )
        } else fail(`a link heard ${JSON.stringify(message)}`)
      }
      const reader = new FrameReader((bytes, start, end, opcode) => {
        const payload = Buffer.from(bytes.subarray(start, end))
        if (opcode === opcodes.ping) this.#sockets[link]?.pong(payload)
        else if (opcode === opcodes.close) fail('the server closed a link')
        else heard(unpackr.unpack(payload) as Record<string, unknown>)
      })
      RawSocket.open({
        port,
        path: '/api/v1/link',
        protocol: 'link.v1.msgpack',
        authorization,
        received: (bytes) => reader.push(bytes),
        closed: () => {
          if (!this.#isClosing) fail('a link was closed')
        },
      }).then((socket) => {
        this.#sockets[link] = socket
        sayHello(names[0] as string, oldFirmware)
      }, reject)
    })
  }

  async #download({ url, sha256, size }: Offer): Promise<void> {
    this.#downloads++
    this.downloadsAtOnceMax = Math.max(this.downloadsAtOnceMax, this.#downloads)
    const hash = createHash('sha256')
    let received = 0
    await new Promise<void>((resolve, reject) => {
      get(url, { agent: false }, (answer) => {
        if (answer.statusCode !== 200) reject(new Error(`an image was answered ${answer.statusCode}`))
        answer.on('data', (bytes: Buffer) => {
          received += bytes.length
          hash.update(bytes)
        })
        answer.on('error', reject)
        answer.on('end', resolve)
      }).on('error', reject)
    })
    if (received !== size || hash.digest('hex') !== sha256) throw new Error(`an image came wrong: ${received} bytes`)
    this.#downloads--
    this.bytes += size
  }
}

/** New at each start of a load. */
const sessionName = `${process.pid}-${Date.now().toString(36)}`
