import { createServer, type Socket } from 'node:net'
import { serveFunctions } from '#bench/harness/remote'
import { packetTypes } from '#mqtt/control-packets'

/**
 * An MQTT server that does only the minimum: it finds the packets and answers them. It shows the limit of `node:net`,
 * which this server and aedes use too.
 */

function answerTo(first: number, body: Buffer): readonly number[] {
  switch (first >> 4) {
    case packetTypes.connect:
      return [0x20, 2, 0, 0]
    case packetTypes.publish: {
      const identifierAt = 2 + body.readUInt16BE(0)
      const qos = (first >> 1) & 3
      return qos === 0 ? [] : [0x40, 2, body[identifierAt] as number, body[identifierAt + 1] as number]
    }
    case packetTypes.subscribe:
      return [0x90, 3, body[0] as number, body[1] as number, 0]
    case packetTypes.pingreq:
      return [0xd0, 0]
    default:
      return []
  }
}

/** The place of a packet's body, and its end; undefined if the packet is not complete. */
function bodyIn(bytes: Buffer, start: number): { readonly at: number; readonly end: number } | undefined {
  let length = 0
  for (let at = start + 1, shift = 0; at < bytes.length; shift += 7) {
    const byte = bytes[at++] as number
    length |= (byte & 0x7f) << shift
    if (byte < 0x80) return at + length <= bytes.length ? { at, end: at + length } : undefined
  }
  return undefined
}

function serve(socket: Socket): void {
  let rest: Buffer = Buffer.alloc(0)
  socket.on('error', () => {})
  socket.on('data', (data: Buffer) => {
    const bytes = rest.length === 0 ? data : Buffer.concat([rest, data])
    const answers: number[] = []
    let start = 0
    for (let body = bodyIn(bytes, start); body; body = bodyIn(bytes, start)) {
      answers.push(...answerTo(bytes[start] as number, bytes.subarray(body.at, body.end)))
      start = body.end
    }
    rest = bytes.subarray(start)
    if (answers.length > 0) socket.write(Buffer.from(answers))
  })
}

serveFunctions({
  listen: ({ port }: { port: number }) =>
    new Promise((resolve) => {
      createServer({ noDelay: true }, serve).listen(port, '127.0.0.1', () => resolve(process.pid))
    }),
})
