import { get } from 'node:http'
import { identifierOf } from '#bench/load/fleet-link'
import { numberOf } from '#bench/load/update-template'

/** What the devices of a load must show at least. */
export interface Expected {
  readonly options: { readonly devices: number; readonly prefix: string; readonly properties: number }
  /** What the last acknowledged frame of each device carried. */
  readonly numbers: Float64Array
}

interface ReadDevice {
  readonly deviceIdentifier: string
  readonly services: readonly { readonly properties: Readonly<Record<string, number>> }[]
}

/** Every device begins so, and nothing inside one does. */
const deviceStart = '{"deviceIdentifier":'

/**
 * Reads the whole state as plain values while it comes, and holds each device against what was acknowledged: all of them
 * are there, in the order of their names, each with one whole frame that is not older than the last acknowledged one.
 */
export class DevicesRead {
  devices = 0
  readonly #expected: Expected
  #rest = ''

  constructor(expected: Expected) {
    this.#expected = expected
  }

  /** Resolves after the last byte, with the Unix ms of the first one. Rejects when something is missing or wrong. */
  async run(port: number): Promise<number> {
    const url = `http://127.0.0.1:${port}/api/v1/devices?depth=2&raw=false`
    return await new Promise((resolve, reject) => {
      const asked = get(url, { agent: false }, (answer) => {
        if (answer.statusCode !== 200) reject(new Error(`GET /devices: ${answer.statusCode}`))
        let startedAt = 0
        answer.setEncoding('latin1')
        answer.on('data', (text: string) => {
          startedAt ||= performance.timeOrigin + performance.now()
          try {
            this.push(text)
          } catch (error) {
            reject(error)
            asked.destroy()
          }
        })
        answer.on('error', reject)
        answer.on('end', () => {
          try {
            this.end()
            resolve(startedAt)
          } catch (error) {
            reject(error)
          }
        })
      })
      asked.on('error', reject)
    })
  }

  push(text: string): void {
    const input = this.#rest + text
    let start = input.indexOf(deviceStart)
    for (let next = start; start >= 0; start = next) {
      next = input.indexOf(deviceStart, start + deviceStart.length)
      if (next < 0) break
      // Between two devices stands a comma.
      this.#device(input.slice(start, next - 1))
    }
    this.#rest = start < 0 ? input : input.slice(start)
  }

  end(): void {
    if (!this.#rest.endsWith(']')) throw new Error('the answer broke off')
    if (this.#rest.startsWith(deviceStart)) this.#device(this.#rest.slice(0, -1))
    const { devices } = this.#expected.options
    if (this.devices !== devices) throw new Error(`the answer shows ${this.devices} of ${devices} devices`)
  }

  #device(text: string): void {
    const { options, numbers } = this.#expected
    const place = this.devices++
    const { deviceIdentifier, services } = JSON.parse(text) as ReadDevice
    const expected = identifierOf(options.prefix, place)
    if (deviceIdentifier !== expected) throw new Error(`${deviceIdentifier} stands where ${expected} should`)
    const values = Object.values(services[0]?.properties ?? {}).map(numberOf)
    if (values.length !== options.properties) throw new Error(`${deviceIdentifier} shows ${values.length} values`)
    // A frame's values descend by one to the number that it carries.
    const number = values.at(-1) as number
    const isWhole = values.every((value, index) => value === number + values.length - 1 - index)
    if (!isWhole) throw new Error(`${deviceIdentifier} shows parts of several frames: ${values.join(', ')}`)
    const acknowledged = numbers[place] as number
    if (number < acknowledged)
      throw new Error(`${deviceIdentifier} shows frame ${number}; ${acknowledged} was acknowledged`)
  }
}
