import { type ChildProcessWithoutNullStreams, spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { integer, option } from '#bench/command-line'
import { Dashboard, type StreamEvent, type StreamPosition, streamHead } from '#bench/dashboard'
import { killAtExit } from '#bench/exit-cleanup'
import { administrator, createProvisioningKey, readToken } from '#bench/harness/identity'
import { proofServer } from '#bench/harness/servers'
import { projectRoot } from '#bench/project-root'
import { inKeptFolder, type Outcome, type Proof } from '#bench/proof/outcome'
import { SeededRandom } from '#bench/random'
import { freePort, type ServerProcess, startServer } from '#bench/server-process'
import { sleep } from '#bench/time'

interface MqttOptions {
  readonly kills: number
  readonly lifeMs: number
  readonly python: string
}

interface PublisherSettings {
  readonly device: string
  readonly qos: 1 | 2
  /** MQTT 3.1.1 or 5.0. */
  readonly version: 4 | 5
  /** Sends messages of the device connection; false: those of ThingsBoard. */
  readonly isNative: boolean
}

interface PublisherResult {
  readonly published: number
  readonly connections: number
  readonly lostSessions: number
}

const lifeMsMin = 300
const quietMsMax = 60_000

const publishers: readonly PublisherSettings[] = [true, false].flatMap((isNative) =>
  ([1, 2] as const).flatMap((qos) =>
    ([4, 5] as const).map((version) => {
      const device = `${isNative ? 'NATIVE' : 'TELEMETRY'}-Q${qos}-V${version}`
      return { device, qos, version, isNative }
    }),
  ),
)

/** A client in its own process, which publishes rising numbers and reconnects by itself. */
class Publisher {
  readonly settings: PublisherSettings
  readonly errors: string[] = []
  /** Resolves when the client is connected, or has ended. */
  readonly connected: Promise<unknown>
  readonly #child: ChildProcessWithoutNullStreams
  #output = ''

  constructor(
    settings: PublisherSettings,
    python: string,
    connection: { readonly port: number; readonly key: string },
  ) {
    this.settings = settings
    const { port, key } = connection
    const credentials = settings.isNative ? { user: '*', password: key } : { user: key }
    const line = JSON.stringify({ ...settings, ...credentials, port })
    this.#child = spawn(python, [join(projectRoot, 'bench/proof/mqtt/publisher.py'), line])
    killAtExit(this.#child)
    this.#child.stdout.on('data', (text) => {
      this.#output += text
    })
    this.#child.stderr.on('data', (text) => this.errors.push(String(text)))
    this.connected = Promise.race([once(this.#child.stdout, 'data'), once(this.#child, 'close')])
  }

  /** Resolves when everything that it published is acknowledged, or when it was killed after a time limit. */
  async stop(): Promise<PublisherResult> {
    const timer = setTimeout(() => this.#child.kill('SIGKILL'), quietMsMax)
    const ended = once(this.#child, 'close')
    this.#child.stdin.write('\n')
    if (this.#child.exitCode === null) await ended
    clearTimeout(timer)
    const lines = this.#output
      .trim()
      .split('\n')
      .filter((line) => line !== 'connected')
    const last = lines.pop() ?? ''
    this.errors.push(...lines)
    if (last.startsWith('{"published"')) return JSON.parse(last) as PublisherResult
    this.errors.push(`the publisher ended without a result: ${last}`)
    return { published: 0, connections: 0, lostSessions: 0 }
  }
}

/** The faults in the stored numbers of a publisher that published 1 to `published`. */
export function faultsOf(stored: readonly number[], published: number, isRepeatAllowed: boolean): readonly string[] {
  const faults: string[] = []
  const seen = new Set<number>()
  const repeats: string[] = []
  let outOfOrder = 0
  let newest = 0
  for (const number of stored) {
    if (seen.has(number)) repeats.push(`${number} after ${newest}`)
    else if (number < newest) outOfOrder++
    seen.add(number)
    newest = Math.max(newest, number)
  }
  const lost = Array.from({ length: published }, (_, place) => place + 1).filter((number) => !seen.has(number))
  if (lost.length > 0) faults.push(`${lost.length} of ${published} lost, first ${lost[0]}`)
  if (newest > published) faults.push(`${newest} was stored, ${published} were published`)
  if (outOfOrder > 0) faults.push(`${outOfOrder} out of order`)
  if (repeats.length > 0 && !isRepeatAllowed)
    faults.push(`${repeats.length} stored twice: ${repeats.slice(0, 30).join(', ')}`)
  return faults
}

/** All stored numbers, by device. */
async function storedNumbers(url: string, authorization: string, from: StreamPosition): Promise<Map<string, number[]>> {
  const stored = new Map<string, number[]>(publishers.map(({ device }) => [device, []]))
  const onEvent = ({ type, deviceIdentifier, updates }: StreamEvent) => {
    const numbers = stored.get(String(deviceIdentifier))
    if (type !== 'OBJECT_UPDATED' || !numbers) return
    for (const { value } of updates as readonly { value?: unknown }[])
      if (typeof value === 'number') numbers.push(value)
  }
  const { epoch } = await streamHead(url, authorization)
  const reader = new Dashboard({ url, authorization, isFolding: false, from: { epoch, offset: from.offset }, onEvent })
  reader.start()
  const isWhole = await reader.caughtUp(quietMsMax)
  reader.stop()
  if (!isWhole || reader.counts.notRecovered > 0) throw new Error('the stream could not be read from its start')
  return stored
}

async function prove(
  options: MqttOptions & { readonly seed: number },
  dataFolder: string,
  print: (line: string) => void,
): Promise<Outcome> {
  const { seed, kills, lifeMs, python } = options
  const random = new SeededRandom(seed)
  const [port, mqttPort] = [await freePort(), await freePort()]
  const problems: string[] = []
  const start = (round: number) => {
    const environment = { MQTT_PORT: String(mqttPort), DURABILITY: round % 2 === 0 ? 'process' : 'disk' }
    return startServer(proofServer({ port, dataFolder }, { environment }))
  }
  let server: ServerProcess = await start(0)
  try {
    const authorization = `Bearer ${await readToken(port, administrator)}`
    const key = await createProvisioningKey(port, authorization, 'Publishers')
    const first = await streamHead(server.url, authorization)
    const running = publishers.map((settings) => new Publisher(settings, python, { port: mqttPort, key }))
    await Promise.all(running.map(({ connected }) => connected))
    for (let kill = 1; kill <= kills; kill++) {
      await sleep(random.between(lifeMsMin, lifeMs))
      if (server.isEnded) problems.push(`the server ended by itself before kill ${kill}\n${server.lines.join('\n')}`)
      await server.kill()
      server = await start(kill)
      if (kill % 20 === 0) print(`${kill} kills`)
    }
    await sleep(lifeMs)
    const results = await Promise.all(running.map((publisher) => publisher.stop()))
    const stored = await storedNumbers(server.url, authorization, first)
    let repeated = 0
    for (const [place, { settings, errors }] of running.entries()) {
      const { device, qos } = settings
      const { published, connections, lostSessions } = results[place] as PublisherResult
      const numbers = stored.get(device) ?? []
      const faults = [...errors.slice(0, 5), ...faultsOf(numbers, published, qos === 1)]
      if (lostSessions > 0) faults.push(`${lostSessions} times its session was not present`)
      if (published === 0 || connections < kills / 2) faults.push(`${published} published, ${connections} connections`)
      problems.push(...faults.map((fault) => `${device}: ${fault}`))
      repeated += Math.max(0, numbers.length - published)
    }
    const published = results.reduce((sum, each) => sum + each.published, 0)
    const connections = results.reduce((sum, each) => sum + each.connections, 0)
    const summary = [
      `${kills} kills, ${publishers.length} publishers, ${connections} connections: ${published} messages published and ` +
        `found, ${repeated} with QoS 1 stored again`,
    ]
    return { summary, problems }
  } finally {
    await server.kill()
  }
}

/** Debian installs `python3-paho-mqtt` only for its own Python. */
function isPahoIn(python: string): boolean {
  return spawnSync(python, ['-c', 'import paho.mqtt.client']).status === 0
}

export const mqttProof: Proof<MqttOptions> = {
  about: '200 times SIGKILL under MQTT publishers in lasting sessions',
  help: `Kills the server repeatedly while publishers of paho-mqtt send rising numbers with QoS 1 and 2, by 3.1.1 and 5.0, as
devices of this server and of ThingsBoard. Afterwards the stream has no gap, and with QoS 2 no number twice. It needs Python
with paho-mqtt (Debian: python3-paho-mqtt).`,
  options: [
    option('--kills N', 'kills', integer(1), 200),
    option('--life-ms N', 'maximum time between starting the server and killing it', integer(1), 1500),
    option('--python COMMAND', 'a Python with paho-mqtt', undefined, '/usr/bin/python3'),
  ],
  async run(options, print) {
    if (!isPahoIn(options.python)) throw new Error(`${options.python} has no paho-mqtt`)
    return inKeptFolder('mqtt-proof-', print, (dataFolder) => prove(options, dataFolder, print))
  },
}
