import { answerWith } from '#bench/harness/answering'
import type { LoadedServer } from '#bench/harness/under-load'
import { FrameCounter } from '#bench/load/frame-counter'
import { clientFrame, opcodes } from '#bench/load/frames'
import { RawSocket } from '#bench/load/raw-socket'
import { count, type Ends } from '#bench/proof/overload/ends'
import { localAddressOf, unanswered } from '#bench/proof/overload/lone-request'

/** Dashboards that come all at once and stay. */
export interface CrowdOptions extends LoadedServer {
  readonly sockets: number
  /** Of the upgrade. */
  readonly query: Readonly<Record<string, string>>
  /** They read nothing behind the upgrade. Else each is asked at the end whether it is still told. */
  readonly isStalled: boolean
}

const openMsMax = 60_000
const answerMsMax = 20_000
const readBytes = 64 * 1024
const nothing = new Uint8Array(0)

interface Guest {
  socket?: RawSocket
  /** Messages heard. */
  texts: number
  isClosed: boolean
}

let options: CrowdOptions
let guests: readonly Guest[] = []
let isOver = false

answerWith({
  open(asked: CrowdOptions): void {
    options = asked
  },

  async run({ seconds }: { readonly seconds: number }): Promise<Ends> {
    const ends: Ends = {}
    const startedAt = performance.now()
    guests = Array.from({ length: options.sockets }, () => ({ texts: 0, isClosed: false }))
    await Promise.all(guests.map((guest, number) => enter(guest, number, ends)))
    const restMs = seconds * 1000 - (performance.now() - startedAt)
    await new Promise((resolve) => setTimeout(resolve, Math.max(0, restMs)))
    const inside = guests.filter(({ socket, isClosed }) => socket && !isClosed)
    count(ends, 'cut', guests.filter(({ socket, isClosed }) => socket && isClosed).length)
    if (options.isStalled) count(ends, 'stalled', inside.length)
    else count(ends, 'told to the end', await answering(inside, ends))
    return ends
  },

  close(): void {
    isOver = true
    for (const { socket } of guests) socket?.close()
  },
})

async function enter(guest: Guest, number: number, ends: Ends): Promise<void> {
  const { port, authorizations, query, isStalled } = options
  const counter = new FrameCounter(() => guest.socket?.write(clientFrame(nothing, opcodes.pong)))
  const opening = RawSocket.open({
    port,
    path: `/api/v1/events?${new URLSearchParams(query)}`,
    authorization: authorizations?.person,
    localAddress: localAddressOf(number),
    readBytes,
    received: (bytes) => {
      guest.texts += counter.push(bytes)
    },
    closed: () => {
      if (!isOver) guest.isClosed = true
    },
  }).then(
    (socket) => {
      guest.socket = socket
      if (isStalled) socket.pause()
    },
    (error: Error) => count(ends, /HTTP\/1\.1 (\d{3})/.exec(error.message)?.[1] ?? unanswered.outside),
  )
  let timer: NodeJS.Timeout | undefined
  const late = new Promise<void>((resolve) => {
    timer = setTimeout(() => {
      count(ends, unanswered.silent)
      resolve()
    }, openMsMax)
  })
  await Promise.race([opening, late]).finally(() => clearTimeout(timer))
}

/** How many answer when they are asked: a socket that is open may be dead all the same. */
async function answering(inside: readonly Guest[], ends: Ends): Promise<number> {
  const before = inside.map(({ texts }) => texts)
  for (const { socket } of inside) socket?.write(clientFrame(Buffer.from('{"type":"PING"}'), opcodes.text))
  const answered = () => inside.filter(({ texts }, place) => texts > (before[place] as number)).length
  const end = performance.now() + answerMsMax
  while (answered() < inside.length && performance.now() < end) await new Promise((resolve) => setTimeout(resolve, 50))
  const told = answered()
  count(ends, 'open, and silent', inside.length - told)
  return told
}
