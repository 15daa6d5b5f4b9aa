import { mkdir } from 'node:fs/promises'
import { resolve } from 'node:path'
import { Command } from 'commander'
import { integer, option, runCommand, stopRequested } from '#bench/command-line'
import { Dashboard } from '#bench/dashboard'
import { createDemoContent, demoPassword, demoUsers, deviceKey, startRollout } from '#bench/demo/demo-content'
import { fillHistory } from '#bench/demo/demo-history'
import { DemoScreen } from '#bench/demo/screen'
import { secondsOf } from '#bench/fleet/counts'
import { Fleet } from '#bench/fleet/fleet'
import { controlsService } from '#bench/fleet/kinds'
import { type FleetOptions, fleetOptions, secondsOption } from '#bench/fleet/options'
import { readToken } from '#bench/harness/identity'
import { processUsage } from '#bench/process-usage'
import { isPortTaken, ServerProcess } from '#bench/server-process'

const { devices, links, rate, writes } = fleetOptions

const command = new Command('npm run demo --')
  .description(
    'The server, simulated devices of three kinds in four buildings, and a dashboard, live in the terminal. The server ' +
      'listens on 127.0.0.1, or on HOST.',
  )
  .addOption(devices.default(1000))
  .addOption(links)
  .addOption(rate.default(2000))
  .addOption(secondsOption)
  .addOption(writes.default('check'))
  .addOption(option('--port N', 'port of the server', integer(1, 65_535), Number(process.env.PORT ?? 8080)))
  .option('--data <DIR>', 'data folder (default: demo, or demo-iam, in DATA_DIR or ./data)')
  .option('--iam', 'with authentication: two users can sign in')
  .action(async (demo: Demo) => process.exit(await run(demo)))

type Demo = Pick<FleetOptions, 'devices' | 'rate' | 'writes'> & {
  readonly links?: number
  readonly seconds: number
  readonly port: number
  readonly data?: string
  readonly iam?: boolean
}

/**
 * Runs the server on its own data folder with simulated devices, and shows the events of a dashboard in the terminal.
 */
async function run(demo: Demo): Promise<number> {
  const { port, devices, rate, writes, iam = false } = demo
  if (await isPortTaken(port)) {
    console.error(`port ${port} is taken: stop that program or choose another port with --port`)
    return 1
  }
  const dataFolder = resolve(demo.data ?? dataFolderOf(demo))
  await mkdir(dataFolder, { recursive: true })
  const environment = {
    IAM: iam ? 'on' : 'off',
    // The container image sets HOST, because loopback addresses of a container cannot be reached from outside.
    HOST: process.env.HOST ?? '127.0.0.1',
    ADMIN_NAME: administrator.name,
    ADMIN_PASSWORD: administrator.password,
  }
  const server = new ServerProcess({ port, dataFolder, environment })
  const asked = stopRequested(demo.seconds).then(() => 'asked')
  const isServing = await Promise.race([server.serving().then(() => true), asked.then(() => false)])
  if (!isServing) {
    await server.stop()
    return 0
  }
  console.log(introduction(server.url, demo))
  const person = iam ? `Bearer ${await readToken(port, administrator)}` : undefined
  const target = { port, dataFolder, person }
  const fleet = new Fleet({
    url: server.url.replace(/^http/, 'ws'),
    devices,
    links: Math.min(demo.links ?? devices, devices),
    rate,
    writes,
    updates: 'slow',
    key: await deviceKey(target),
  })
  const stopRollout = await startRollout(target)
  fleet.start()
  const isOnline = await Promise.race([fleet.allOnline(60_000), asked.then(() => false)])
  if (isOnline) await createDemoContent(target, fleet)
  const filling = new AbortController()
  // If this fails, the demo continues without history.
  void fillHistory(target, fleet.devices, filling.signal).catch((error) => {
    if (!filling.signal.aborted) console.error(String(error))
  })
  const screen = new DemoScreen(process.stdout, fleet.kinds)
  const dashboard = new Dashboard({
    url: server.url,
    isFolding: false,
    from: 'now',
    onEvent: (event) => screen.receive(event),
    authorization: person,
  })
  dashboard.start()

  const stopShowing = showEverySecond({ server, fleet, dashboard, screen })
  const reason = await Promise.race([asked, server.ended.then(() => 'server')])
  stopShowing()
  stopRollout()
  filling.abort()
  dashboard.stop()
  fleet.pause()
  if (reason === 'asked') await fleet.settled(5_000)
  await fleet.stop()
  const result = await server.stop()
  if (reason === 'server') console.error(`the server ended (${result})\n${server.lines.join('\n')}`)
  const { changesAcknowledged, faults } = fleet.counts
  console.log(`\n${changesAcknowledged} changes acknowledged, ${dashboard.counts.events} events received; stopped`)
  for (const fault of [...faults, ...dashboard.faults]) console.error(`FAULT: ${fault}`)
  return reason === 'asked' ? 0 : 1
}

