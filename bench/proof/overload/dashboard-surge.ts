import { randomUUID } from 'node:crypto'
import { callApi } from '#bench/harness/identity'
import { serveFunctions } from '#bench/harness/remote-functions'
import type { ServerTarget } from '#bench/harness/server-target'
import { count, type EndCounts } from '#bench/load/end-counts'
import { EventClient } from '#bench/proof/overload/event-client'
import { pass } from '#bench/time'

/**
 * Dashboards that connect at the same time and stay. They only receive events about new service descriptions, which are
 * rare: each must receive each of them once.
 */
export interface DashboardSurgeOptions extends ServerTarget {
  readonly sockets: number
}

const query = { types: 'SCHEMA_ADD' }
const publishEveryMs = 5_000
const answerMsMax = 20_000

interface Listener {
  readonly client: EventClient
  texts: number
}

let options: DashboardSurgeOptions
let listeners: readonly Listener[] = []

serveFunctions({
  open(given: DashboardSurgeOptions): void {
    options = given
  },

  async run({ seconds }: { readonly seconds: number }): Promise<EndCounts> {
    const ends: EndCounts = {}
    const over = performance.now() + seconds * 1000
    listeners = Array.from({ length: options.sockets }, () => ({ client: new EventClient(), texts: 0 }))
    await Promise.all(listeners.map((listener, number) => enter(listener, number, ends)))
    const published = await publishUntil(over)
    count(ends, 'cut', listeners.filter(({ client }) => client.isCut).length)
    const inside = listeners.filter(({ client }) => client.isInside)
    const onText = await waitForTexts(inside, published, ends)
    // A socket that has received everything may be dead since.
    for (const { client } of onText) client.sendText('{"type":"PING"}')
    const answered = await waitForTexts(onText, published + 1, ends)
    count(ends, 'received everything', answered.length)
    return ends
  },

  close(): void {
    for (const { client } of listeners) client.leave()
  },
})

async function enter(listener: Listener, number: number, ends: EndCounts): Promise<void> {
  const onText = () => {
    listener.texts++
  }
  const refusal = await listener.client.enter({ ...options, number, query, onText })
  if (refusal !== undefined) count(ends, refusal)
}

/** Creates descriptions until `over`, on the monotonic clock; one at least. Returns how many. */
async function publishUntil(over: number): Promise<number> {
  const { port, authorizations } = options
  const body = { name: 'Published to many dashboards', properties: {} }
  let published = 0
  do {
    await callApi(port, `/schemas/${randomUUID()}`, { person: authorizations?.person, body, method: 'PUT' })
    published++
    await new Promise((resolve) => setTimeout(resolve, Math.min(publishEveryMs, Math.max(0, over - performance.now()))))
  } while (performance.now() < over)
  return published
}

/** Returns dashboards that received this number of messages in time; counts those that received fewer or more. */
async function waitForTexts(from: readonly Listener[], texts: number, ends: EndCounts): Promise<readonly Listener[]> {
  const end = performance.now() + answerMsMax
  while (from.some((each) => each.texts < texts) && performance.now() < end) {
    await pass(50)
  }
  count(ends, 'received too little', from.filter((each) => each.texts < texts).length)
  count(ends, 'received too much', from.filter((each) => each.texts > texts).length)
  return from.filter((each) => each.texts === texts)
}
