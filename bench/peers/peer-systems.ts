import { type ChildProcess, spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { connect } from 'node:net'
import { join } from 'node:path'
import { killAtExit } from '#bench/exit-cleanup'
import { identityOn } from '#bench/harness/identity'
import { listening, ownServer, type StartServer } from '#bench/harness/servers'
import { temporaryFolder } from '#bench/harness/temporary-folder'
import type { ProtocolName } from '#bench/load/peer-protocols'
import { projectRoot } from '#bench/project-root'
import { freePort } from '#bench/server-process'
import { isFulfilled, sleep } from '#bench/time'

/** A server of the system in the foreground, with only the settings given here. */
interface InstalledServer {
  readonly command: string
  /** `{port}` and `{folder}` are replaced, here and in the settings. */
  readonly line: readonly string[]
  /** Content of the file `settings` in its folder. */
  readonly settings?: string
}

const startMsMax = 10_000
const stopMsMax = 5_000

/** The folders of PATH, and further folders in which servers may be installed. */
const searched = `${process.env.PATH}:/usr/sbin:/usr/local/sbin`
const environment = { ...process.env, PATH: searched }

export function isInstalled(command: string): boolean {
  return searched.split(':').some((folder) => existsSync(join(folder, command)))
}

/** The output of a command on both streams, with any exit code. */
function printed(command: string, option: string): string {
  const { stdout, stderr } = spawnSync(command, [option], { encoding: 'utf8', env: environment })
  return `${stdout}${stderr}`
}

/** A fresh server with its own port and folder. */
export function installedServer({ command, line, settings }: InstalledServer): StartServer {
  return async () => {
    const port = await freePort()
    const folder = temporaryFolder('bench-peer-')
    const filled = (text: string) => text.replaceAll('{port}', String(port)).replaceAll('{folder}', folder.path)
    if (settings !== undefined) writeFileSync(join(folder.path, 'settings'), filled(settings))
    const child = spawn(command, line.map(filled), {
      stdio: ['ignore', 'pipe', 'pipe'],
      env: environment,
    })
    killAtExit(child)
    const output: string[] = []
    for (const stream of [child.stdout, child.stderr]) stream?.on('data', (text) => output.push(String(text)))
    const ended = new Promise<void>((resolve) => {
      child.once('error', (error) => {
        output.push(String(error))
        resolve()
      })
      child.once('exit', () => resolve())
    })
    const stop = async () => {
      child.kill('SIGTERM')
      const timer = setTimeout(() => child.kill('SIGKILL'), stopMsMax)
      await ended
      clearTimeout(timer)
      await folder.remove()
    }
    try {
      await portOpened(port, child)
      return { port, processId: child.pid ?? 0, stop }
    } catch (error) {
      await stop()
      throw new Error(`${command} does not start: ${error}\n${output.join('').slice(-2_000)}`)
    }
  }
}

async function portOpened(port: number, child: ChildProcess): Promise<void> {
  const end = performance.now() + startMsMax
  while (performance.now() < end && child.exitCode === null && child.pid !== undefined) {
    const socket = connect(port, '127.0.0.1')
    const isOpen = await isFulfilled(once(socket, 'connect'))
    socket.destroy()
    if (isOpen) return
    await sleep(20)
  }
  throw new Error('the server does not listen')
}

/** A system in the comparison: this server or another one. */
export interface Peer {
  readonly name: string
  readonly protocol: ProtocolName
  readonly isThere: boolean
  version(): string
  /** Settings that differ from the defaults. */
  readonly settings: string
  readonly start: StartServer
}

/** More connections than a load opens. */
const connectionsMax = 20_000

const mosquitto: InstalledServer = {
  command: 'mosquitto',
  line: ['-c', '{folder}/settings'],
  settings: [
    'listener {port} 127.0.0.1',
    'allow_anonymous true',
    'set_tcp_nodelay true',
    'max_queued_messages 0',
    'persistence false',
    'log_dest none',
    '',
  ].join('\n'),
}

const natsServer: InstalledServer = { command: 'nats-server', line: ['-a', '127.0.0.1', '-p', '{port}'] }

const redisServer: InstalledServer = {
  command: 'redis-server',
  line: ['{folder}/settings'],
  settings: [
    'bind 127.0.0.1',
    'port {port}',
    'dir {folder}',
    'save ""',
    'appendonly no',
    `maxclients ${connectionsMax}`,
    'client-output-buffer-limit pubsub 0 0 0',
    '',
  ].join('\n'),
}

/** The options that print the version, and the version in what they print. */
const versions: Readonly<Record<string, readonly [option: string, pattern: RegExp]>> = {
  mosquitto: ['-h', /version ([\d.]+)/],
  'nats-server': ['-v', /v([\d.]+)/],
  'redis-server': ['-v', /v=([\d.]+)/],
}

function ofSystem(name: string, protocol: ProtocolName, server: InstalledServer, settings: string): Peer {
  const { command } = server
  const [option, pattern] = versions[command] as readonly [string, RegExp]
  const version = () => {
    const [, version = 'of an unknown version'] = pattern.exec(printed(command, option)) ?? []
    return `${name.split(',')[0]} ${version}`
  }
  return { name, protocol, isThere: isInstalled(command), version, settings, start: installedServer(server) }
}

/** An npm package, run by a small program in this folder. */
function ofNpm(name: string, protocol: ProtocolName, program: string, settings: string): Peer {
  const path = join(projectRoot, 'node_modules', name, 'package.json')
  return {
    name,
    protocol,
    isThere: existsSync(path),
    version: () => `${name} ${(JSON.parse(readFileSync(path, 'utf8')) as { version: string }).version}`,
    settings: `bench/peers/${program}.ts: ${settings}`,
    start: listening(`peers/${program}`),
  }
}

const mosquittoStored: InstalledServer = {
  ...mosquitto,
  settings: `${mosquitto.settings?.replace('persistence false', 'persistence true\npersistence_location {folder}/')}`,
}

const natsServerStored: InstalledServer = { ...natsServer, line: [...natsServer.line, '-js', '-sd', '{folder}'] }

const redisServerStored: InstalledServer = {
  ...redisServer,
  settings: `${redisServer.settings?.replace('appendonly no', 'appendonly yes\nappendfsync everysec')}`,
}

export const ownName = 'this server'

function own(name: string, environment: Readonly<Record<string, string>>, settings: string): Peer {
  const start = ownServer({ DURABILITY: 'process', ...environment })
  return { name, protocol: 'own', isThere: true, version: () => 'this commit', settings, start }
}

export const peerSystems: readonly Peer[] = [
  own(ownName, { IAM: 'off' }, 'DURABILITY=process, IAM=off'),
  own(
    `${ownName}, IAM on`,
    identityOn,
    'DURABILITY=process; devices by a provisioning key, dashboards by a token, each event checked against roles',
  ),
  ofSystem(
    'nats-server',
    'nats',
    natsServer,
    'as it comes, without JetStream; as many threads as there are processors',
  ),
  ofSystem(
    'mosquitto',
    'mqtt',
    mosquitto,
    'MQTT 3.1.1, quality 0; set_tcp_nodelay, max_queued_messages 0 (no limit), no log',
  ),
  ofSystem('redis', 'redis', redisServer, 'no snapshots, client-output-buffer-limit pubsub 0 0 0 (no limit)'),
  ofNpm('ws', 'websocket', 'websocket', 'sends to each what one has sent'),
  ofNpm('aedes', 'mqtt', 'aedes', 'MQTT 3.1.1, quality 0, everything in memory'),
  ofNpm('socket.io', 'socket.io', 'socket-io', 'one room, websockets alone'),
]

/** Systems that store a message before they acknowledge it, or say that they keep it. */
export const storingSystems: readonly Peer[] = [
  ...peerSystems.filter(({ protocol }) => protocol === 'own'),
  ofSystem(
    'nats-server, JetStream',
    'nats stored',
    natsServerStored,
    'a stream on disk, one replica; sync_interval as it comes (two minutes)',
  ),
  ofSystem(
    'redis, stream',
    'redis stored',
    redisServerStored,
    'XADD to one stream of about 500 000 entries; appendonly yes, appendfsync everysec',
  ),
  ofSystem(
    'mosquitto, quality 1',
    'mqtt stored',
    mosquittoStored,
    'retained messages, persistence true; acknowledged from memory, saved at its interval (30 minutes)',
  ),
]
