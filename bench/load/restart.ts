import { get, type IncomingMessage } from 'node:http'
import { serveFunctions } from '#bench/harness/remote'
import { request } from '#bench/http'
import { LoadFleet, type LoadFleetOptions } from '#bench/load/fleet'
import { identifierOf } from '#bench/load/fleet-link'
import { numberOf } from '#bench/load/update-template'
import { sleep, unixMs } from '#bench/time'

export interface StartedServer {
  readonly port: number
  readonly spawnedAt: number
}

interface ReadDevice {
  readonly deviceIdentifier: string
  readonly services: readonly { readonly properties: Readonly<Record<string, number>> }[]
}

/** The text of each device begins with this, which never occurs elsewhere. */
const deviceStart = '{"deviceIdentifier":'

const retryEveryMs = 10
const answerMsMax = 120_000

let fleet: LoadFleet

/** A load whose fleet reports until the server is killed, and which then reads the state of the restarted server. */
serveFunctions({
  /** Sends HELLO for all devices; each reports all its properties. */
  async fill(options: LoadFleetOptions): Promise<void> {
    fleet = new LoadFleet(options)
    await fleet.open()
    fleet.begin()
    while (fleet.numbers.includes(-1)) {
      fleet.check()
      await sleep(50)
    }
    fleet.check()
  },

  /** Sends at full speed until this number of frames is acknowledged; later frames are still in flight. */
  async flood(frames: number): Promise<void> {
    const enough = fleet.acknowledged + frames
    while (fleet.acknowledged < enough) {
      fleet.check()
      await sleep(1)
    }
    fleet.check()
  },

  /** Must be called after the server was killed. Waits for the last bytes of the server, and closes the links. */
  async leave(): Promise<void> {
    await sleep(100)
    fleet.close()
  },

  /** Resolves with the time until the first answer, in ms. */
  async waitForServer({ port, spawnedAt }: StartedServer): Promise<number> {
    while (unixMs() - spawnedAt < answerMsMax) {
      const answer = await request(`http://127.0.0.1:${port}/api/v1/health`).catch(() => undefined)
      if (answer?.status === 200) return unixMs() - spawnedAt
      await sleep(retryEveryMs)
    }
    throw new Error(`no answer within ${answerMsMax / 1000} s`)
  },

  /**
   * Reads the full state, and checks that all devices are there in order, each with its last acknowledged frame or a
   * later one. Resolves with the time until the first bytes, in ms.
   */
  async read({ port, spawnedAt }: StartedServer): Promise<number> {
    const url = `http://127.0.0.1:${port}/api/v1/devices?depth=2&raw=false`
    const answer = await new Promise<IncomingMessage>((resolve, reject) => {
      get(url, { agent: false }, resolve).on('error', reject)
    })
    if (answer.statusCode !== 200) throw new Error(`GET /devices: ${answer.statusCode}`)
    answer.setEncoding('latin1')
    let startedAt = 0
    let rest = ''
    let devices = 0
    for await (const text of answer) {
      startedAt ||= unixMs()
      rest += text
      const last = rest.lastIndexOf(deviceStart)
      for (let start = rest.indexOf(deviceStart); start < last; ) {
        const next = rest.indexOf(deviceStart, start + 1)
        // A comma separates two devices.
        checkDevice(devices++, rest.slice(start, next - 1))
        start = next
      }
      if (last > 0) rest = rest.slice(last)
    }
    if (!rest.endsWith(']')) throw new Error('the answer is incomplete')
    if (rest.startsWith(deviceStart)) checkDevice(devices++, rest.slice(0, -1))
    const expected = fleet.options.devices
    if (devices !== expected) throw new Error(`the answer has ${devices} of ${expected} devices`)
    return startedAt - spawnedAt
  },
})

function checkDevice(place: number, text: string): void {
  const { options, numbers } = fleet
  const { deviceIdentifier, services } = JSON.parse(text) as ReadDevice
  const expected = identifierOf(options.prefix, place)
  if (deviceIdentifier !== expected) throw new Error(`${deviceIdentifier} is in the place of ${expected}`)
  const values = Object.values(services[0]?.properties ?? {}).map(numberOf)
  if (values.length !== options.properties) throw new Error(`${deviceIdentifier} has ${values.length} values`)
  // The last value of a frame is its number.
  const number = values.at(-1) as number
  const isWhole = values.every((value, index) => value === number + values.length - 1 - index)
  if (!isWhole) throw new Error(`${deviceIdentifier} has parts of several frames: ${values.join(', ')}`)
  const acknowledged = numbers[place] as number
  if (number < acknowledged)
    throw new Error(`${deviceIdentifier} has frame ${number}; ${acknowledged} was acknowledged`)
}
