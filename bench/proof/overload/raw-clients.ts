import { readFileSync } from 'node:fs'
import { connect, type Socket } from 'node:net'
import { callApi } from '#bench/harness/identity'
import { serveFunctions } from '#bench/harness/remote'
import type { ServerTarget } from '#bench/harness/servers'
import { count, type EndCounts } from '#bench/load/end-counts'
import { localAddressOf, sendSingleRequest, unanswered } from '#bench/load/single-request'
import {
  bodies,
  bodyBytes,
  heads,
  type RawRequest,
  type SlowRequest,
  slowPhases,
  stillOpen,
} from '#bench/proof/overload/raw-requests'
import { sleep } from '#bench/time'

/**
 * Clients that send raw bytes: heads and bodies, on many connections, one request after the other on each; or slow
 * requests, of which each holds its connection as long as the server lets it.
 */
interface RawClientsOptions extends ServerTarget {
  readonly parts: 'heads' | 'bodies' | 'slow'
  /** The number of clients of each kind. */
  readonly each: number
}

const timeoutMs = 90_000
const mib = 1024 * 1024
const piece = Buffer.alloc(64 * 1024, 'a')
const chunk = Buffer.concat([Buffer.from(`${piece.length.toString(16)}\r\n`), piece, Buffer.from('\r\n')])
const dripEveryMs = 1_000
/** The time for clients that read nothing before to read everything. */
const readMsMax = 15_000
const closeFrame = 0x88
/** How many characters of the beginning of an answer are kept. */
const keptCharacters = 16 * 1024
const chunksEnd = '0\r\n\r\n'
/** Fits into the metadata of a device, which may have 64 KiB. */
const noteCharacters = 60 * 1024
/** How many times larger an answer is than the kernel's buffers for a connection. */
const answerBuffers = 2

let options: RawClientsOptions
let requests = 0

serveFunctions({
  async open(given: RawClientsOptions): Promise<void> {
    options = given
    if (given.parts === 'slow') await createMetadata(given)
  },

  async run({ seconds }: { readonly seconds: number }): Promise<EndCounts> {
    const ends: EndCounts = {}
    const over = performance.now() + seconds * 1000
    const { parts, each } = options
    const clients = (run: () => Promise<void>) => Array.from({ length: each }, run)
    const again = async (what: string, request: RawRequest) => {
      do await send(what, request, ends)
      while (performance.now() < over)
    }
    const all =
      parts === 'slow'
        ? Object.entries(slowPhases).flatMap(([what, phase]) =>
            clients(async () => count(ends, `${what}: ${await hold(phase, seconds)}`)),
          )
        : Object.entries(parts === 'heads' ? heads : bodies).flatMap(([what, request]) =>
            clients(() => again(what, request)),
          )
    await Promise.all(all)
    return ends
  },
})

async function send(what: string, { bytes, body }: RawRequest, ends: EndCounts): Promise<void> {
  const { end, sentBytes } = await sendSingleRequest({
    port: options.port,
    bytes: typeof bytes === 'function' ? Buffer.from(bytes(options, requests++), 'latin1') : bytes,
    timeoutMs,
    ...(body && { goOn: (socket, isOver) => pump(socket, isOver, body.isChunked ? chunk : piece) }),
  })
  count(ends, `${what}: ${end}`)
  if (body && sentBytes > body.sentMibMax * mib) count(ends, `${what}: refused after more than ${body.sentMibMax} MiB`)
}

/** Sends as fast as the server reads; checks for an answer before each piece, because a failing write would hide it. */
function pump(socket: Socket, isOver: () => boolean, bytes: Buffer): void {
  let left = bodyBytes
  const write = () => {
    if (isOver() || left <= 0) return
    left -= piece.length
    if (socket.write(bytes)) setImmediate(write)
    else socket.once('drain', () => setImmediate(write))
  }
  write()
}

