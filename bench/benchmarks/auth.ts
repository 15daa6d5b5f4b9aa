// Answers: what authentication costs: requests with a DPoP proof, with one key and with 10 000 in rotation, with a Bearer token, compared with the same requests with IAM off; and how 200 logins a second delay events, over windows of four seconds with and without logins in rotation. Does not count: making proofs (they are made before the clock runs), the first request of a key or a token, the record once a minute that a session was used, the work of a request after authentication, second factors, refreshes, TLS.

import { type Benchmark, type Case, type Figures, type Round, variantsOf } from '#bench/harness/benchmark'
import { identityOn } from '#bench/harness/identity'
import { costsOf, cpuOf, eventLatencies, eventLatencyForms, formsOf } from '#bench/harness/load-figures'
import {
  type RunningLoad,
  runPairs,
  standardLoad,
  started,
  timesOf,
  underLoad,
  withRemote,
} from '#bench/harness/running-load'
import { ownServer, type RunningServer, type StartServer } from '#bench/harness/servers'
import { type AuthSpec, requestsOfUsers } from '#bench/load/auth'
import type { EndCounts } from '#bench/load/end-counts'
import { loginKinds } from '#bench/load/login-requests'

/** Users sign in before the measurement; another case measures the cost of their passwords. */
const known = ownServer(identityOn, 'harness/cheap-passwords')

async function measureRequests(start: StartServer, spec: AuthSpec): Promise<Figures> {
  const result = await started(start, (server) => requestsOfUsers(server, spec))
  const { seconds, serverCpuSeconds } = result
  const requests = spec.measured
  return {
    requestsPerSecond: requests / seconds,
    requestsPerCpuSecond: requests / serverCpuSeconds,
    serverCpuPerRequest: (serverCpuSeconds / requests) * 1e6,
    ...cpuOf(result),
  }
}

/**
 * The numbers of requests: few enough that all proofs are made and sent within the minute of their validity. Making a
 * proof takes as long as checking it.
 */
function proofsOf({ isQuick }: Round) {
  return isQuick ? { warmup: 500, measured: 2_000 } : { warmup: 10_000, measured: 40_000 }
}

function byProof(name: string, sessionCount: number): Case {
  return {
    name,
    variants: variantsOf({ server: known }, (start, round) => {
      const count = round.isQuick ? Math.min(sessionCount, 250) : sessionCount
      return measureRequests(start, { scheme: 'DPoP', sessionCount: count, ...proofsOf(round) })
    }),
  }
}

/** Both variants receive requests of about the same length; without IAM the server does not read the token. */
const bearer: Case = {
  name: 'Bearer',
  baseline: 'IAM off',
  variants: variantsOf({ 'IAM off': ownServer({ IAM: 'off' }), 'IAM on': known }, (start, { isQuick }) => {
    const phase = isQuick ? { warmup: 1_000, measured: 4_000 } : { warmup: 40_000, measured: 120_000 }
    return measureRequests(start, { scheme: 'Bearer', sessionCount: 1, ...phase })
  }),
}

/** At this share of full speed, the load takes a third of one of two cores. */
const share = 0.3
const loginsName = `events at ${share * 100} % of full speed, with IAM on`
const fullSpeed = 'full speed'
const many = '200 logins/s'
const loginsPerSecond = 200

/** Measures a server with IAM on under the standard load. Passwords have their normal cost. */
function withEvents(
  { isQuick }: Round,
  measure: (load: RunningLoad, server: RunningServer) => Promise<Figures>,
): Promise<Figures> {
  const devices = isQuick ? standardLoad.devices / 10 : standardLoad.devices
  return underLoad(ownServer(identityOn), { ...standardLoad, devices }, measure)
}

function atFullSpeed(round: Round): Promise<Figures> {
  return withEvents(round, async ({ run }) => costsOf(await run(timesOf(round, 2_000, 8_000))))
}

/** Windows without and with logins, in pairs of alternating order, on one server and one fleet. */
function withLogins(round: Round): Promise<Figures> {
  const { isQuick } = round
  const [pairs, warmupMs, measuredMs] = isQuick ? [1, 100, 300] : [4, 500, 4_000]
  const rate = round.earlier(loginsName, fullSpeed, 'framesPerSecond') * share
  return withEvents(round, ({ run }, server) =>
    withRemote('load/logins', async (logins) => {
      const windowMs = warmupMs + measuredMs
      const all = { perSecond: loginsPerSecond, seconds: (windowMs * pairs) / 1000 }
      await logins.ask('open', { ...server, ...all })
      await run({ warmupMs: isQuick ? 0 : 2_000, measuredMs: 100, rate })
      const window = () => run({ warmupMs, measuredMs, rate })
      const arrive = () => logins.ask<EndCounts>('run', { seconds: windowMs / 1000 })
      const together = () => Promise.all([window(), arrive()])
      const { without, during, works: came } = await runPairs(pairs, window, together)
      const perSecond = (status: string) => {
        const times = came.reduce((sum, ends) => sum + (ends[`${loginKinds.right.what}: ${status}`] ?? 0), 0)
        return (times * 1000) / (windowMs * pairs)
      }
      const [signedInPerSecond, refusedPerSecond] = [perSecond('200'), perSecond('503')]
      if (signedInPerSecond + refusedPerSecond < 0.99 * loginsPerSecond)
        throw new Error(`logins ended ${JSON.stringify(came)}`)
      return {
        ...eventLatencies(without, during),
        ...costsOf(...during),
        serverCpuBefore: costsOf(...without).serverCpu as number,
        signedInPerSecond,
        refusedPerSecond,
      }
    }),
  )
}

const logins: Case = {
  name: loginsName,
  variants: variantsOf({ [fullSpeed]: atFullSpeed, [many]: withLogins }, (measure, round) => measure(round)),
}

export const auth: Benchmark = {
  figures: {
    requestsPerSecond: { title: 'requests/s', digits: 0, isOfLoad: true },
    requestsPerCpuSecond: { title: 'requests per second of server CPU', digits: 0, isCompared: true },
    serverCpuPerRequest: { title: 'server CPU, µs/request', digits: 1, isCompared: true },
    ...formsOf('framesPerSecond'),
    ...eventLatencyForms,
    signedInPerSecond: { title: 'signed in/s', digits: 0 },
    refusedPerSecond: { title: 'refused logins/s', digits: 0 },
    serverCpuBefore: { title: 'server CPU without, %', digits: 0 },
    ...formsOf('serverCpu', 'loadCpu'),
  },
  cases: [byProof('DPoP, one key', 1), byProof('DPoP, 10 000 keys in turn', 10_000), bearer, logins],
  targets: [
    { case: bearer.name, variant: 'IAM on', figure: 'requestsPerCpuSecond', isRatio: true, atLeast: 0.7 },
    { case: logins.name, variant: many, figure: 'ofLimit', atMost: 1 },
  ],
}
