import { get, type IncomingMessage } from 'node:http'
import type { LoadFleet } from '#bench/load/fleet'
import { identifierOf } from '#bench/load/fleet-link'
import { numberOf } from '#bench/load/update-template'
import { sleep, unixMs } from '#bench/time'

interface ReadDevice {
  readonly deviceIdentifier: string
  readonly services: readonly { readonly properties: Readonly<Record<string, number>> }[]
}

/** What remains of a closed fleet. */
export type Reported = Pick<LoadFleet, 'options' | 'numbers'>

/** The text of each device begins with this, which never occurs elsewhere. */
const deviceStart = '{"deviceIdentifier":'

/** Sends at full speed until each device has reported all its properties, and this number of frames is acknowledged after. */
export async function flood(fleet: LoadFleet, frames: number): Promise<void> {
  const waitUntil = async (isTrue: () => boolean, pollMs: number) => {
    for (; !isTrue(); await sleep(pollMs)) fleet.check()
  }
  fleet.begin()
  await waitUntil(() => !fleet.numbers.includes(-1), 50)
  const enough = fleet.acknowledged + frames
  await waitUntil(() => fleet.acknowledged >= enough, 1)
  fleet.check()
}

/**
 * Reads the full state, and checks that all devices are there in order, each with its last acknowledged frame or a
 * later one. Resolves with the time of the first bytes, in Unix ms.
 */
export async function readState(port: number, fleet: Reported): Promise<number> {
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
      checkDevice(fleet, devices++, rest.slice(start, next - 1))
      start = next
    }
    if (last > 0) rest = rest.slice(last)
  }
  if (!rest.endsWith(']')) throw new Error('the answer is incomplete')
  if (rest.startsWith(deviceStart)) checkDevice(fleet, devices++, rest.slice(0, -1))
  const expected = fleet.options.devices
  if (devices !== expected) throw new Error(`the answer has ${devices} of ${expected} devices`)
  return startedAt
}

function checkDevice({ options, numbers }: Reported, place: number, text: string): void {
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
