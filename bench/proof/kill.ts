import { integer, option } from '#bench/command-line'
import { readFoldedState, type StreamEvent, streamHead } from '#bench/dashboard'
import { proofServer } from '#bench/harness/servers'
import { type FrameComparison, readStream, type SentFrames } from '#bench/proof/event-checker'
import { type LoadedServer, type LoadOptions, quietMsMax, startLoaded } from '#bench/proof/loaded-server'
import { inKeptFolder, type Outcome, type Proof } from '#bench/proof/outcome'
import type { ChangeCounts } from '#bench/proof/workloads/expected-state'
import { freePort, ServerProcess } from '#bench/server-process'
import { sleep } from '#bench/time'

interface KillOptions extends LoadOptions {
  readonly rounds: number
  readonly secondsMax: number
  readonly lifeMs: number
  readonly print: (line: string) => void
}

/** Minimum time between the start of a round and the kill. */
const lifeMsMin = 300
/** In this many of ten rounds, the server is also killed while it starts, or while clients reconnect. */
const earlyKillsOfTen = 2
/** Enough for an acknowledged write of each kind: a server rotates signing keys once a minute. */
const roundsForAllKinds = 100
const problemsMax = 5

/**
 * Kills the server repeatedly under load. Every acknowledged frame must be in the stream once, in its device's order
 * and with the values that were sent. A subscriber that resumes after every kill must receive each event once, and its
 * folded state must equal the server's. Every workload must find its acknowledged changes.
 */
async function killAgain(options: KillOptions, server: LoadedServer): Promise<Outcome> {
  const { secondsMax, rounds: wanted, print } = options
  const { problems, fleets, runner, witness } = server
  const startedAt = performance.now()
  let stopWork = runner.work()
  let [rounds, idle] = [0, 0]
  while (rounds < wanted && problems.length < problemsMax) {
    if (performance.now() - startedAt > secondsMax * 1000) {
      problems.push(`only ${rounds} of ${wanted} rounds in ${secondsMax} s`)
      break
    }
    const round = ++rounds
    const before = fleets.changesAcknowledged
    const sent = await killOnce(options, server, round, stopWork)
    if (fleets.changesAcknowledged === before) idle++
    await server.start(settingsOf(round))
    await server.check(`round ${round}`)
    stopWork = runner.work()
    if (await witness.dashboard.caughtUp(quietMsMax))
      problems.push(...witness.frames.missingOf(sent).map((text) => `round ${round}: ${text}`))
    else problems.push(`round ${round}: the dashboard did not catch up within ${quietMsMax / 1000} s`)
    if (round % 10 > 0) continue
    const { events } = witness.dashboard.counts
    print(`round ${round}: ${fleets.changesAcknowledged} changes acknowledged, ${events} events received`)
  }
  await stopWork()
  await server.settle({ isWhole: true })
  const fromStart = await readFromStart(server)
  await restart(server)
  if (idle > rounds / 2) problems.push(`${idle} of ${rounds} rounds acknowledged nothing`)
  problems.push(...witness.problems(), ...fromStart.faults)
  const writes = Object.entries(runner.counts)
  const sum = (field: keyof ChangeCounts) => writes.reduce((total, [, counts]) => total + counts[field], 0)
  const idleKinds = writes.flatMap(([name, { acknowledged }]) => (acknowledged === 0 ? [name] : []))
  // A kind of write without an acknowledged change is not proven. A short run does not always reach all kinds.
  if (rounds >= roundsForAllKinds)
    problems.push(...idleKinds.map((name) => `${name}: nothing was acknowledged in ${rounds} rounds`))
  const seconds = (performance.now() - startedAt) / 1000
  return {
    problems,
    summary: [
      `${rounds} rounds in ${seconds.toFixed(0)} s, ${idle} without an acknowledgement; longest start ` +
        `${Math.round(server.longestStartMs)} ms`,
      `resumed dashboard: ${countsOf(witness.frames.report())}`,
      `from the start:    ${countsOf(fromStart.frames.report())}`,
      `${writes.length} other kinds of write: ${sum('acknowledged')} acknowledged and found; of those that a kill ` +
        `interrupted ${sum('landed')} were applied and ${sum('vanished')} not, ${sum('repeated')} were repeated with their key`,
      ...(idleKinds.length > 0 ? [`without an acknowledged write: ${idleKinds.join(', ')}`] : []),
    ],
  }
}

