import { serveFunctions } from '#bench/harness/remote-functions'
import type { ServerTarget } from '#bench/harness/server-target'
import { request } from '#bench/http'
import { count, type EndCounts } from '#bench/load/end-counts'
import { EventClient } from '#bench/proof/overload/event-client'
import { pass } from '#bench/time'

/**
 * Dashboards that subscribe to everything, and read nothing after the upgrade, until the server closes them. The close
 * code only reaches a client that reads again within a short time; so some do whenever the server's metrics count
 * further closes.
 */
export interface StalledDashboardsOptions extends ServerTarget {
  readonly sockets: number
}

/** Pinged every half minute, closed after two minutes, plus time for clients that accepted some bytes at first. */
const deadWithinS = 155
const pollEveryMs = 500
/** When no more dashboards are closed for this time, some of them read again. */
const quietMs = 1_500
/** The share that reads again each time. */
const readersShare = 0.05
/** The server leaves them 10 s to read the rest, and then resets the connection. */
const cutWithinMs = 13_000
const readMsMax = 10_000

interface Stalled {
  readonly client: EventClient
  hasRead: boolean
}

let options: StalledDashboardsOptions
let all: readonly Stalled[] = []

serveFunctions({
  open(given: StalledDashboardsOptions): void {
    options = given
  },

  async run({ seconds }: { readonly seconds: number }): Promise<EndCounts> {
    const ends: EndCounts = {}
    const startedAt = performance.now()
    all = Array.from({ length: options.sockets }, () => ({ client: new EventClient(), hasRead: false }))
    await Promise.all(all.map((stalled, number) => enter(stalled, number, ends)))
    const inside = all.filter(({ client }) => client.isInside)
    const givenUp = await giveUps(inside, startedAt + Math.min(seconds, deadWithinS) * 1000)
    const late = inside.filter(({ hasRead }) => hasRead)
    for (const each of late) count(ends, `who reads in time: ${endOf(each)}`)
    const isShort = seconds < deadWithinS && givenUp === 0
    // Clients that started to read again were not closed.
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

async function enter({ client }: Stalled, number: number, ends: EndCounts): Promise<void> {
  const refusal = await client.enter({ ...options, number, query: {} })
  if (refusal !== undefined) count(ends, refusal)
  else client.pause()
}

/** Waits until all were closed, or until `over`; some read again after each wave. Returns how many were closed. */
async function giveUps(inside: readonly Stalled[], over: number): Promise<number> {
  let [before, movedAt, seen] = [0, performance.now(), 0]
  while (performance.now() < over && seen < inside.length) {
    await pass(pollEveryMs)
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

/** Reads until they are closed, or for a while. */
async function readAgain(some: readonly Stalled[]): Promise<void> {
  for (const each of some) {
    each.hasRead = true
    each.client.resume()
  }
  const end = performance.now() + readMsMax
  while (some.some(({ client }) => client.isInside) && performance.now() < end) await pass(50)
}

function endOf({ client }: Stalled): string {
  return client.isInside ? 'still connected' : client.end
}

/** The server's own count. */
async function givenUpSoFar(): Promise<number> {
  const { text } = await request(`http://127.0.0.1:${options.port}/metrics`)
  return Number(/^ddb_websockets_closed_total\{path="\/events",code="4408"\} (\d+)$/m.exec(text)?.[1] ?? 0)
}
