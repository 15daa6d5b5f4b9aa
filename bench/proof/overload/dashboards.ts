import { randomUUID } from 'node:crypto'
import { callApi } from '#bench/harness/identity'
import { serveFunctions } from '#bench/harness/remote'
import type { ServerTarget } from '#bench/harness/servers'
import { request } from '#bench/http'
import { count, type EndCounts } from '#bench/load/end-counts'
import { clientFrame, opcodes } from '#bench/load/frames'
import type { RawSocket } from '#bench/load/raw-socket'
import { openEventSocket } from '#bench/proof/overload/event-socket'
import { sleep, until } from '#bench/time'

/**
 * Dashboards that connect at the same time. By default they stay, and only receive events about new
 * schemas, which are rare: each dashboard must receive each of these events once. Stalled dashboards subscribe to
 * everything, and read nothing after the upgrade, until the server closes them. The close code only reaches a client
 * that reads again within a short time, so some clients read again each time the server's metrics count further closed dashboards.
 */
interface DashboardsOptions extends ServerTarget {
  readonly sockets: number
  readonly isStalled?: boolean
}

const publishEveryMs = 5_000
const answerMsMax = 20_000
/** The server pings every half minute and closes after two minutes, or later if a client took some bytes at first. */
const deadWithinS = 155
/** When no more dashboards are closed for this time, some of them read again. */
const pollEveryMs = 1_500
/** The share that reads again each time. */
const readersShare = 0.05
/** A closed client has 10 s to read the rest; then the server resets the connection. */
const cutWithinMs = 13_000
const readMsMax = 10_000

interface Listener {
  /** Undefined before the upgrade, and if it was refused. */
  socket?: RawSocket
  /** How the connection ended. */
  end?: string
  texts: number
  hasRead: boolean
}

const isInside = ({ socket, end }: Listener) => socket !== undefined && end === undefined

let options: DashboardsOptions
let all: readonly Listener[] = []
let ends: EndCounts = {}

serveFunctions({
  open(given: DashboardsOptions): void {
    options = given
  },

  async run({ seconds }: { readonly seconds: number }): Promise<EndCounts> {
    ends = {}
    const startedAt = performance.now()
    all = Array.from({ length: options.sockets }, () => ({ texts: 0, hasRead: false }))
    await Promise.all(all.map(enter))
    if (options.isStalled) await readNothing(seconds, startedAt)
    else await readEverything(startedAt + seconds * 1000)
    return ends
  },

  close(): void {
    for (const { socket } of all) socket?.close()
  },
})

async function enter(listener: Listener, number: number): Promise<void> {
  const onText = () => {
    listener.texts++
  }
  const closed = (how: string) => {
    listener.end = how
  }
  const query = options.isStalled ? {} : { types: 'SCHEMA_ADD' }
  const opened = await openEventSocket({ ...options, number, query, onText, closed })
  if (typeof opened === 'string') {
    count(ends, opened)
    return
  }
  listener.socket = opened
  if (options.isStalled) opened.pause()
}

async function readEverything(over: number): Promise<void> {
  const published = await publishUntil(over)
  count(ends, 'cut', all.filter(({ end }) => end !== undefined).length)
  const received = await waitForTexts(all.filter(isInside), published)
  // A socket that has received everything may be dead by now.
  for (const { socket } of received) socket?.write(clientFrame(Buffer.from('{"type":"PING"}'), opcodes.text))
  count(ends, 'received everything', (await waitForTexts(received, published + 1)).length)
}

/** Creates schemas until `performance.now()` reaches `over`, at least one. Returns their number. */
async function publishUntil(over: number): Promise<number> {
  const { port, authorizations } = options
  const body = { name: 'Published to many dashboards', properties: {} }
  let published = 0
  do {
    await callApi(port, `/schemas/${randomUUID()}`, { person: authorizations?.person, body, method: 'PUT' })
    published++
    await sleep(Math.min(publishEveryMs, Math.max(0, over - performance.now())))
  } while (performance.now() < over)
  return published
}

/** Returns dashboards that received this number of messages in time; counts those that received fewer or more. */
async function waitForTexts(from: readonly Listener[], texts: number): Promise<readonly Listener[]> {
  await until(() => from.every((each) => each.texts >= texts), answerMsMax, 50)
  count(ends, 'received too little', from.filter((each) => each.texts < texts).length)
  count(ends, 'received too much', from.filter((each) => each.texts > texts).length)
  return from.filter((each) => each.texts === texts)
}

async function readNothing(seconds: number, startedAt: number): Promise<void> {
  const inside = all.filter(isInside)
  const givenUp = await closes(inside, startedAt + Math.min(seconds, deadWithinS) * 1000)
  const late = inside.filter(({ hasRead }) => hasRead)
  for (const { end = 'still connected' } of late) count(ends, `reads in time: ${end}`)
  const isShort = seconds < deadWithinS && givenUp === 0
  // These clients read again and stayed connected, so the server did not close them.
  const alive = late.filter(isInside).length
  count(ends, 'closed with 4408', givenUp)
  count(ends, isShort ? 'still open at the end' : 'not closed', inside.length - givenUp - alive)
  if (isShort) return
  await sleep(cutWithinMs)
  for (const { end = 'still connected' } of await readAgain(inside)) count(ends, `reads too late: ${end}`)
}

/** Waits until all were closed, or until `over`; some read again after each group of closes. Returns how many were closed. */
async function closes(inside: readonly Listener[], over: number): Promise<number> {
  let [before, seen] = [0, 0]
  while (performance.now() < over && seen < inside.length) {
    await sleep(pollEveryMs)
    const given = await closedSoFar()
    // The group is complete.
    if (given === before && given > seen) {
      seen = given
      await readAgain(inside)
    }
    before = given
  }
  return closedSoFar()
}

/** Lets some clients that have not read yet read until they are closed, or for a while. */
async function readAgain(inside: readonly Listener[]): Promise<readonly Listener[]> {
  const share = Math.max(1, Math.round(inside.length * readersShare))
  const some = inside.filter(({ hasRead }) => !hasRead).slice(0, share)
  for (const each of some) {
    each.hasRead = true
    each.socket?.resume()
  }
  await until(() => !some.some(isInside), readMsMax, 50)
  return some
}

/** The number of closed dashboards, by the metrics of the server. */
async function closedSoFar(): Promise<number> {
  const { text } = await request(`http://127.0.0.1:${options.port}/metrics`)
  return Number(/^ddb_websockets_closed_total\{path="\/events",code="4408"\} (\d+)$/m.exec(text)?.[1] ?? 0)
}
