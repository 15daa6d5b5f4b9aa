// Answers: the speed and the cost of MQTT, compared with mosquitto, aedes, a server that only answers, and the websockets of this server: messages a second with QoS 1 that are acknowledged (by this server when they are stored), deliveries a second to 1 000 subscribers, memory of an idle device connection, and whether 1 000 MQTT connections slow down the device websocket. Does not count: connecting, HELLO, sign-in, more than one node.

import { execFileSync } from 'node:child_process'
import { connect as connectTcp, type Socket } from 'node:net'
import { join } from 'node:path'
import { connect as connectTls } from 'node:tls'
import type { Benchmark, Case, Figures, Round, Target } from '#bench/harness/benchmark'
import { costsOf, formsOf } from '#bench/harness/load-figures'
import { standardLoad, started, timesOf, withLoad } from '#bench/harness/running-load'
import { listening, ownServer, type RunningServer, type StartServer } from '#bench/harness/servers'
import { temporaryFolder } from '#bench/harness/temporary-folder'
import type { LoadSpec } from '#bench/load/generator'
import { leadLimits } from '#bench/load/lead'
import { mqttConnect, type ProtocolName } from '#bench/load/peer-protocols'
import { isInstalled, peerSystems, storingSystems } from '#bench/peers/peer-systems'
import { usageOf } from '#bench/process-usage'
import { freePort } from '#bench/server-process'
import { sleep } from '#bench/time'

interface System {
  readonly name: string
  readonly start: StartServer
  readonly protocol: ProtocolName
}

type Load = Pick<LoadSpec, 'devices' | 'links' | 'window' | 'dashboards' | 'lead'>

const settings = { DURABILITY: 'process', IAM: 'off' }

/** Starts this server. The `port` of the result is the MQTT port. */
async function withMqtt(more: Readonly<Record<string, string>> = {}, setting = 'MQTT_PORT'): Promise<RunningServer> {
  const port = await freePort()
  return { ...(await ownServer({ ...settings, ...more, [setting]: String(port) })()), port }
}

const byMqtt = (protocol: ProtocolName, name = 'MQTT'): System => ({ name, start: () => withMqtt(), protocol })
const byWebsocket = (protocol: ProtocolName, name: string): System => ({ name, start: ownServer(settings), protocol })
const brokers = peerSystems.filter(({ name, isThere }) => isThere && ['mosquitto', 'aedes'].includes(name))
const storing: readonly System[] = [
  byMqtt('own mqtt, stored'),
  byWebsocket('own json', 'websocket, JSON'),
  ...storingSystems.filter(({ protocol, isThere }) => isThere && protocol === 'mqtt stored'),
  ...brokers.filter(({ name }) => name === 'aedes').map((aedes): System => ({ ...aedes, protocol: 'mqtt stored' })),
]
/** Shows the limit of any server on `node:net`. It acknowledges messages without storing them. */
const bare: System = { name: 'node:net alone', start: listening('bare/mqtt'), protocol: 'mqtt stored' }
const delivering: readonly System[] = [
  byMqtt('own mqtt', 'MQTT, events'),
  byMqtt('own mqtt, state', 'MQTT, state'),
  byWebsocket('own', 'websocket'),
  ...brokers,
]

function fullSpeed({ start, protocol }: System, load: Load, round: Round): Promise<Figures> {
  const shape = { ...standardLoad, properties: 1, ...load, protocol, drainMsMax: 20_000 }
  return started(start, (server) =>
    withLoad(server, shape, async ({ run }) => {
      // Gives the server time to look up the present values for new subscribers, although there are no values yet.
      if (load.dashboards > 0) await sleep(round.isQuick ? 1_000 : 8_000)
      const { changesPerSecond, changesPerCpuSecond, deliveriesPerSecond, deliveriesPerCpuSecond, serverCpu, loadCpu } =
        costsOf(await run(timesOf(round, 2_000, 4_000)))
      const counted =
        load.dashboards > 0
          ? { deliveriesPerSecond, deliveriesPerCpuSecond }
          : { changesPerSecond, changesPerCpuSecond }
      return { ...counted, serverCpu, loadCpu } as Figures
    }),
  )
}

/** Opens connections of devices that send only CONNECT. */
async function openIdle(server: RunningServer, count: number, isTls: boolean, first: number): Promise<() => void> {
  const { port } = server
  const sockets: Socket[] = []
  const open = (number: number) =>
    new Promise<void>((resolve, reject) => {
      const at = { host: '127.0.0.1', port }
      const socket = isTls ? connectTls({ ...at, rejectUnauthorized: false }) : connectTcp(at)
      sockets.push(socket)
      socket.once('error', reject)
      socket.once(isTls ? 'secureConnect' : 'connect', () =>
        socket.write(mqttConnect({ port, number }, `IDLE-${number}`).send),
      )
      socket.once('data', () => resolve())
    })
  for (let at = 0; at < count; at += openedAtOnce)
    await Promise.all(Array.from({ length: Math.min(openedAtOnce, count - at) }, (_, more) => open(first + at + more)))
  return () => {
    for (const socket of sockets) socket.destroy()
  }
}

const openedAtOnce = 64

