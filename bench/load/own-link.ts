import { reportingHello, serviceIdentifier } from '#bench/load/fleet-link'
import { clientFrame, frameLengthOf, opcodes, payloadAt } from '#bench/load/frames'
import { firstSequence, sampleDigits } from '#bench/load/peer-link'
import type { Protocol } from '#bench/load/protocol'
import { type Step, upgradeStep } from '#bench/load/raw-socket'
import { firstPropId } from '#bench/load/update-template'

/** The flake address of each device, from its WELCOME. */
const addresses = new Map<string, string>()
/** The fixed length of an address, because all messages of a load must have the same length. */
const addressDigits = 12

/** Sends HELLO of all devices, and waits for each WELCOME. */
export function hellosStep(devices: readonly string[], packed: (hello: Buffer) => Buffer): Step {
  const hellos = devices.map((deviceIdentifier) =>
    packed(Buffer.from(JSON.stringify({ type: 'HELLO', deviceIdentifier, ...reportingHello(1) }))),
  )
  return {
    send: Buffer.concat(hellos),
    answered(text) {
      const welcomes = [...text.matchAll(/"flakeAddress":(\d+),"deviceIdentifier":"([^"]+)"[^}]*}/g)]
      if (welcomes.length < devices.length) return 0
      for (const [, address = '', device = ''] of welcomes) addresses.set(device, address)
      return text.length
    },
  }
}

/** UPDATE of one property. `sequence`: the field `seq` with its comma, where the connection needs this field. */
export function updateOf(device: string, sequence = ''): Buffer {
  const address = addresses.get(device)?.padEnd(addressDigits)
  const updates = `[{"propId":${firstPropId},"value":${sampleDigits}}]`
  return Buffer.from(
    `{"type":"UPDATE","flakeAddress":${address},${sequence}"serviceIdentifier":"${serviceIdentifier}","updates":${updates}}`,
  )
}

const acknowledgement = '{"type":"ACK"'

/** This server's device connection in JSON over a websocket. Only ACK counts as a delivery. Contract 7. */
export const ownJson: Protocol = {
  acknowledges: true,
  lengthOf(bytes, at) {
    const length = frameLengthOf(bytes, at)
    if (length <= 0 || at + length > bytes.length) return Math.min(length, 0)
    const from = payloadAt(bytes, at)
    const text = bytes.toString('latin1', from, from + acknowledgement.length)
    if (text !== acknowledgement) throw new Error(bytes.toString('latin1', from, at + length))
    return length
  },
  subscribe: () => [],
  introduce: ({ port, devices }) => [
    upgradeStep({ port, path: '/api/v1/link', protocol: 'link.v1.json' }),
    hellosStep(devices, (hello) => clientFrame(hello, opcodes.text)),
  ],
  publish: (device) => clientFrame(updateOf(device, `"seq":${firstSequence},`), opcodes.text),
}
