import { isDeepStrictEqual } from 'node:util'
import { Packr } from 'msgpackr'
import { expect } from 'vitest'
import type { StartedServer } from '#test/blackbox/started-server'
import { until } from '#test/blackbox/until'
import { WebsocketClient } from '#test/blackbox/websocket-client'

export type Protocol = 'json' | 'msgpack'
export type Fields = Readonly<Record<string, unknown>>

export interface Welcome {
  readonly flakeAddress: number
  readonly deviceIdentifier: string
  readonly seq: number
  readonly window: number
  readonly timestamp: number
  readonly secret?: string
}

export interface Declaration {
  readonly serviceIdentifier: string
  readonly properties: readonly Fields[]
}

const packr = new Packr({ useRecords: false, int64AsType: 'number' })

function encode(protocol: Protocol, frame: unknown): string | Buffer {
  return protocol === 'json' ? JSON.stringify(frame) : packr.pack(frame)
}

/** A device connection of contract 7. Received frames wait until `take` removes them. */
export class LinkClient extends WebsocketClient {
  readonly protocol: Protocol
  readonly waiting: (Fields | unknown[])[] = []

  constructor(
    server: Pick<StartedServer, 'ws'>,
    protocol: Protocol,
    protocols = [`link.v1.${protocol}`],
    headers: Readonly<Record<string, string>> = {},
  ) {
    super(`${server.ws}/link`, protocols, headers)
    this.protocol = protocol
    this.socket.on('message', (data: Buffer, isBinary: boolean) => {
      expect(isBinary).toBe(protocol === 'msgpack')
      this.waiting.push(protocol === 'json' ? JSON.parse(data.toString()) : packr.unpack(data))
    })
  }

  static async open(server: StartedServer, protocol: Protocol): Promise<LinkClient> {
    return new LinkClient(server, protocol).opened()
  }

  send(...frames: unknown[]): void {
    this.sendRaw(...frames.map((frame) => encode(this.protocol, frame)))
  }

  /** Sends all frames in as few packets as possible. */
  sendRaw(...frames: (string | Uint8Array)[]): void {
    const { _socket: tcp } = this.socket as unknown as { _socket: { cork(): void; uncork(): void } }
    tcp.cork()
    for (const frame of frames) this.socket.send(frame)
    tcp.uncork()
  }

  /** Removes the first waiting frame with these fields, or waits until such a frame is received. */
  async take(like: Fields | unknown[]): Promise<Fields> {
    const wanted = Object.entries(like)
    const isLike = (frame: Fields | unknown[]) =>
      wanted.every(([key, value]) => isDeepStrictEqual((frame as Fields)[key], value))
    const place = await until(
      () => {
        const found = this.waiting.findIndex(isLike)
        if (found < 0 && this.closing)
          throw new Error(`closed with ${this.closing.code} before ${JSON.stringify(like)}`)
        return found < 0 ? undefined : { found }
      },
      () => `${JSON.stringify(like)} among ${JSON.stringify(this.waiting.slice(0, 20))}`,
    )
    return this.waiting.splice(place.found, 1)[0] as Fields
  }

  async hello(deviceIdentifier: string, services: readonly Declaration[], more: Fields = {}): Promise<Welcome> {
    this.send({ type: 'HELLO', deviceIdentifier, services, ...more })
    const welcome = await this.take({ type: 'WELCOME', deviceIdentifier: deviceIdentifier.toUpperCase() })
    return welcome as unknown as Welcome
  }

  /** Sends UPDATEs of a service in the long form, numbered from `seq`, and waits until the last one is acknowledged. */
  async report(flakeAddress: number, seq: number, serviceIdentifier: string, ...updates: Fields[][]): Promise<void> {
    this.send(
      ...updates.map((each, index) => ({
        type: 'UPDATE',
        flakeAddress,
        seq: seq + index,
        serviceIdentifier,
        updates: each,
      })),
    )
    await this.acknowledged(flakeAddress, seq + updates.length - 1)
  }

  /** Waits until `seq` is acknowledged. An ACK acknowledges all numbers up to the number that it has. */
  async acknowledged(flakeAddress: number, seq: number): Promise<void> {
    for (;;) {
      const ack = (await this.take({ type: 'ACK', flakeAddress })) as { seq: number }
      if (ack.seq >= seq) return
    }
  }
}
