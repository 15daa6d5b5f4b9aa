import { mkdir } from 'node:fs/promises'
import { resolve } from 'node:path'
import { Dashboard } from '#bench/dashboard'
import type { DemoCommand } from '#bench/demo/command'
import { demoHelp, readDemoCommand } from '#bench/demo/command'
import { DemoSamples } from '#bench/demo/samples'
import { DemoScreen } from '#bench/demo/screen'
import { kindsOf } from '#bench/fleet/fleet'
import { controlsService } from '#bench/fleet/kinds'
import { fleetDefaults } from '#bench/fleet/options'
import { putSchemas } from '#bench/fleet/schemas'
import type { FleetSecond } from '#bench/fleet/second'
import { FleetProcess } from '#bench/fleet-process'
import { processUsage } from '#bench/process-usage'
import { isPortTaken, ServerProcess } from '#bench/server-process'

/**
 * `npm run demo`: the server on a data folder of its own, a simulated fleet beside it, and a dashboard's view of both in
 * the terminal. Whatever ends the demo ends all of it.
 */
async function run(command: DemoCommand): Promise<number> {
  const { port, devices, rate } = command
  if (await isPortTaken(port)) {
    console.error(`port ${port} is taken: stop what listens there, or choose another with --port`)
    return 1
  }
  const dataFolder = resolve(command.dataFolder)
  await mkdir(dataFolder, { recursive: true })
  const server = new ServerProcess({ port, dataFolder })
  let asked = stopAsked(command.seconds)
  const isServing = await Promise.race([server.serving().then(() => true), asked.then(() => false)])
  if (!isServing) {
    await server.stop()
    return 0
  }

  const { writes, flap } = command
  const kinds = kindsOf({ ...fleetDefaults, writes, flap })
  await putSchemas(server.url, kinds)
  const samples = new DemoSamples(kinds)
  const dashboard = new Dashboard({
    url: server.url,
    isFolding: false,
    from: 'now',
    onEvent: (event) => samples.hear(event),
  })
  dashboard.start()
  let latest: FleetSecond | undefined
  const links = Math.min(command.links ?? devices, devices)
  const fleet = new FleetProcess(
    Object.entries({ url: server.url.replace(/^http/, 'ws'), devices, links, rate, writes, flap }).map(
      ([name, value]) => `--${name}=${value}`,
    ),
    (second) => {
      latest = second
    },
  )
  console.log(introduction(server.url, command))

  const stopShowing = showEverySecond(() => latest, { server, dashboard, samples })
  asked = Promise.race([asked, server.ended.then(() => 'server'), fleet.ended.then(() => 'fleet')])
  const reason = await asked
  stopShowing()
  dashboard.stop()
  await fleet.stop()
  const result = await server.stop()
  if (reason === 'server') console.error(`the server ended (${result})\n${server.lines.join('\n')}`)
  if (reason === 'fleet') console.error(`the fleet ended\n${fleet.errors}`)
  const { final } = fleet
  if (final)
    console.log(`\n${final.changesAcknowledged} changes acknowledged, ${dashboard.counts.events} events heard; stopped`)
  for (const fault of [...(final?.faults ?? []), ...dashboard.faults]) console.error(`FAULT: ${fault}`)
  return reason === 'asked' ? 0 : 1
}

interface Shown {
  readonly server: ServerProcess
  readonly dashboard: Dashboard
  readonly samples: DemoSamples
}

/** Answers what stops it. */
function showEverySecond(latest: () => FleetSecond | undefined, { server, dashboard, samples }: Shown): () => void {
  const screen = new DemoScreen(process.stdout)
  let before = { at: performance.now(), events: 0, items: 0, cpuSeconds: processUsage(server.processId)?.cpuSeconds }
  const startedAt = before.at
  const timer = setInterval(() => {
    const usage = processUsage(server.processId)
    const { events, items } = dashboard.counts
    const now = { at: performance.now(), events, items, cpuSeconds: usage?.cpuSeconds }
    const seconds = (now.at - before.at) / 1000
    screen.show({
      seconds: Math.round((now.at - startedAt) / 1000),
      fleet: latest(),
      eventsPerSecond: Math.round((events - before.events) / seconds),
      changesOutPerSecond: Math.round((items - before.items) / seconds),
      dashboardState: dashboard.isLive ? 'live' : 'connecting',
      cpuPercent:
        now.cpuSeconds === undefined || before.cpuSeconds === undefined
          ? undefined
          : ((now.cpuSeconds - before.cpuSeconds) / seconds) * 100,
      residentBytes: usage?.residentBytes,
      samples: samples.lines(),
    })
    before = now
  }, 1_000)
  return () => clearInterval(timer)
}

function introduction(url: string, command: DemoCommand): string {
  const api = `${url}/api/v1`
  return [
    `Serving at ${url}, data in ${command.dataFolder}; ${command.devices} simulated devices, ${command.rate} changes/s.`,
    'IAM is off here: nobody has to sign in.',
    'From a second terminal:',
    `  curl '${api}/devices?depth=2&limit=3'              # the state; without limit, all of it`,
    `  curl '${api}/devices?depth=2&raw=false&limit=3'    # with names`,
    `  curl '${api}/schemas?depth=1'                      # what the names and units are`,
    `  curl '${api}/meta?depth=1'                         # who is online`,
    `  curl '${api}/events/ticket'                        # then a websocket at ${api.replace(/^http/, 'ws')}/events/<ticket>`,
    ...(command.writes === 'none' ? [] : [writeExample(api)]),
    'Ctrl-C stops everything.',
    '',
  ].join('\n')
}

function writeExample(api: string): string {
  const { serviceIdentifier } = controlsService
  const path = `${api}/devices/SIM-CLIMATE-000000/services/${serviceIdentifier}/properties`
  const header = "-H 'content-type: application/json'"
  return `  curl -X PUT ${header} -d '{"Setpoint":21.5}' '${path}'   # asks a device to change`
}

/** Resolves with `asked` when the time is up or somebody wants the demo to end. */
function stopAsked(seconds: number): Promise<string> {
  return new Promise((resolve) => {
    if (seconds > 0) setTimeout(() => resolve('asked'), seconds * 1000)
    for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.once(signal, () => resolve('asked'))
  })
}

try {
  const command = readDemoCommand(process.argv.slice(2), process.env)
  if (command.isHelp) console.log(demoHelp)
  else process.exit(await run(command))
} catch (error) {
  // Children that are still there end by themselves when this process is gone.
  console.error(error instanceof Error ? error.message : error)
  process.exit(1)
}
