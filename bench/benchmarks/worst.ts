// Answers: how long the most expensive inputs block the server's event loop: frames of devices in both protocols, bodies of every route filled with the most expensive content, and requests to a tenant at its limits. An input is sent several times; each time the longest run of the loop counts, without the time that other processes had its core. Measured with IAM on and without rate limits for logins. Does not count: work that is split over several turns, work of other threads (hashing, LevelDB), and inputs that are not in these lists.

import { chapters } from '#api/chapters'
import type { RouteEntry } from '#api/route-entry'
import type { Benchmark, Case, CaseResult, Figures, ReportAppendix, Round, Target } from '#bench/harness/benchmark'
import { groupedNumber } from '#bench/harness/report'
import { spreadOf } from '#bench/harness/statistics'
import { bodiesOf, pathOf } from '#bench/worst/bodies'
import { type Fixture, startFixture } from '#bench/worst/fixture'
import { frameSender, frames, protocols } from '#bench/worst/frames'
import { requests } from '#bench/worst/requests'

const runMsMax = 20
const sendsEach = 3
/** After a run of this length, the other forms of a body are not tried. */
const hopelessMs = 10 * runMsMax

/** One server for all inputs: a full tenant is expensive to create. */
let fixture: Fixture | undefined

function sharedFixture(): Fixture {
  if (!fixture) throw new Error('no server was started')
  return fixture
}

/** `prepare` makes the next input to measure. */
async function sent({ isQuick }: Round, prepare: () => Promise<() => Promise<unknown>>): Promise<Figures> {
  const runs: number[] = []
  for (let count = 0; count < (isQuick ? 1 : sendsEach); count++)
    runs.push(await sharedFixture().longest(await prepare()))
  const { median, max } = spreadOf(runs)
  return { run: median, longest: max }
}

const deviceFrames: Case = {
  name: 'frames of 256 KiB',
  variants: frames.flatMap((input, place) =>
    protocols.map((protocol) => ({
      name: `${input.name}, ${protocol}`,
      async measure(round: Round) {
        const sender = frameSender(sharedFixture(), input, protocol, `F${place}-${protocol}-${round.number}`)
        try {
          return await sent(round, () => sender.prepare())
        } finally {
          sender.close()
        }
      },
    })),
  ),
}

const routes = chapters.flatMap(({ entries }) => entries).filter(({ body }) => body && !body.isStreamed)

const bodies: Case = {
  name: 'bodies of 1 MiB, or what the route takes, in the worst of their forms',
  variants: routes.map((entry) => ({
    name: `${entry.method} ${entry.path}`,
    measure: (round) => worstBody(entry, round),
  })),
}

/** Sends each form once, up to a hopeless one, and then the most expensive form again. A quick round tries one form. */
async function worstBody(entry: RouteEntry, round: Round): Promise<Figures> {
  const { request, longest } = sharedFixture()
  const types = entry.body?.contentTypes
  const headers = { 'content-type': (typeof types === 'object' ? types[0] : undefined) ?? 'application/json' }
  let worst = { run: 0, form: '', send: async (): Promise<unknown> => undefined }
  for (const { form, text } of bodiesOf(entry)) {
    const send = () => request(entry.method, pathOf(entry), text, headers).catch(ignoreEarlyClose)
    const run = await longest(send)
    if (run > worst.run) worst = { run, form, send }
    if (round.isQuick || run > hopelessMs) break
  }
  worstForms.set(entry.name, worst.form)
  return sent(round, async () => worst.send)
}

/** The server may refuse a body and close the connection while the rest is being sent. */
function ignoreEarlyClose(error: NodeJS.ErrnoException): void {
  if (error.code !== 'EPIPE' && error.code !== 'ECONNRESET') throw error
}

const worstForms = new Map<string, string>()

const fullTenant: Case = {
  name: 'requests to a full tenant',
  variants: requests.map(({ input, prepare }) => ({
    name: input,
    async measure(round) {
      const send = await prepare(sharedFixture())
      return sent(round, async () => send)
    },
  })),
}

const cases = [deviceFrames, bodies, fullTenant]

/** The most expensive inputs of each case; security.md quotes most of them. */
function costliest(results: readonly CaseResult[]): ReportAppendix {
  const lines = results.flatMap(({ name, variants }) => {
    const measured = variants.flatMap(({ name: input, figures: { run } }) =>
      run ? [{ input, median: run.median }] : [],
    )
    const worst = measured.sort((one, other) => other.median - one.median).slice(0, costliestCount)
    return worst.map(({ input, median }) => {
      const entry = routes.find(({ method, path }) => `${method} ${path}` === input)
      const form = entry ? `, ${worstForms.get(entry.name)}` : ''
      const verdict = median <= runMsMax ? 'ok' : '**over**'
      return `| ${name} | ${input}${form} | ${groupedNumber(median, 1)} | ${runMsMax} | ${verdict} |`
    })
  })
  const head = [
    '## The most expensive of each kind',
    '',
    '| kind | input | ms in one go | bound, ms | |',
    '|---|---|---:|---:|---|',
  ]
  return { markdown: [...head, ...lines].join('\n') }
}

const costliestCount = 8

export const worst: Benchmark = {
  rounds: 1,
  figures: {
    run: { title: 'longest run, ms', digits: 1 },
    longest: { title: 'the longest of all, ms', digits: 1 },
  },
  cases,
  targets: cases.map(({ name }): Target => ({ case: name, figure: 'run', atMost: runMsMax })),
  appendix: costliest,
  async setUp() {
    fixture = await startFixture()
    return async () => {
      await fixture?.stop()
      fixture = undefined
    }
  },
}