/** The first connections warm up the system. */
function idle(start: StartServer, isTls: boolean, { isQuick }: Round): Promise<Figures> {
  const [first, more, restMs] = isQuick ? [50, 500, 100] : [500, 5_000, 3_000]
  return started(start, async (server) => {
    const residentBytes = async () => {
      await sleep(restMs)
      return usageOf(server.processId).residentBytes
    }
    const closes = [await openIdle(server, first, isTls, 0)]
    const before = await residentBytes()
    closes.push(await openIdle(server, more, isTls, first))
    const after = await residentBytes()
    for (const close of closes) close()
    return { connectionBytes: (after - before) / more }
  })
}

/** This server with a self-signed certificate. */
async function withTls(): Promise<RunningServer> {
  const folder = temporaryFolder('bench-tls-')
  const [TLS_CERT, TLS_KEY] = [join(folder.path, 'cert.pem'), join(folder.path, 'key.pem')]
  const line = `req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 2 -subj /CN=localhost -keyout ${TLS_KEY} -out ${TLS_CERT}`
  execFileSync('openssl', line.split(' '), { stdio: 'ignore' })
  const server = await withMqtt({ TLS_CERT, TLS_KEY }, 'MQTT_TLS_PORT')
  return {
    ...server,
    async stop() {
      await server.stop()
      await folder.remove()
    },
  }
}

/** The device websocket, while MQTT clients are connected. */
async function besideMqtt(connections: number, round: Round): Promise<Figures> {
  const mqttPort = await freePort()
  const start = ownServer({ ...settings, MQTT_PORT: connections > 0 ? String(mqttPort) : 'off' })
  return started(start, async (server) => {
    const close = connections > 0 ? await openIdle({ ...server, port: mqttPort }, connections, false, 0) : () => {}
    const load = { ...standardLoad, devices: 5_000, dashboards: 1 }
    const figures = await withLoad(server, load, async ({ run }) => costsOf(await run(timesOf(round, 2_000, 4_000))))
    close()
    return figures
  })
}

function caseOf(name: string, systems: readonly System[], load: Load, baseline: string): Case {
  const variants = systems.map((system) => ({
    name: system.name,
    measure: (round: Round) => fullSpeed(system, load, round),
  }))
  return { name, variants, baseline }
}

const many = 'In: QoS 1, 100 connections × 64 in flight'
const each = 'In: QoS 1, 1 000 connections × 1 in flight'
const out = 'Out: 1 000 subscribers'
const beside = 'The device websocket, with MQTT connections'
const memory = 'An idle device connection, of 5 000'
const json = 'websocket, JSON'
const mosquitto = 'mosquitto, quality 1'
const isMosquittoThere = storing.some(({ name }) => name === mosquitto)
const hasTls = isInstalled('openssl')

const manyLoad: Load = { devices: 12_800, links: 100, window: 64, dashboards: 0 }
const eachLoad: Load = { devices: 2_000, links: 1_000, window: 1, dashboards: 0 }
const outLoad: Load = { devices: 1_000, links: 50, window: 64, dashboards: 1_000, lead: leadLimits(1_000) }

const ratio = (name: string, variant: string, figure: string, atLeast: number): Target => ({
  ...{ case: name, variant, figure, isRatio: true, atLeast },
})

export const mqtt: Benchmark = {
  rounds: 3,
  figures: {
    ...formsOf('changesPerSecond', 'deliveriesPerSecond', 'changesPerCpuSecond', 'deliveriesPerCpuSecond'),
    connectionBytes: { title: 'RSS, B', digits: 0 },
    ...formsOf('serverCpu', 'loadCpu'),
  },
  cases: [
    caseOf(many, storing.slice(0, 2), manyLoad, json),
    ...(isMosquittoThere
      ? [
          caseOf(
            `${many}, beside mosquitto`,
            storing.filter(({ name }) => name !== json),
            manyLoad,
            mosquitto,
          ),
        ]
      : []),
    caseOf(each, [...storing, bare], eachLoad, isMosquittoThere ? mosquitto : json),
    caseOf(out, delivering, outLoad, 'websocket'),
    {
      name: beside,
      baseline: 'no MQTT',
      variants: [
        { name: 'no MQTT', measure: (round) => besideMqtt(0, round) },
        { name: '1 000 MQTT connections', measure: (round) => besideMqtt(1_000, round) },
      ],
    },
    {
      name: memory,
      variants: [
        { name: 'MQTT', measure: (round) => idle(() => withMqtt(), false, round) },
        ...(hasTls ? [{ name: 'MQTT, TLS', measure: (round: Round) => idle(withTls, true, round) }] : []),
        ...brokers.map(({ name, start }) => ({ name, measure: (round: Round) => idle(start, false, round) })),
      ],
    },
  ],
  targets: [
    ratio(many, 'MQTT', 'changesPerCpuSecond', 0.8),
    ...(isMosquittoThere
      ? [ratio(`${many}, beside mosquitto`, 'MQTT', 'changesPerSecond', 4), ratio(each, 'MQTT', 'changesPerSecond', 1)]
      : []),
    ratio(out, 'MQTT, events', 'deliveriesPerSecond', 0.8),
    ratio(out, 'MQTT, state', 'deliveriesPerSecond', 0.8),
    ratio(beside, '1 000 MQTT connections', 'changesPerSecond', 0.97),
    { case: memory, variant: 'MQTT', figure: 'connectionBytes', atMost: 12_000 },
    ...(hasTls ? [{ case: memory, variant: 'MQTT, TLS', figure: 'connectionBytes', atMost: 45_000 }] : []),
  ],
}
