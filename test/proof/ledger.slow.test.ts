import { describe, expect, test } from 'vitest'
import type { HttpAnswer } from '#bench/http'
import { Ledger, type LedgerKind } from '#bench/proof/clerks/ledger'
import { ProofApi } from '#bench/proof/clerks/proof-api'
import { SeededRandom } from '#bench/random'

/** The books of the kill proof against a server that is told what to forget: they must notice. */

interface Thing {
  readonly id: string
  readonly held: string
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
      this.things.set(slot, { id, held: (body as { held: string }).held })
    }
    if (isCut) throw new Error('killed before it answered')
    return { status: 200, headers: {}, text: JSON.stringify({ id: this.things.get(slot)?.id ?? null }) }
  }
}

const kind: LedgerKind = {
  name: 'things',
  slots: ['one', 'two'],
  pauseMs: 0,
  told: (event) => (typeof event.text === 'string' ? event.text : undefined),
  wish(slot, before, number) {
    if (before && number % 5 === 0) return { method: 'DELETE', path: `/${slot}`, held: undefined }
    const held = `${slot} ${number}`
    return { method: 'PUT', path: `/${slot}`, body: { held }, held, told: held }
  },
  async look(api) {
    return new Map((api as ForgetfulServer).things)
  },
}

async function life(server: ForgetfulServer, ledger: Ledger, answers: number): Promise<readonly string[]> {
  server.killAfter(answers)
  // Each clerk ends at the first request that nobody answers.
  await ledger.work(() => false)
  server.start()
  return ledger.settle()
}

function opened(own: Partial<LedgerKind> = {}): { server: ForgetfulServer; ledger: Ledger } {
  const server = new ForgetfulServer()
  let number = 0
  return { server, ledger: new Ledger({ ...kind, ...own }, server, new SeededRandom(1), () => ++number) }
}

describe('books about what a server acknowledged', () => {
  test.each([false, true])('agree with one that forgets nothing; the last request done: %s', async (isDone) => {
    const { server, ledger } = opened()
    server.isDoneUnanswered = isDone
    for (let round = 0; round < 20; round++) expect(await life(server, ledger, 7)).toEqual([])
    expect(ledger.counts.acknowledged).toBeGreaterThan(100)
    expect(ledger.counts.landed > 0).toBe(isDone)
  })

  test.each<[string, (things: Map<string, Thing>, before: Thing | undefined) => void, RegExp]>([
    ['nothing of a slot', (things) => things.delete('one'), /one holds nothing, and "one \d+" was acknowledged/],
    ['an earlier state', (things, before) => before && things.set('one', before), /one holds "one \d+", and "one \d+"/],
    [
      'another id',
      (things) => things.set('one', { ...(things.get('one') as Thing), id: 'ZZZZZZZZZZ' }),
      /one was \w+, and is ZZZZZZZZZZ/,
    ],
  ])('find where a killed server has %s', async (_, forget, said) => {
    const { server, ledger } = opened({ slots: ['one'] })
    // It dies between two requests: all were answered.
    const work = (answers: number) => {
      server.killAfter(answers)
      return ledger.work(() => server.isDead)
    }
    await work(4)
    const before = server.things.get('one')
    await work(8)
    server.start()
    forget(server.things, before)
    expect((await ledger.settle()).join()).toMatch(said)
  })

  test('say to whom it matters that nobody knows what became of it', async () => {
    const heard: number[] = []
    for (const status of [200, 409, 503, 504]) {
      const refused = () => heard.push(status)
      const { server, ledger } = opened({
        slots: ['one'],
        busy: [409],
        wish: (...asked) => ({ ...kind.wish(...asked), refused }),
      })
      server.ask = async () => ({ status, headers: {}, text: '' })
      await ledger.takeTurns(() => {})
      server.ask = ForgetfulServer.prototype.ask
      expect(ledger.counts.acknowledged).toBe(status === 200 ? 1 : 0)
    }
    expect(heard).toEqual([503, 504])
  })

  test('find an id that is given again', async () => {
    const { server, ledger } = opened()
    await life(server, ledger, 2)
    const [first] = server.things.values()
    for (const slot of kind.slots) server.things.set(slot, { held: slot, id: first?.id ?? '' })
    expect((await ledger.settle()).length).toBeGreaterThan(0)
  })

  test('find what the stream did not tell, told twice, or made up', async () => {
    const { server, ledger } = opened()
    await life(server, ledger, 6)
    const told = ledger.mustHaveTold
    expect(ledger.untold(true)).toHaveLength(Math.min(5, told.length))
    for (const text of told) ledger.hear({ text })
    expect(ledger.untold(true)).toEqual([])
    ledger.hear({ text: told[0] })
    ledger.hear({ text: 'made up' })
    expect(ledger.untold(false)).toEqual(ledger.untold(true))
    expect(ledger.untold(true)).toEqual([
      `things: ${told[0]} was acknowledged, and told 2 times`,
      'things: made up was told, and never asked for',
    ])
  })

  test('let somebody who fell behind be spared values, and nothing else', async () => {
    for (const mayBeSpared of [true, false]) {
      const { server, ledger } = opened({ mayBeSpared })
      await life(server, ledger, 6)
      expect(ledger.untold(true).length).toBeGreaterThan(0)
      expect(ledger.untold(false).length > 0).toBe(!mayBeSpared)
    }
  })
})
