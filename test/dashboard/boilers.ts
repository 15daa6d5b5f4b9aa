import { expect } from 'vitest'
import { type Declaration, type Fields, LinkClient } from '#test/blackbox/link-client'
import type { StartedServer } from '#test/blackbox/started-server'

const service = 'boiler'
const temperature = 0x2000
const setpoint = 0x2001
const mode = 0x2002

const schema = {
  name: 'Boiler',
  description: 'A boiler in a cellar',
  properties: {
    '0x2000': { name: 'Temperature', description: 'Of the water', type: 'float', unit: '°C', readonly: true },
    '0x2001': { name: 'Setpoint', description: 'The target', type: 'float', unit: '°C', rangeMin: 5, rangeMax: 90 },
    '0x2002': { name: 'Mode', description: '', type: 'uint8', enum: { 0: { name: 'Off' }, 1: { name: 'Heating' } } },
  },
}

/** The declaration of a boiler. Every fourth boiler is off. */
function declared(number: number): readonly Declaration[] {
  return [
    {
      serviceIdentifier: service,
      properties: [
        { propId: temperature, type: 'FLOAT', value: degreesOf(number), modifier: { isReadOnly: true } },
        { propId: setpoint, type: 'FLOAT', value: 50 },
        { propId: mode, type: 'UINT8', value: number % 4 === 0 ? 0 : 1 },
      ],
    },
  ]
}

/** The first temperature of a boiler, from 20 to 64. */
export function degreesOf(number: number): number {
  return 20 + ((number * 17) % 45)
}

/** So few frames fit into the window of a device connection. */
const framesAtOnce = 50

/** Many boilers on one connection. They refuse the setpoint 13, and start every firmware update. */
export class Boilers {
  readonly #server: StartedServer
  #count = 0
  #link: LinkClient | undefined
  readonly #addresses = new Map<string, number>()
  readonly #sequences = new Map<string, number>()

  constructor(server: StartedServer) {
    this.#server = server
  }

  /** Connects `BOILER-001` and so on, and stores a schema of their service. */
  async connect(count: number): Promise<void> {
    this.#count = count
    expect((await this.#server.ask(`/schemas/${service}`, { method: 'PUT', body: schema })).status).toBe(200)
    await this.reconnect()
  }

  async reconnect(): Promise<void> {
    this.cut()
    const link = await LinkClient.open(this.#server, 'json')
    this.#link = link
    link.socket.on('message', (data: Buffer) => this.#receive(JSON.parse(data.toString())))
    for (let number = 1; number <= this.#count; number++) {
      const identifier = `BOILER-${String(number).padStart(3, '0')}`
      const more = { project: 'boiler', firmwares: [{ firmware: '1.0.0', index: 0 }] }
      const { flakeAddress } = await link.hello(identifier, declared(number), more)
      this.#addresses.set(identifier, flakeAddress)
      this.#sequences.set(identifier, 0)
    }
  }

  /** Reports a temperature, and resolves when it is stored. */
  async report(identifier: string, degrees: number): Promise<void> {
    const flakeAddress = this.#addresses.get(identifier) ?? 0
    await this.#open.report(flakeAddress, this.#next(identifier), service, [{ propId: temperature, value: degrees }])
  }

  /** Reports temperatures of earlier times, as a device after a time without a connection. A text is an error. */
  async reportPast(identifier: string, points: readonly (readonly [at: number, degrees: number | string])[]) {
    const flakeAddress = this.#addresses.get(identifier) ?? 0
    for (let from = 0; from < points.length; from += framesAtOnce) {
      const frames = points.slice(from, from + framesAtOnce).map(([timestamp, degrees]) => {
        const update = {
          propId: temperature,
          ...(typeof degrees === 'string' ? { error: degrees } : { value: degrees }),
        }
        const seq = this.#next(identifier)
        return { type: 'UPDATE', flakeAddress, seq, serviceIdentifier: service, timestamp, updates: [update] }
      })
      this.#open.send(...frames)
      await this.#open.acknowledged(flakeAddress, frames.at(-1)?.seq ?? 0)
    }
  }

  cut(): void {
    this.#link?.cut()
    this.#link = undefined
  }

  #receive({ type, flakeAddress, id, updates }: Fields): void {
    if (type === 'FIRMWARE') {
      const more = [{ status: 'STARTED' }, { status: 'DOWNLOADING', progress: 40 }]
      this.#open.send(...more.map((status) => ({ type: 'FIRMWARE_STATUS', flakeAddress, id, ...status })))
    }
    if (type !== 'WRITE') return
    const identifier = [...this.#addresses].find(([, address]) => address === flakeAddress)?.[0] ?? ''
    const results = (updates as Fields[]).map(({ propId, value }) => {
      const isTaken = propId !== setpoint || value !== 13
      return { propId, status: isTaken ? 'OK' : 'REJECTED', ...(!isTaken && { message: 'unlucky' }) }
    })
    const taken = (updates as Fields[]).filter((_, place) => results[place]?.status === 'OK')
    if (taken.length > 0) {
      const seq = this.#next(identifier)
      this.#open.send({ type: 'UPDATE', flakeAddress, seq, serviceIdentifier: service, updates: taken })
    }
    this.#open.send({ type: 'RESULT', flakeAddress, id, results })
  }

  get #open(): LinkClient {
    if (!this.#link) throw new Error('the boilers are not connected')
    return this.#link
  }

  #next(identifier: string): number {
    const seq = (this.#sequences.get(identifier) ?? 0) + 1
    this.#sequences.set(identifier, seq)
    return seq
  }
}
