import { randomUUID } from 'node:crypto'
import { answerWith } from '#bench/harness/answering'
import { asked } from '#bench/harness/identity'
import type { LoadedServer } from '#bench/harness/under-load'
import { frameLengthOf, opcodeAt, opcodes } from '#bench/load/frames'
import { MessageCounter } from '#bench/load/messages'
import { count, type Ends } from '#bench/proof/overload/ends'
import { Guest } from '#bench/proof/overload/guest'

/**
 * Dashboards that come all at once and stay. They hear of new descriptions of services alone, of which there is one now and
 * then: each of them has to hear of each of those, once.
 */
export interface CrowdOptions extends LoadedServer {
  readonly sockets: number
}

const query = { types: 'SCHEMA_ADD' }
const tellEveryMs = 5_000
const answerMsMax = 20_000

interface Listener {
  readonly guest: Guest
  /** Messages heard. */
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
    listeners = Array.from({ length: options.sockets }, () => ({ guest: new Guest(), texts: 0 }))
    await Promise.all(listeners.map((listener, number) => enter(listener, number, ends)))
    const told = await tellUntil(over)
    count(ends, 'cut', listeners.filter(({ guest }) => guest.isCut).length)
    const inside = listeners.filter(({ guest }) => guest.isInside)
    const heard = await hearing(inside, told, ends)
    // A socket that has heard all of it may be dead all the same.
    for (const { guest } of heard) guest.say('{"type":"PING"}')
    const answered = await hearing(heard, told + 1, ends)
    count(ends, 'told to the end', answered.length)
    return ends
  },

  close(): void {
    for (const { guest } of listeners) guest.leave()
  },
})

async function enter(listener: Listener, number: number, ends: Ends): Promise<void> {
  const counter = new MessageCounter(frameLengthOf, (bytes, at) => {
    if (opcodeAt(bytes, at) === opcodes.ping) listener.guest.pong()
  })
  const received = (bytes: Buffer) => {
    listener.texts += counter.push(bytes)
  }
  const refusal = await listener.guest.enter({ ...options, number, query, received })
  if (refusal !== undefined) count(ends, refusal)
}

/** Describes services until `over`, on the monotonic clock; one at least. Answers how many. */
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

/** Who has heard so many messages in time; the others, and who has heard more, are counted. */
async function hearing(from: readonly Listener[], texts: number, ends: Ends): Promise<readonly Listener[]> {
  const end = performance.now() + answerMsMax
  while (from.some((each) => each.texts < texts) && performance.now() < end) {
    await new Promise((resolve) => setTimeout(resolve, 50))
  }
  count(ends, 'told too little', from.filter((each) => each.texts < texts).length)
  count(ends, 'told too much', from.filter((each) => each.texts > texts).length)
  return from.filter((each) => each.texts === texts)
}
