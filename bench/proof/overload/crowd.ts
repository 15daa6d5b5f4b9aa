import { randomUUID } from 'node:crypto'
import { answerWith } from '#bench/harness/answering'
import { asked } from '#bench/harness/identity'
import type { LoadedServer } from '#bench/harness/under-load'
import { count, type Ends } from '#bench/proof/overload/ends'
import { EventClient } from '#bench/proof/overload/event-client'

/**
 * Dashboards that connect at the same time and stay. They only receive events about new service descriptions, which are
 * rare: each must receive each of them once.
 */
export interface CrowdOptions extends LoadedServer {
  readonly sockets: number
}

const query = { types: 'SCHEMA_ADD' }
const tellEveryMs = 5_000
const answerMsMax = 20_000

interface Listener {
  readonly client: EventClient
  /** Number of received messages. */
  texts: number
}

let options: CrowdOptions
let listeners: readonly Listener[] = []

answerWith({
  open(given: CrowdOptions): void {
    options = given
  },

  async run({ seconds }: { readonly seconds: number }): Promise<Ends> {
    const ends: Ends = {}
    const over = performance.now() + seconds * 1000
    listeners = Array.from({ length: options.sockets }, () => ({ client: new EventClient(), texts: 0 }))
    await Promise.all(listeners.map((listener, number) => enter(listener, number, ends)))
    const told = await tellUntil(over)
    count(ends, 'cut', listeners.filter(({ client }) => client.isCut).length)
    const inside = listeners.filter(({ client }) => client.isInside)
    const heard = await hearing(inside, told, ends)
    // A socket that has received everything may be dead since.
    for (const { client } of heard) client.say('{"type":"PING"}')
    const answered = await hearing(heard, told + 1, ends)
    count(ends, 'told to the end', answered.length)
    return ends
  },

  close(): void {
    for (const { client } of listeners) client.leave()
  },
})

async function enter(listener: Listener, number: number, ends: Ends): Promise<void> {
  const heard = () => {
    listener.texts++
  }
  const refusal = await listener.client.enter({ ...options, number, query, heard })
  if (refusal !== undefined) count(ends, refusal)
}

/** Creates descriptions until `over`, on the monotonic clock; one at least. Returns how many. */
async function tellUntil(over: number): Promise<number> {
  const { port, authorizations } = options
  const body = { name: 'Told to a crowd', properties: {} }
  let told = 0
  do {
    await asked(port, `/schemas/${randomUUID()}`, { person: authorizations?.person, body, method: 'PUT' })
    told++
    await new Promise((resolve) => setTimeout(resolve, Math.min(tellEveryMs, Math.max(0, over - performance.now()))))
  } while (performance.now() < over)
  return told
}

/** Returns dashboards that received this number of messages in time; counts those that received fewer or more. */
async function hearing(from: readonly Listener[], texts: number, ends: Ends): Promise<readonly Listener[]> {
  const end = performance.now() + answerMsMax
  while (from.some((each) => each.texts < texts) && performance.now() < end) {
    await new Promise((resolve) => setTimeout(resolve, 50))
  }
  count(ends, 'told too little', from.filter((each) => each.texts < texts).length)
  count(ends, 'told too much', from.filter((each) => each.texts > texts).length)
  return from.filter((each) => each.texts === texts)
}