/**
 * Lets the server live for a while, and kills it; sometimes also while it starts again. Returns the frames that were sent
 * before.
 */
async function killOnce(
  { lifeMs }: KillOptions,
  server: LoadedServer,
  round: number,
  stopWork: () => Promise<void>,
): Promise<readonly SentFrames[]> {
  const { random, witness, place, fleets } = server
  const lifetime = random.between(lifeMsMin, lifeMs)
  const isCut = random.below(3) === 0
  await sleep(lifetime / 2)
  if (isCut) witness.dashboard.cut()
  await sleep(lifetime / 2)
  server.mustRun(`round ${round}: `)
  await server.process.kill()
  await stopWork()
  // An answer in a socket's buffer was sent before the kill; a device has possibly not read it yet.
  await sleep(20)
  const sent = fleets.sentFrames()
  while (random.below(10) < earlyKillsOfTen) {
    const early = new ServerProcess(proofServer(place, settingsOf(round)))
    await sleep(random.between(20, 600))
    await early.kill()
  }
  return sent
}

async function readFromStart({ url, fleets, runner }: LoadedServer) {
  const { authorization, first } = runner
  const { sentFrames } = fleets
  // Uses the present epoch, because the server forgets old epochs after many starts. Contract 4.5.
  const { epoch } = await streamHead(url, authorization)
  const from = { epoch, offset: first.offset }
  // `settle` has already compared how often each event was received.
  const others = (event: StreamEvent) => runner.receive(event)
  return readStream({ url, sentFrames, authorization, others, name: 'from the start', from }, quietMsMax * 2)
}

/** A clean stop and the next start keep the state. */
async function restart(server: LoadedServer): Promise<void> {
  const read = () => readFoldedState(server.url, server.runner.authorization)
  server.fleets.close()
  const before = await read()
  await server.stop()
  await server.start(settingsOf(0))
  const differences = before.differences(await read())
  server.problems.push(...differences.map((text) => `before and after a clean restart: ${text}`))
  await server.check('after a clean restart')
}

function settingsOf(round: number) {
  return { environment: { DURABILITY: round % 2 === 0 ? 'process' : 'disk' } }
}

function countsOf(report: ReturnType<FrameComparison['report']>): string {
  return (
    `${report.acknowledged} frames acknowledged, ${report.found} found, ${report.lost} lost, ${report.repeated} doubled or ` +
    `out of order, ${report.wrong} wrong, ${report.unacknowledged} unacknowledged but stored`
  )
}

export const killProof: Proof<Omit<KillOptions, 'print' | 'seed'>> = {
  about: '500 times SIGKILL under reports and all other kinds of write',
  help: `Kills the server repeatedly while fleets report and workloads make every other kind of write, and checks that every
acknowledged write is there. DURABILITY alternates between process and disk. CONTRIBUTING.md lists the kinds of write.`,
  options: [
    option('--rounds N', 'kills', integer(1), 500),
    option('--devices N', 'total', integer(1), 100),
    option('--rate N', 'changes/s, total', integer(1), 4000),
    option('--life-ms N', 'maximum time between starting the server and killing it', integer(1), 2000),
    option('--seconds-max S', 'no round begins after this time', integer(1), 3600),
  ],
  run: (given, print) =>
    inKeptFolder('kill-proof-', print, async (dataFolder) => {
      const options = { ...given, print }
      const server = await startLoaded(options, { port: await freePort(), dataFolder }, settingsOf(0))
      try {
        return await killAgain(options, server)
      } finally {
        await server.end()
      }
    }),
}
