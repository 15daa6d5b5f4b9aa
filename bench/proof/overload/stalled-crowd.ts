import { answerWith } from '#bench/harness/answering'
import type { LoadedServer } from '#bench/harness/under-load'
import { request } from '#bench/http'
import { count, type Ends } from '#bench/proof/overload/ends'
import { EventClient } from '#bench/proof/overload/event-client'

/**
 * Dashboards that are to hear everything, and read nothing behind the upgrade, until the server gives them up. It says so only
 * to who reads again within the moment that it leaves them; so some do, whenever it says in its figures that it has given up
 * more of them.
 */
export interface StalledCrowdOptions extends LoadedServer {
  readonly sockets: number
}

/** Pinged every half minute, dead after two; most of a minute more for who still took something at first. */
const deadWithinS = 155
const lookEveryMs = 500
/** So long none more is given up: then some read again. */
const quietMs = 1_500
/** Of all, each time. */
const readersShare = 0.05
/** The server leaves them 10 s to read what is there, and cuts them off. */
const cutWithinMs = 13_000
const readMsMax = 10_000

interface Stalled {
  readonly client: EventClient
  hasRead: boolean
}

let options: StalledCrowdOptions
let all: readonly Stalled[] = []

answerWith({
  open(given: StalledCrowdOptions): void {
    options = given
  },

  async run({ seconds }: { readonly seconds: number }): Promise<Ends> {
    const ends: Ends = {}
    const startedAt = performance.now()
    all = Array.from({ length: options.sockets }, () => ({ client: new EventClient(), hasRead: false }))
    await Promise.all(all.map((stalled, number) => enter(stalled, number, ends)))
    const inside = all.filter(({ client }) => client.isInside)
    const givenUp = await giveUps(inside, startedAt + Math.min(seconds, deadWithinS) * 1000)
    const late = inside.filter(({ hasRead }) => hasRead)
    for (const each of late) count(ends, `who reads in time: ${endOf(each)}`)
    const isShort = seconds < deadWithinS && givenUp === 0
    // Who came back to life was not given up.
    const alive = late.filter(({ client }) => client.isInside).length
    count(ends, 'given up', givenUp)
    count(ends, isShort ? 'held to the end' : 'not given up', inside.length - givenUp - alive)
    if (isShort) return ends

    await pass(cutWithinMs)
    const deaf = inside.filter(({ hasRead }) => !hasRead).slice(0, readersOf(inside))
    await readAgain(deaf)
    for (const each of deaf) count(ends, `who reads too late: ${endOf(each)}`)
    return ends
  },

  close(): void {
    for (const { client } of all) client.leave()
  },
})

async function enter({ client }: Stalled, number: number, ends: Ends): Promise<void> {
  const refusal = await client.enter({ ...options, number, query: {} })
  if (refusal !== undefined) count(ends, refusal)
  else client.pause()
}

/** Waits until all were given up, or until `over`; some read again behind each time. Answers how many were. */
async function giveUps(inside: readonly Stalled[], over: number): Promise<number> {
  let [before, movedAt, seen] = [0, performance.now(), 0]
  while (performance.now() < over && seen < inside.length) {
    await pass(lookEveryMs)
    const given = await givenUpSoFar()
    if (given > before) [before, movedAt] = [given, performance.now()]
    else if (given > seen && performance.now() - movedAt >= quietMs) {
      seen = given
      await readAgain(inside.filter(({ hasRead }) => !hasRead).slice(0, readersOf(inside)))
    }
  }
  return givenUpSoFar()
}

function readersOf(inside: readonly Stalled[]): number {
  return Math.max(1, Math.round(inside.length * readersShare))
}

/** Until they are closed, or for a while. */
async function readAgain(some: readonly Stalled[]): Promise<void> {
  for (const each of some) {
    each.hasRead = true
    each.client.resume()
  }
  const end = performance.now() + readMsMax
  while (some.some(({ client }) => client.isInside) && performance.now() < end) await pass(50)
}

function endOf({ client }: Stalled): string {
  return client.isInside ? 'told on' : client.end
}

/** As the server counts it. */
async function givenUpSoFar(): Promise<number> {
  const { text } = await request(`http://127.0.0.1:${options.port}/metrics`)
  return Number(/^ddb_websockets_closed_total\{path="\/events",code="4408"\} (\d+)$/m.exec(text)?.[1] ?? 0)
}

const pass = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms))