/** Holds a connection for this time, or until the server must have ended it. Resolves with how it ended. */
async function hold({ bytes, drip, behind, isUnread, withinS }: SlowRequest, seconds: number): Promise<string> {
  const number = requests++
  const localAddress = localAddressOf(number)
  const socket = connect({ host: '127.0.0.1', port: options.port, localAddress, noDelay: true })
  /** The beginning and the end of the received bytes, and their number. */
  let [received, last, receivedBytes] = ['', '', 0]
  let isBehind = false
  let hasFailed = false
  socket.once('connect', () => socket.write(Buffer.from(bytes(options, number), 'latin1')))
  socket.on('error', () => {
    hasFailed = true
  })
  socket.on('data', (piece) => {
    const text = piece.toString('latin1')
    if (received.length < keptCharacters) received += text
    last = (last + text).slice(-chunksEnd.length)
    receivedBytes += piece.length
    if (!behind || isBehind || !behind.received.test(received)) return
    isBehind = true
    received = received.replace(behind.received, '')
    socket.write(Buffer.from(behind.bytes, 'latin1'))
  })
  if (isUnread) socket.pause()
  const dripping = setInterval(() => {
    if (drip !== undefined && !socket.connecting && (!behind || isBehind)) socket.write(drip)
  }, dripEveryMs)
  let isEnded = false
  const ended = new Promise<void>((resolve) => {
    socket.once('close', () => {
      isEnded = true
      resolve()
    })
  })
  await Promise.race([ended, sleep(Math.min(seconds, withinS) * 1000)])
  clearInterval(dripping)
  if (isUnread) {
    socket.resume()
    await Promise.race([ended, sleep(readMsMax)])
  }
  socket.destroy()
  const [head = ''] = received.split('\r\n\r\n', 1)
  const status = /^HTTP\/1\.1 (\d{3})/.exec(head)?.[1]
  const length = /^content-length: (\d+)$/im.exec(head)?.[1]
  const isWhole =
    status === '200' && (length === undefined ? last === chunksEnd : receivedBytes === head.length + 4 + Number(length))
  // The server still has time to end the connection. A client that read nothing must get the whole answer when it reads.
  if (seconds < withinS && (isUnread ? isWhole : !isEnded)) return stillOpen
  if (!isEnded) return 'held for too long'
  if (isBehind) return closeCodeIn(Buffer.from(received, 'latin1')) ?? 'cut without a close frame'
  if (status !== '200') return status ?? (hasFailed ? unanswered.reset : unanswered.closed)
  return `200, ${isWhole ? 'whole' : 'cut'}`
}

/** The close code in the received frames: the close frame follows pings that the client did not answer. */
function closeCodeIn(bytes: Buffer): string | undefined {
  for (let at = 0; at + 2 <= bytes.length; at += 2 + ((bytes[at + 1] as number) & 0x7f)) {
    if (bytes[at] === closeFrame) return `close ${bytes.readUInt16BE(at + 2)}`
  }
  return undefined
}

/** Creates devices with so much metadata that a list of it exceeds the kernel's buffers. */
async function createMetadata({ port, authorizations }: ServerTarget): Promise<void> {
  const devices = Math.ceil((answerBuffers * bufferedBytesMax()) / noteCharacters)
  for (let number = 0; number < devices; number++) {
    const body = { deviceIdentifier: `NOTED-${number}`, meta: { note: 'a'.repeat(noteCharacters) } }
    await callApi(port, '/devices', { person: authorizations?.person, body })
  }
}

/** Size of a connection's send buffer and receive buffer. tcp(7) */
function bufferedBytesMax(): number {
  const largest = (which: string) => Number(readFileSync(`/proc/sys/net/ipv4/${which}`, 'latin1').split(/\s+/)[2])
  // The initial size: the receive buffer of a client that does not read does not grow.
  const first = Number(readFileSync('/proc/sys/net/ipv4/tcp_rmem', 'latin1').split(/\s+/)[1])
  return largest('tcp_wmem') + first
}
