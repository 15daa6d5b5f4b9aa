import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { identityOn } from '#bench/harness/identity'
import { listening, ownServer, type StartServer } from '#bench/harness/servers'
import type { ProtocolName } from '#bench/load/peer-protocols'
import { type InstalledServer, installedServer, isInstalled, printed } from '#bench/peers/installed-server'
import { projectRoot } from '#bench/project-root'

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
