import { describe, expect, test } from 'vitest'
import type { HttpAnswer } from '#bench/http'
import { ExpectedState, type Workload } from '#bench/proof/workloads/expected-state'
import { ProofApi } from '#bench/proof/workloads/proof-api'
import { SeededRandom } from '#bench/random'

interface Thing {
  readonly id: string
  readonly content: string
}

/** A server of things that can be killed and lose state. */
class ForgetfulServer extends ProofApi {
  readonly things = new Map<string, Thing>()
  #createdCount = 0
  #answersLeft = Number.POSITIVE_INFINITY
  /** Whether the request after the last answer is executed. */
  isExecutedUnanswered = false

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
    if (isCut && !(this.isExecutedUnanswered && this.#answersLeft === -1)) throw new Error('no server')
    const slot = path.slice(1)
    const before = this.things.get(slot)
    if (method === 'DELETE') this.things.delete(slot)
    else {
      const id = before?.id ?? `AbcdEfgh${String(++this.#createdCount + 10).replaceAll('0', 'z')}`.slice(-10)
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

async function runUntilKilled(
  server: ForgetfulServer,
  state: ExpectedState,
  answers: number,
): Promise<readonly string[]> {
  server.killAfter(answers)
  // A slot ends at its first request without an answer.
  await state.run(() => false)
  server.start()
  return state.check()
}

function open(own: Partial<Workload> = {}): { server: ForgetfulServer; state: ExpectedState } {
  const server = new ForgetfulServer()
  let number = 0
  return { server, state: new ExpectedState({ ...workload, ...own }, server, new SeededRandom(1), () => ++number) }
}

describe('the expected state', () => {
  test.each([false, true])('agrees with a correct server; the last request is executed: %s', async (isExecuted) => {
    const { server, state } = open()
    server.isExecutedUnanswered = isExecuted
    for (let round = 0; round < 20; round++) expect(await runUntilKilled(server, state, 7)).toEqual([])
    expect(state.counts.things?.acknowledged).toBeGreaterThan(100)
    expect((state.counts.things?.landed ?? 0) > 0).toBe(isExecuted)
  })

  test.each<[string, (things: Map<string, Thing>, before: Thing | undefined) => void, RegExp]>([
    ['lost a slot', (things) => things.delete('one'), /one contains nothing, and "one \d+" was acknowledged/],
    [
      'restored an earlier state',
      (things, before) => before && things.set('one', before),
      /one contains "one \d+", and "one \d+"/,
    ],
    [
      'changed an id',
      (things) => things.set('one', { ...(things.get('one') as Thing), id: 'ZZZZZZZZZZ' }),
      /one had the id \w+, and has ZZZZZZZZZZ/,
    ],
  ])('finds that a killed server has %s', async (_, damage, message) => {
    const { server, state } = open({ slots: ['one'] })
    // It is killed between two requests.
    const work = (answers: number) => {
      server.killAfter(answers)
      return state.run(() => server.isDead)
    }
    await work(4)
    const before = server.things.get('one')
    await work(8)
    server.start()
    damage(server.things, before)
    expect((await state.check()).join()).toMatch(message)
  })

  test('calls onUnavailable if the outcome is unknown', async () => {
    const statuses: number[] = []
    for (const status of [200, 409, 503, 504]) {
      const onUnavailable = () => statuses.push(status)
      const { server, state } = open({
        slots: ['one'],
        busyStatuses: [409],
        nextChange: (...request) => ({ ...workload.nextChange(...request), onUnavailable }),
      })
      server.ask = async () => ({ status, headers: {}, text: '' })
      await state.changeEach()
      server.ask = ForgetfulServer.prototype.ask
      expect(state.counts.things?.acknowledged).toBe(status === 200 ? 1 : 0)
    }
    expect(statuses).toEqual([503, 504])
  })

  test('finds an id that is used twice', async () => {
    const { server, state } = open()
    await runUntilKilled(server, state, 2)
    const [first] = server.things.values()
    for (const slot of workload.slots) server.things.set(slot, { content: slot, id: first?.id ?? '' })
    expect((await state.check()).length).toBeGreaterThan(0)
  })

  test('finds missing, duplicate and unknown events', async () => {
    const { server, state } = open()
    await runUntilKilled(server, state, 6)
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

  test('allows a slow subscriber to miss overwritten values only', async () => {
    for (const isOverridable of [true, false]) {
      const { server, state } = open({ isOverridable })
      await runUntilKilled(server, state, 6)
      expect(state.eventFaults(true).length).toBeGreaterThan(0)
      expect(state.eventFaults(false).length > 0).toBe(!isOverridable)
    }
  })
})
