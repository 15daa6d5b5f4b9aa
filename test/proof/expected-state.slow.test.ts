import { describe, expect, test } from 'vitest'
import type { HttpAnswer } from '#bench/http'
import { ExpectedState, type Workload } from '#bench/proof/workloads/expected-state'
import { ProofApi } from '#bench/proof/workloads/proof-api'
import { SeededRandom } from '#bench/random'

/** The expected state of the kill proof, compared with a server that forgets: it must notice. */

interface Thing {
  readonly id: string
  readonly content: string
}

/** Answers as the server does, until it is killed. */
class ForgetfulServer extends ProofApi {
  readonly things = new Map<string, Thing>()
  #made = 0
  #answersLeft = Number.POSITIVE_INFINITY
  /** Of the request after the last answer: done, or not. */
  isDoneUnanswered = false

  constructor() {
    super('http://nowhere', '', '')
  }

  killAfter(answers: number): void {
    this.#answersLeft = answers
  }

  start(): void {
    this.#answersLeft = Number.POSITIVE_INFINITY
  }

  get isDead(): boolean {
    return this.#answersLeft <= 0
  }

  override async ask(method: string, path: string, { body }: { body?: object } = {}): Promise<HttpAnswer> {
    const isCut = this.#answersLeft-- <= 0
    if (isCut && !(this.isDoneUnanswered && this.#answersLeft === -1)) throw new Error('nobody is there')
    const slot = path.slice(1)
    const before = this.things.get(slot)
    if (method === 'DELETE') this.things.delete(slot)
    else {
      const id = before?.id ?? `AbcdEfgh${String(++this.#made + 10).replaceAll('0', 'z')}`.slice(-10)
      this.things.set(slot, { id, content: (body as { content: string }).content })
    }
    if (isCut) throw new Error('killed before it answered')
    return { status: 200, headers: {}, text: JSON.stringify({ id: this.things.get(slot)?.id ?? null }) }
  }
}

const workload: Workload = {
  name: 'things',
  slots: ['one', 'two'],
  pauseMs: 0,
  eventText: (event) => (typeof event.text === 'string' ? event.text : undefined),
  nextChange(slot, before, number) {
    if (before && number % 5 === 0) return { method: 'DELETE', path: `/${slot}`, content: undefined }
    const content = `${slot} ${number}`
    return { method: 'PUT', path: `/${slot}`, body: { content }, content, eventText: content }
  },
  async observe(api) {
    return new Map((api as ForgetfulServer).things)
  },
}

async function life(server: ForgetfulServer, state: ExpectedState, answers: number): Promise<readonly string[]> {
  server.killAfter(answers)
  // Each slot ends at the first request without an answer.
  await state.run(() => false)
  server.start()
  return state.check()
}

function opened(own: Partial<Workload> = {}): { server: ForgetfulServer; state: ExpectedState } {
  const server = new ForgetfulServer()
  let number = 0
  return { server, state: new ExpectedState({ ...workload, ...own }, server, new SeededRandom(1), () => ++number) }
}

describe('the expected state', () => {
  test.each([false, true])('agrees with a server that forgets nothing; the last request done: %s', async (isDone) => {
    const { server, state } = opened()
    server.isDoneUnanswered = isDone
    for (let round = 0; round < 20; round++) expect(await life(server, state, 7)).toEqual([])
    expect(state.counts.things?.acknowledged).toBeGreaterThan(100)
    expect((state.counts.things?.landed ?? 0) > 0).toBe(isDone)
  })

  test.each<[string, (things: Map<string, Thing>, before: Thing | undefined) => void, RegExp]>([
    ['nothing of a slot', (things) => things.delete('one'), /one contains nothing, and "one \d+" was acknowledged/],
    [
      'an earlier state',
      (things, before) => before && things.set('one', before),
      /one contains "one \d+", and "one \d+"/,
    ],
    [
      'another id',
      (things) => things.set('one', { ...(things.get('one') as Thing), id: 'ZZZZZZZZZZ' }),
      /one had the id \w+, and has ZZZZZZZZZZ/,
    ],
  ])('differs where a killed server has %s', async (_, forget, said) => {
    const { server, state } = opened({ slots: ['one'] })
    // It dies between two requests: all were answered.
    const work = (answers: number) => {
      server.killAfter(answers)
      return state.run(() => server.isDead)
    }
    await work(4)
    const before = server.things.get('one')
    await work(8)
    server.start()
    forget(server.things, before)
    expect((await state.check()).join()).toMatch(said)
  })

  test('calls onUnavailable where the outcome is unknown', async () => {
    const statuses: number[] = []
    for (const status of [200, 409, 503, 504]) {
      const onUnavailable = () => statuses.push(status)
      const { server, state } = opened({
        slots: ['one'],
        busyStatuses: [409],
        nextChange: (...asked) => ({ ...workload.nextChange(...asked), onUnavailable }),
      })
      server.ask = async () => ({ status, headers: {}, text: '' })
      await state.changeEach()
      server.ask = ForgetfulServer.prototype.ask
      expect(state.counts.things?.acknowledged).toBe(status === 200 ? 1 : 0)
    }
    expect(statuses).toEqual([503, 504])
  })

  test('finds an id that is given again', async () => {
    const { server, state } = opened()
    await life(server, state, 2)
    const [first] = server.things.values()
    for (const slot of workload.slots) server.things.set(slot, { content: slot, id: first?.id ?? '' })
    expect((await state.check()).length).toBeGreaterThan(0)
  })

  test('finds events that are missing, doubled or made up', async () => {
    const { server, state } = opened()
    await life(server, state, 6)
    const required = state.requiredEvents
    expect(state.eventFaults(true)).toHaveLength(Math.min(5, required.length))
    for (const text of required) state.receive({ text })
    expect(state.eventFaults(true)).toEqual([])
    state.receive({ text: required[0] })
    state.receive({ text: 'made up' })
    expect(state.eventFaults(false)).toEqual(state.eventFaults(true))
    expect(state.eventFaults(true)).toEqual([
      `things: ${required[0]} was acknowledged, and published 2 times`,
      'things: made up was published, and never asked for',
    ])
  })

  test('lets a slow subscriber miss values, and nothing else', async () => {
    for (const isOverridable of [true, false]) {
      const { server, state } = opened({ isOverridable })
      await life(server, state, 6)
      expect(state.eventFaults(true).length).toBeGreaterThan(0)
      expect(state.eventFaults(false).length > 0).toBe(!isOverridable)
    }
  })
})