const administrator = { name: demoUsers.administrator, password: demoPassword }

/** A folder of its own for the demo with accounts, which are part of the data. */
const dataFolderOf = ({ iam }: Demo): string => `${process.env.DATA_DIR ?? './data'}/${iam ? 'demo-iam' : 'demo'}`

interface DemoParts {
  readonly server: ServerProcess
  readonly fleet: Fleet
  readonly dashboard: Dashboard
  readonly screen: DemoScreen
}

function showEverySecond({ server, fleet, dashboard, screen }: DemoParts): () => void {
  const takeSecond = secondsOf(fleet)
  // CPU and memory are undefined where the system does not report them.
  const counted = () => {
    const { events, items } = dashboard.counts
    return { at: performance.now(), events, items, ...processUsage(server.processId) }
  }
  const grouped = (count: number) => Math.round(count).toLocaleString('en-US')
  let before = counted()
  const startedAt = before.at
  const timer = setInterval(() => {
    const now = counted()
    const perSecond = (count: 'events' | 'items' | 'cpuSeconds') =>
      (((now[count] ?? Number.NaN) - (before[count] ?? Number.NaN)) * 1000) / (now.at - before.at)
    const cpu = perSecond('cpuSeconds')
    const { residentBytes } = now
    const { devicesOnline, devices, changesPerSecond, latencyMs, faultCount } = takeSecond()
    const seconds = Math.round((now.at - startedAt) / 1000)
    screen.show(seconds, [
      `${seconds} s`,
      `${devicesOnline}/${devices} devices`,
      `${grouped(changesPerSecond)} changes/s in`,
      `${grouped(perSecond('events'))} events/s out (${grouped(perSecond('items'))} changes/s), ${dashboard.isLive ? 'live' : 'connecting'}`,
      `acknowledged in p50 ${latencyMs.p50.toFixed(1)} ms   p99 ${latencyMs.p99.toFixed(1)} ms`,
      `server CPU ${Number.isNaN(cpu) ? '–' : `${(cpu * 100).toFixed(0)} %`}   memory ${residentBytes === undefined ? '–' : `${Math.round(residentBytes / 2 ** 20)} MB`}`,
      ...(faultCount > 0 ? [`FAULTS ${faultCount}`] : []),
    ])
    before = now
  }, 1_000)
  return () => clearInterval(timer)
}

function introduction(url: string, demo: Demo): string {
  const { data = dataFolderOf(demo), devices, rate, writes, iam } = demo
  const api = `${url}/api/v1`
  const users = [demoUsers.administrator, demoUsers.reader]
  const header = "-H 'content-type: application/json'"
  const setpoint = `${api}/devices/SIM-CLIMATE-000000/services/${controlsService.serviceIdentifier}/properties`
  return [
    `Dashboard: ${url}/`,
    iam
      ? `Sign in as ${users[0]} (administrator) or ${users[1]} (caretaker), password: ${demoPassword}. Mails are saved in ${data}/outbox.`
      : 'Authentication is off: there are no sign-ins, and no mail is sent (see --iam).',
    `Data in ${data}; ${devices} simulated devices, ${rate} changes/s.`,
    ...(iam
      ? []
      : [
          'From a second terminal:',
          `  curl '${api}/devices?depth=2&raw=false&limit=3'    # the state; without limit, all of it`,
          `  curl '${api}/meta?depth=1&limit=3'                 # names, places, and which devices are online`,
          `  curl '${api}/events/ticket'                        # then a websocket at ${api.replace(/^http/, 'ws')}/events/<ticket>`,
          ...(writes === 'none'
            ? []
            : [`  curl -X PUT ${header} -d '{"Setpoint":21.5}' '${setpoint}'   # asks a device to change`]),
        ]),
    'Ctrl-C stops everything.',
    '',
  ].join('\n')
}

// The server exits with this process.
await runCommand(command)
